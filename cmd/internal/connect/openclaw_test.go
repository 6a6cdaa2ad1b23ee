package connect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

const (
	openClawConfig = "/home/dev/.openclaw/openclaw.json"
	openClawFolder = "/home/dev/.openclaw/belay/"
)

// What keeps OpenClaw from asking belay is red, with its reason.
func TestOpenClawSettingsThatEndHooks(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	access := `"hooks": {"allowConversationAccess": true}`
	for name, c := range map[string]struct {
		spoil func(d disk)
		fail  string // "": none
		warn  string
	}{
		"as connected": {func(disk) {}, "", ""},
		"plugins are off": {replace(openClawConfig, `"plugins": {`, `"plugins": {"enabled": false, `), "not asked about",
			"plugins.enabled = false"},
		"belay is denied": {replace(openClawConfig, `"plugins": {`, `"plugins": {"deny": ["belay"], `), "not asked about",
			"plugins.deny"},
		"others alone are allowed": {replace(openClawConfig, `"plugins": {`, `"plugins": {"allow": ["x"], `),
			"not asked about", "plugins.allow without belay"},
		"allowed": {replace(openClawConfig, `"plugins": {`, `"plugins": {"allow": ["belay"], `), "", ""},
		"the entry is off": {replace(openClawConfig, `"enabled": true`, `"enabled": false`), "not asked about",
			"plugins.entries.belay.enabled = true"},
		"no leave to read": {replace(openClawConfig, access, `"hooks": {}`), "not asked about agent_end",
			"allowConversationAccess = true"},
		"no leave for prompts": {replace(openClawConfig, access,
			`"hooks": {"allowConversationAccess": true, "allowPromptInjection": false}`),
			"not asked about agent_turn_prepare, before_prompt_build", "allowPromptInjection = false"},
		"a short time": {replace(openClawConfig, access, `"hooks": {"allowConversationAccess": true, "timeoutMs": 100}`),
			"less than 30 s", ""},
		"a short time for one hook": {replace(openClawConfig, access,
			`"hooks": {"allowConversationAccess": true, "timeouts": {"message_sending": 100}}`),
			"timeouts.message_sending", ""},
		"a long time": {replace(openClawConfig, access, `"hooks": {"allowConversationAccess": true, "timeoutMs": 60000}`),
			"", ""},
		"no path": {replace(openClawConfig, "/.openclaw/belay", "/else"), "not asked about", "plugins.load.paths"},
		"JSON5":   {func(d disk) { d[openClawConfig] = []byte("{plugins: {}}") }, "not asked about", "strict JSON"},
		"the plugin was changed": {replace(openClawFolder+"belay.js", "serve();", ""), "not asked about",
			"it was changed"},
		"the manifest was changed": {replace(openClawFolder+"openclaw.plugin.json", "agentToolResult", "x"),
			"not asked about", "openclaw.plugin.json is not as belay writes it"},
	} {
		t.Run(name, func(t *testing.T) {
			d := disk{}
			_, err := d.do("openclaw", connect.User, h, true)
			must(t, err)
			before := string(d[openClawConfig]) + string(d[openClawFolder+"belay.js"]) +
				string(d[openClawFolder+"openclaw.plugin.json"])
			c.spoil(d)
			after := string(d[openClawConfig]) + string(d[openClawFolder+"belay.js"]) +
				string(d[openClawFolder+"openclaw.plugin.json"])
			if name != "as connected" && before == after {
				t.Fatal("nothing was changed")
			}
			var fails, warns string
			for _, f := range connect.Examine("openclaw", place(), h.State, d.read) {
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

// What says the opposite of belay's entry is not changed, and not passed over.
func TestOpenClawEntriesOfOthersStand(t *testing.T) {
	for src, want := range map[string]string{
		"{\n\"plugins\": {\"enabled\": false}}":                   "line 2: plugins.enabled is not true",
		`{"plugins": {"deny": ["x", "belay"]}}`:                   "plugins.deny keeps belay out",
		`{"plugins": {"entries": {"belay": {"enabled": false}}}}`: "does not let belay read conversations",
		`{"plugins": {"entries": {"belay": {"enabled": true}}}}`:  "does not let belay read conversations",
		`{plugins: {}}`:                        "line 1",
		`{"plugins": {"load": {"paths": {}}}}`: "paths is not a list",
		`{"plugins": {"entries": []}}`:         "entries is not an object",
	} {
		d := disk{openClawConfig: []byte(src)}
		_, err := d.do("openclaw", connect.User, hook(), true)
		if err == nil || !strings.Contains(err.Error(), want) || string(d[openClawConfig]) != src {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	for _, file := range []string{"belay.js", "package.json", "openclaw.plugin.json"} {
		d := disk{openClawFolder + file: []byte("{}\n")}
		if _, err := d.do("openclaw", connect.User, hook(), true); !errors.Is(err, connect.ErrConflict) {
			t.Errorf("%s of others: %v", file, err)
		}
	}
	src := `{"plugins": {"allow": ["x"], "load": {"paths": ["/y"]}, "entries": {"x": {"enabled": true}}}}`
	d := disk{openClawConfig: []byte(src)}
	_, err := d.do("openclaw", connect.User, hook(), true)
	must(t, err)
	if got := string(d[openClawConfig]); !strings.Contains(strings.ReplaceAll(got, " ", ""), `["x","belay"]`) {
		t.Errorf("a list of allowed plugins: %s", got)
	}
	_, err = d.do("openclaw", connect.User, hook(), false)
	must(t, err)
	if string(d[openClawConfig]) != src {
		t.Errorf("it became %s", d[openClawConfig])
	}
}

// The directory and the configuration are those that OpenClaw itself reads.
func TestOpenClawPlaces(t *testing.T) {
	for env, want := range map[string][2]string{
		"":                             {"/h/.openclaw", "/h/.openclaw/openclaw.json"},
		"OPENCLAW_HOME=/o":             {"/o/.openclaw", "/o/.openclaw/openclaw.json"},
		"OPENCLAW_HOME= null ":         {"/h/.openclaw", "/h/.openclaw/openclaw.json"},
		"OPENCLAW_STATE_DIR=~/s":       {"/h/s", "/h/s/openclaw.json"},
		"OPENCLAW_CONFIG_PATH=/c.json": {"/h/.openclaw", "/c.json"},
		"OPENCLAW_PROFILE=work":        {"/h/.openclaw-work", "/h/.openclaw-work/openclaw.json"},
	} {
		name, value, _ := strings.Cut(env, "=")
		p, err := connect.Places(func(n string) string {
			switch n {
			case "HOME":
				return "/h"
			case name:
				return value
			}
			return ""
		}, "/p")
		if err != nil || p.OpenClaw != want[0] || p.OpenClawConfig != want[1] {
			t.Errorf("%s: %s, %s, %v", env, p.OpenClaw, p.OpenClawConfig, err)
		}
	}
}
