package connect_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

var update = flag.Bool("update", false, "write the golden files")

// The files that connect makes where there were none, as people and their tools get them.
func TestWhatIsWritten(t *testing.T) {
	for _, name := range connect.Runtimes() {
		for _, level := range []connect.Level{connect.User, connect.Managed} {
			if !slices.Contains(connect.Levels(name), level) {
				continue
			}
			d := disk{}
			plan, err := d.do(name, level, hook(), true)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range plan.Files {
				golden := filepath.Join("testdata", name+"."+string(level)+"."+filepath.Base(c.Path))
				if *update {
					must(t, os.WriteFile(golden, c.New, 0o644))
				}
				want, err := os.ReadFile(golden)
				if err != nil || string(want) != string(c.New) {
					t.Errorf("%s is not %s (%v):\n%s", c.Path, golden, err, c.New)
				}
			}
		}
	}
}

// An entry of others that says the opposite of what belay needs is not changed, and not passed over.
func TestEntriesOfOthersStand(t *testing.T) {
	claude, codex := "/image/etc/claude-code/managed-settings.json", "/image/etc/codex/requirements.toml"
	for name, c := range map[string]struct{ runtime, path, src, want string }{
		"other hooks are let in": {"claude-code", claude, "{\n\"allowManagedHooksOnly\": false\n}",
			"line 2: allowManagedHooksOnly is false"},
		"another state directory": {"claude-code", claude, `{"env": {"BELAY_HOME": "/else"}}`, "env.BELAY_HOME is"},
		"a proxy for this machine": {"claude-code", claude, `{"env": {"NO_PROXY": "example.org"}}`,
			"env.NO_PROXY is"},
		"hooks is no object":  {"claude-code", claude, `{"hooks": []}`, "hooks is not an object"},
		"an event is no list": {"claude-code", claude, `{"hooks": {"Stop": {}}}`, "/hooks/Stop is not a list"},
		"other hooks are let in, 2": {"codex", codex, "allow_managed_hooks_only = false\n",
			"allow_managed_hooks_only is false"},
		"hooks are switched off": {"codex", codex, "[features]\nhooks = false\n", "features.hooks is false"},
		"features on one line":   {"codex", codex, "features = {a = true}\n", "features is not written as a table"},
		"hooks on one line":      {"codex", codex, "hooks = {}\n", "a table cannot be added"},
		"no TOML":                {"codex", codex, "a = 1\na = 2\n", "line 2: it is not TOML"},
	} {
		t.Run(name, func(t *testing.T) {
			d := disk{c.path: []byte(c.src)}
			_, err := d.do(c.runtime, connect.Managed, hook(), true)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.path+": ") {
				t.Errorf("%v, want %s", err, c.want)
			}
			if !errors.Is(err, connect.ErrConflict) && !errors.Is(err, jsonedit.ErrInvalid) &&
				!errors.Is(err, jsonedit.ErrShape) {
				t.Errorf("an error without class: %v", err)
			}
			if string(d[c.path]) != c.src {
				t.Errorf("it became %s", d[c.path])
			}
		})
	}
	for name, src := range map[string]string{ // what says the same already is left to its owner
		"JSON": `{"allowManagedHooksOnly": true, "env": {"NO_PROXY": "corp,127.0.0.1, localhost", "no_proxy": "*"}}`,
	} {
		d := disk{claude: []byte(src)}
		if _, err := d.do("claude-code", connect.Managed, hook(), true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := d.do("claude-code", connect.Managed, hook(), false); err != nil || string(d[claude]) != src {
			t.Errorf("%s: %v, %s", name, err, d[claude])
		}
	}
}

// Only what starts belay for that runtime is belay's: nothing else is replaced or taken out.
func TestWhoseEntryItIs(t *testing.T) {
	user := "/home/dev/.claude/settings.json"
	entry := func(handler string) string { return `{"hooks": {"Stop": [{"hooks": [` + handler + `]}]}}` }
	for handler, own := range map[string]bool{
		`{"type": "command", "command": "/old/belay-hook", "args": ["--runtime", "claude-code"]}`:          true,
		`{"type": "command", "command": "belay-hook", "args": ["--for", "Stop", "--runtime=claude-code"]}`: true,
		`{"type": "command", "command": "'/a b/belay-hook' --runtime claude-code --state \"/x\""}`:         true,
		`{"type": "command", "command": "/usr/bin/belay", "args": ["eval", "--runtime", "claude-code"]}`:   true,
		`{"type": "http", "url": "http://127.0.0.1:4170/adapters/claude-code"}`:                            true,
		`{"type": "command", "command": "/old/belay-hook", "args": ["--runtime", "codex"]}`:                false,
		`{"type": "command", "command": "/usr/bin/belay", "args": ["events", "--runtime", "claude-code"]}`: false,
		`{"type": "command", "command": "my-belay-hook", "args": ["--runtime", "claude-code"]}`:            false,
		`{"type": "command", "command": "lint", "args": ["belay-hook", "--runtime", "claude-code"]}`:       false,
		`{"type": "command", "command": "echo /usr/local/bin/belay-hook --runtime claude-code"}`:           false,
		`{"type": "http", "url": "http://127.0.0.1:4170/adapters/claude-code/other"}`:                      false,
	} {
		d := disk{user: []byte(entry(handler))}
		if _, err := d.do("claude-code", connect.User, hook(), false); err != nil {
			t.Fatal(err)
		}
		if _, kept := d[user]; kept == own {
			t.Errorf("%s: kept %v", handler, kept)
		}
	}
}

// A path that a shell could read in two ways never reaches Codex.
func TestPathsForAShell(t *testing.T) {
	for path, ok := range map[string]bool{"/usr/bin/belay-hook": true, "/a b/belay-hook": true, "/a$b;c/belay-hook": true,
		"/it's/belay-hook": false, `/a\b/belay-hook`: false, "/a\nb/belay-hook": false, "relative/belay-hook": false,
		"/a/../belay-hook": false, "/\xff/belay-hook": false} {
		h := hook()
		h.Program = path
		d := disk{}
		if _, err := d.do("codex", connect.User, h, true); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
		for _, b := range d {
			if strings.Contains(path, "$") && !strings.Contains(string(b), "'"+path+"'") && strings.Contains(string(b), path) {
				t.Errorf("%q stands without quotes", path)
			}
		}
	}
}

// Taking belay's hook out from before another moves that one, and Codex knows hooks by their place.
func TestHooksOfOthersThatMove(t *testing.T) {
	d := disk{}
	_, err := d.do("codex", connect.User, hook(), true)
	must(t, err)
	path := "/home/dev/.codex/hooks.json"
	plan, err := connect.Make("codex", connect.User, place(), hook(), false, d.read)
	if err != nil || len(plan.Notes) > 0 {
		t.Errorf("nothing moves: %v, %v", plan.Notes, err)
	}
	i := strings.Index(string(d[path]), `"Stop": `)
	end := i + strings.Index(string(d[path])[i:], "}]}]") + len("}]}")
	d[path] = []byte(string(d[path])[:end] + `, {"hooks": [{"type": "command", "command": "lint"}]}` +
		string(d[path])[end:])
	plan, err = connect.Make("codex", connect.User, place(), hook(), false, d.read)
	if err != nil || len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "Stop") {
		t.Errorf("%v, %v", plan.Notes, err)
	}
}
