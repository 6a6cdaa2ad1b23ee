package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/system"
)

// Each command says what it works on, on a machine in system mode. A new one has to choose; until then it is refused
// there.
func TestEveryCommandSaysWhatItReaches(t *testing.T) {
	table, n := reaches(), 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if _, ok := table[commandName(c)]; !ok && !c.HasSubCommands() {
			t.Errorf("%q stands in none of the groups of reaches", commandName(c))
		}
		n++
	}
	walk((&App{}).root())
	if n < 90 {
		t.Errorf("only %d commands", n)
	}
}

// systemApp is a command line on a machine in system mode whose daemon's sockets lie in run.
func systemApp(t *testing.T, uid int, run string, c system.Config) (app *App, out *bytes.Buffer) {
	t.Helper()
	out = new(bytes.Buffer)
	dir, home := t.TempDir(), t.TempDir()
	env := map[string]string{"HOME": home, "XDG_STATE_HOME": home}
	return &App{In: strings.NewReader(""), Out: out, Err: out, Geteuid: func() int { return uid },
		Getenv: func(name string) string { return env[name] }, Getwd: func() (string, error) { return home, nil },
		Places:     system.Places{Config: "/etc/belay", State: filepath.Join(dir, "state"), Run: run},
		LoadSystem: func() (*system.Config, error) { return &c, nil }}, out
}

// What edits a state directory of one's own is refused on a machine in system mode, and edits nothing: also where
// --state names it. Root is told how to name one. Where system.yaml lets such directories count, they count.
func TestCommandsOnOwnStateAreRefusedInSystemMode(t *testing.T) {
	for _, args := range [][]string{{"init"}, {"hook", "install", "x.wasm"}, {"hook", "remove", "x"}, {"trust", "init"},
		{"trust", "list"}, {"recover"}, {"events", "verify"}, {"events", "key"}, {"serve"},
		{"doctor", "--fix"}} {
		for _, uid := range []int{0, 1000} {
			app, out := systemApp(t, uid, t.TempDir(), system.Config{})
			own := filepath.Join(t.TempDir(), "own")
			line := args
			if uid != 0 {
				line = append([]string{"--state", own}, args...)
			}
			code := app.Main(t.Context(), line)
			if code != ExitError || !strings.Contains(out.String(), "this machine is in system mode") ||
				!strings.Contains(out.String(), "belay --state "+app.Places.State+"/users/") {
				t.Errorf("%v as %d: %d\n%s", args, uid, code, out)
			}
			if _, err := os.Stat(own); err == nil {
				t.Errorf("%v made %s", args, own)
			}
		}
	}
	app, out := systemApp(t, 1000, t.TempDir(), system.Config{AllowState: true})
	own := filepath.Join(t.TempDir(), "own")
	if code := app.Main(t.Context(), []string{"--state", own, "trust", "init"}); code != ExitOK {
		t.Errorf("%d\n%s", code, out)
	}
}

// Commands for authors go on without the daemon.
func TestCommandsOfAuthorsNeedNoDaemonInSystemMode(t *testing.T) {
	for _, args := range [][]string{{"schema", "belay"}, {"redact"}, {"hook", "new", "guard", "--lang", "go", "--dir",
		"DIR"},
		{"test", "--help"}, {"completion", "bash"}, {"disconnect", "claude-code", "--yes"}} {
		app, out := systemApp(t, 1000, t.TempDir(), system.Config{})
		for n, a := range args {
			if a == "DIR" {
				args[n] = filepath.Join(t.TempDir(), a)
			}
		}
		if code := app.Main(t.Context(), args); code != ExitOK {
			t.Errorf("%v: %d\n%s", args, code, out)
		}
	}
}

// One user's settings of a runtime are refused where root can connect every user, and so is another daemon.
func TestConnectInSystemMode(t *testing.T) {
	hook := filepath.Join(t.TempDir(), "belay-hook")
	if err := os.WriteFile(hook, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		uid   int
		allow bool
		code  int
		says  string
	}{
		{[]string{"connect", "claude-code", "--yes"}, 1000, false, ExitError, "`sudo belay system connect claude-code`"},
		{[]string{"--state", "/s", "connect", "codex", "--yes"}, 1000, false, ExitError,
			"root connects codex by managed settings"},
		{[]string{"connect", "openclaw", "--yes", "--daemon", "/d"}, 1000, false, ExitError,
			"its own daemon decides, and no other"},
		{[]string{"--state", "/s", "connect", "codex", "--managed", "--yes"}, 0, false, ExitError, "does not count"},
		{[]string{"connect", "cursor", "--yes", "--hook", hook}, 1000, false, ExitOK, "cursor asks belay about each event"},
	} {
		app, out := systemApp(t, c.uid, t.TempDir(), system.Config{AllowState: c.allow})
		if code := app.Main(t.Context(), c.args); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: %d\n%s", c.args, code, out)
		}
		if strings.Contains(out.String(), "--state") && c.code == ExitOK {
			t.Errorf("%v: an entry names a state directory\n%s", c.args, out)
		}
	}
}

// A directory that names another daemon counts as far as a state directory does: for root, and where system.yaml says
// so.
func TestAnotherDaemonCountsAsAStateDirectory(t *testing.T) {
	const payload = `{"session_id":"s","transcript_path":"/t","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash",` +
		`"tool_input":{"command":"ls"},"tool_use_id":"t"}`
	for _, c := range []struct {
		uid     int
		allow   bool
		machine bool // who is asked
	}{{1000, false, true}, {1000, true, false}, {0, false, false}} {
		app, out := systemApp(t, c.uid, t.TempDir(), system.Config{AllowState: c.allow, Contact: "the platform team"})
		app.In = strings.NewReader(payload)
		other := filepath.Join(t.TempDir(), "other")
		app.Main(t.Context(), []string{"eval", "--runtime", "claude-code", "--connect", other})
		if asked := !strings.Contains(out.String(), other); asked != c.machine || !strings.Contains(out.String(), `"deny"`) {
			t.Errorf("%+v\n%s", c, out)
		}
	}
}

// A user of a machine in system mode is told whose signature counts: of the organisation's reviewers those whom
// system.yaml names. Nothing of a state directory of the user's own says so.
func TestWhoDecidesInSystemMode(t *testing.T) {
	const files = "version: belay/v1\nreviewers:\n" +
		"  - {name: carol, key: \"ed25519:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\"}\n" +
		"  - {name: dave, key: \"ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"}\n"
	for _, c := range []struct {
		reviewers map[string][]string
		code      int
		says, not string
	}{
		{map[string][]string{"1000": {"carol"}, "*": {"dave"}}, ExitOK, "carol", "dave"},
		{map[string][]string{"1001": {"carol"}}, ExitError, "no reviewer decides for you", "carol"},
	} {
		app, out := systemApp(t, 1000, t.TempDir(), system.Config{Reviewers: c.reviewers})
		app.Places.Config = t.TempDir()
		if err := os.WriteFile(filepath.Join(app.Places.Config, "belay.yaml"), []byte(files), 0o644); err != nil {
			t.Fatal(err)
		}
		home := app.Getenv("XDG_STATE_HOME")
		if err := os.MkdirAll(filepath.Join(home, "belay"), 0o700); err != nil {
			t.Fatal(err)
		}
		own := strings.ReplaceAll(files, "carol", "mallet")
		if err := os.WriteFile(filepath.Join(home, "belay", "belay.yaml"), []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
		code := app.Main(t.Context(), []string{"reviewer", "list"})
		if code != c.code || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), c.not) ||
			strings.Contains(out.String(), "mallet") {
			t.Errorf("%v: %d\n%s", c.reviewers, code, out)
		}
	}
}
