package connect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

const dotenv = "/home/dev/.codex/.env"

// ended returns what Danger says for Codex at a level with this .env; the program is one that is safe.
func ended(t testing.TB, level connect.Level, src []byte) string {
	t.Helper()
	d := disk{}
	if src != nil {
		d[dotenv] = src
	}
	var said []string
	p := place()
	p.Root = ""
	for _, f := range connect.Danger("codex", level, p, connect.Hook{Program: "/"}, d.read) {
		if f.Severity != connect.Fail || f.Advice == "" {
			t.Errorf("%+v", f)
		}
		said = append(said, f.Text)
	}
	return strings.Join(said, "; ")
}

// A variable of ~/.codex/.env that ends the shell which starts belay-hook is red, at each level.
func TestVariablesThatEndHooks(t *testing.T) {
	for src, want := range map[string]string{
		"":                                            "",
		"OPENAI_API_KEY=sk\n# BASH_ENV=/x\n":          "",
		"NOT_BASH_ENV=/x\nHTTPS_PROXY=http://p":       "",
		"BASH_ENV=/x":                                 "BASH_ENV",
		"A=1\nBASH_ENV = /x\n":                        "BASH_ENV",
		"  export \t BASH_ENV=/x\r\n":                 "BASH_ENV",
		"\ufeffBASH_ENV=/x":                           "BASH_ENV",
		"A=\"\nBASH_ENV=/x\n\"":                       "BASH_ENV",
		"ZDOTDIR=/x\nHOME=/x\nPATH=/x\n":              "ZDOTDIR, HOME, PATH",
		"SHELLOPTS=noexec":                            "SHELLOPTS",
		"LD_PRELOAD=/x.so\nLD_AUDIT=/y.so":            "LD_PRELOAD, LD_AUDIT",
		"DYLD_INSERT_LIBRARIES=/x":                    "DYLD_INSERT_LIBRARIES",
		"BASH_FUNC_exec%%=() { exit 0; }":             "BASH_FUNC_exec%%",
		"ENV=/x\nBASH_ENV=/x\nLD_A=1\nLD_B=1\nLD_C=1": "ENV, BASH_ENV, LD_A and 2 more",
	} {
		for _, level := range connect.Levels("codex") {
			got := ended(t, level, []byte(src))
			if (got == "") != (want == "") || want != "" && !strings.Contains(got, dotenv+" sets "+want+":") {
				t.Errorf("%s, %q: %q, want %q", level, src, got, want)
			}
		}
	}
	if got := ended(t, connect.User, nil); got != "" {
		t.Errorf("no file: %s", got)
	}
	unread := func(string) ([]byte, error) { return nil, errors.New("it is too long") }
	p := place()
	p.Root = ""
	found := connect.Danger("codex", connect.User, p, connect.Hook{Program: "/"}, unread)
	if len(found) != 1 || found[0].Severity != connect.Fail {
		t.Errorf("a file that cannot be read: %+v", found)
	}
	if found := connect.Danger("claude-code", connect.User, p, connect.Hook{Program: "/"}, unread); len(found) != 0 {
		t.Errorf("Claude Code starts no shell, and reads no such file: %+v", found)
	}
}

// A line of its own that sets such a variable is found, whatever stands around it.
func TestVariablesThatEndHooksAreFound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		around := rapid.SliceOfN(rapid.StringMatching(`[ -~\t\r\n"'#=é]{0,40}`), 2, 2).Draw(r, "around")
		name := rapid.SampledFrom([]string{"BASH_ENV", "ENV", "ZDOTDIR", "LD_PRELOAD", "SHELLOPTS"}).Draw(r, "name")
		before := rapid.SampledFrom([]string{"", " ", "\t", "export ", " export\t"}).Draw(r, "before")
		blank := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(r, "blank")
		src := around[0] + "\n" + before + name + blank + "=x\n" + around[1]
		if got := ended(t, connect.User, []byte(src)); !strings.Contains(got, " sets ") {
			r.Errorf("%q: %q", src, got)
		}
	})
}

// Doctor's look at Codex's settings is red, too, where belay is connected; where it is not there is nothing to end.
func TestDoctorLooksAtTheEnvironmentOfHooks(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	for _, level := range connect.Levels("codex") {
		d := disk{dotenv: []byte("BASH_ENV=/x\n")}
		p := place()
		p.Root = ""
		red := func() (n int) {
			for _, f := range connect.Examine("codex", p, h.State, d.read) {
				if f.Severity == connect.Fail && strings.Contains(f.Text, "sets BASH_ENV") {
					n++
				}
			}
			return n
		}
		if red() != 0 {
			t.Errorf("%s: red without entries", level)
		}
		plan, err := connect.Make("codex", level, p, h, true, d.read)
		must(t, err)
		for _, c := range plan.Files {
			d[c.Path] = c.New
		}
		if n := red(); n != 1 {
			t.Errorf("%s: red %d times", level, n)
		}
	}
}
