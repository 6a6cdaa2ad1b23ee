package connect_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

const (
	geminiUser    = "/home/dev/.gemini/settings.json"
	geminiProject = "/src/app/.gemini/settings.json"
	geminiManaged = "/image/etc/gemini-cli/settings.json"
)

// What ends Gemini CLI's hooks, or some of them, is red; what the machine's settings hold on is not.
func TestGeminiHooksThatDoNotRun(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	line := h.Program + " --runtime gemini-cli --for BeforeTool --state " + h.State
	for name, c := range map[string]struct {
		level connect.Level
		spoil func(d disk)
		fail  string // "": none
		warn  string
	}{
		"as connected": {connect.User, func(disk) {}, "", ""},
		"switched off in the project": {connect.User, func(d disk) {
			d[geminiProject] = []byte(`{"hooksConfig": {"enabled": false}}`)
		}, "not asked about", geminiProject + " has hooksConfig.enabled = false"},
		"switched off in the project, held on by the machine": {connect.Managed, func(d disk) {
			d[geminiProject] = []byte(`{"hooksConfig": {"enabled": false}}`)
		}, "", ""},
		"something else than true": {connect.User, func(d disk) {
			d[geminiProject] = []byte(`{"hooksConfig": {"enabled": "false"}}`)
		}, "not asked about", ""},
		"one is disabled in the project": {connect.Managed, func(d disk) {
			d[geminiProject] = []byte(`{"hooksConfig": {"disabled": ["` + line + `"]}}`)
		}, "not asked about BeforeTool", "names it in hooksConfig.disabled"},
		"another is disabled": {connect.User, func(d disk) {
			d[geminiProject] = []byte(`{"hooksConfig": {"disabled": ["lint"]}}`)
		}, "", ""},
		"a matcher": {connect.User,
			replace(geminiUser, `"BeforeTool": [{"hooks"`, `"BeforeTool": [{"matcher": "glob", "hooks"`),
			"not asked about", ""},
		"a short time": {connect.User,
			replace(geminiUser, `"timeout": 30000`, `"timeout": 3`), "", "stops waiting after less"},
		"a name": {connect.User,
			replace(geminiUser, `"timeout"`, `"name": "belay", "timeout"`), "", "it has a name"},
		"a variable left": {connect.User,
			replace(geminiUser, `"BASH_ENV": "", `, ``), "", "by BASH_ENV"},
		"a variable of others": {connect.User,
			replace(geminiUser, `"PS4": ""`, `"PS4": "$(kill $$)"`), "", "by PS4"},
		"another hook": {connect.User, func(d disk) {
			d[geminiProject] = []byte(`{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}]}}`)
		}, "", "no setting that keeps other hooks out"},
	} {
		t.Run(name, func(t *testing.T) {
			d := disk{}
			_, err := d.do("gemini-cli", c.level, h, true)
			must(t, err)
			c.spoil(d)
			var fails, warns string
			for _, f := range connect.Examine("gemini-cli", place(), h.State, d.read) {
				switch f.Severity {
				case connect.Fail:
					fails += f.Text + "\n"
				case connect.Warn:
					warns += f.Text + f.Advice + "\n"
				}
			}
			if (c.fail == "") != (fails == "") || !strings.Contains(fails, c.fail) || !strings.Contains(warns, c.warn) {
				t.Errorf("fails: %s\nwarnings: %s", fails, warns)
			}
		})
	}
}

// Hooks that are switched off in the file itself are said, not switched on.
func TestGeminiHooksThatAreOff(t *testing.T) {
	for _, value := range []string{"false", `"true"`, "null"} {
		src := "{\n\"hooksConfig\": {\"enabled\": " + value + "}\n}"
		for path, level := range map[string]connect.Level{geminiUser: connect.User, geminiManaged: connect.Managed} {
			d := disk{path: []byte(src)}
			_, err := d.do("gemini-cli", level, hook(), true)
			if !errors.Is(err, connect.ErrConflict) || !strings.Contains(err.Error(), "line 2: hooksConfig.enabled is ") {
				t.Errorf("%s: %v", value, err)
			}
			if string(d[path]) != src {
				t.Errorf("it became %s", d[path])
			}
		}
	}
	src := `{"hooksConfig": {"enabled": true, "notifications": false}}` // the administrator's own
	d := disk{geminiManaged: []byte(src)}
	for _, connected := range []bool{true, false} {
		_, err := d.do("gemini-cli", connect.Managed, hook(), connected)
		must(t, err)
	}
	if string(d[geminiManaged]) != src {
		t.Errorf("%s became %s", src, d[geminiManaged])
	}
}

// What connect has put into the machine's settings is found after a program has formatted them: disconnect takes out
// all of it, and what the administrator has said stays.
func TestGeminiManagedSettingsThatWereFormatted(t *testing.T) {
	for name, src := range map[string]string{
		"no file":                 ``,
		"settings":                `{"ui": {"theme": "x"}}`,
		"others in hooksConfig":   `{"hooksConfig": {"notifications": false}}`,
		"the administrator's own": `{"hooksConfig": {"enabled": true}}`,
		"both":                    `{"hooksConfig": {"enabled": true, "notifications": false}, "ui": {}}`,
		"a hook of others":        `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}]}}`,
		"a variable of a hook's": `{"hooks": {"BeforeTool": [{"hooks": [{"command": "x", ` +
			`"env": {"BELAY_CONNECT": "hooksConfig.enabled"}}]}]}, "hooksConfig": {"enabled": true}}`,
		"one that names no member": `{"env": {"BELAY_CONNECT": "hooksConfig.enabled"}, "hooksConfig": {"enabled": true}}`,
	} {
		for _, indent := range []string{"", "\t"} {
			d := disk{}
			if src != "" {
				d[geminiManaged] = []byte(src)
			}
			_, err := d.do("gemini-cli", connect.Managed, hook(), true)
			must(t, err)
			d[geminiManaged] = formatted(t, d[geminiManaged], indent)
			plan, err := d.do("gemini-cli", connect.Managed, hook(), true)
			must(t, err)
			if plan.Changes() {
				t.Errorf("%s: connected again, %s", name, d[geminiManaged])
			}
			_, err = d.do("gemini-cli", connect.Managed, connect.Hook{}, false)
			must(t, err)
			if got, want := value(d[geminiManaged]), value([]byte(src)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v became %v", name, want, got)
			}
		}
	}
}

// In a person's own settings the member is the person's, however it is written.
func TestGeminiMemberOfAPerson(t *testing.T) {
	src := "{\n  \"hooksConfig\" : {\n    \"enabled\" : true\n  }\n}\n"
	d := disk{geminiUser: []byte(src)}
	for _, connected := range []bool{true, false} {
		_, err := d.do("gemini-cli", connect.User, hook(), connected)
		must(t, err)
	}
	if string(d[geminiUser]) != src {
		t.Errorf("it became %s", d[geminiUser])
	}
}

// A member that belay has put and an administrator has changed since is the administrator's.
func TestGeminiPinThatWasChanged(t *testing.T) {
	d := disk{}
	_, err := d.do("gemini-cli", connect.Managed, hook(), true)
	must(t, err)
	replace(geminiManaged, `"enabled" : true`, `"enabled" : false`)(d)
	_, err = d.do("gemini-cli", connect.Managed, connect.Hook{}, false)
	must(t, err)
	want := map[string]any{"hooksConfig": map[string]any{"enabled": false}}
	if got := value(d[geminiManaged]); !reflect.DeepEqual(got, want) {
		t.Errorf("it became %v", got)
	}
}
