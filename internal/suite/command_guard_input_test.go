package suite_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// TestCommandGuardOnBadInput: what cannot be judged is blocked or asked about, with a reason that says so; nothing
// passes and nothing fails without one.
func TestCommandGuardOnBadInput(t *testing.T) {
	module, err := os.ReadFile("../../examples-wasm/command-guard/command-guard.wasm")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	hook := engine.Hook("command-guard", module)
	for name, tc := range map[string]struct{ command, reason string }{
		"almost 1 MiB of data":     {"echo " + strings.Repeat("a", 1<<20-200), "too long"}, // more is no invocation
		"almost 1 MiB of commands": {strings.Repeat("true;", (1<<20-200)/5), "too long"},
		"10,000 pipes":             {"true" + strings.Repeat("|cat", 10_000), "cannot be judged"},
		"10,000 parentheses":       {strings.Repeat("(", 10_000) + "ls" + strings.Repeat(")", 10_000), "cannot be judged"},
		"10,000 substitutions": {"echo " + strings.Repeat("$(echo ", 5_000) + strings.Repeat(")", 5_000),
			"cannot be judged"},
		"10,000 commands":         {strings.Repeat("ls;", 10_000) + "rm -rf /", "cannot be judged"},
		"a command of NUL":        {"\x00rm\x00 -rf /", ""},
		"control characters":      {"\x01\x02\x1b[2Krm -rf /\x7f", ""},
		"a hidden carriage":       {"echo x\rrm -rf /; rm -rf /\r", ""},
		"an escape in the target": {"rm -rf /\x1b[8m", ""},
		"a bell before a name":    {"x=\x07; rm -rf /etc", "rm would delete /etc"},
		"a text that never ends":  {"cat <<E\nrm -rf /", ""},
		"bytes of bidi":           {"rm -rf /\u202e", ""},
	} {
		t.Run(name, func(t *testing.T) {
			args, err := json.Marshal(tc.command)
			if err != nil {
				t.Fatal(err)
			}
			res, err := hook.Run(t.Context(), &suite.Case{Name: "one", Input: suite.Input{
				Phase: phases.PreTool, CWD: "/home/dev/project",
				Action: jsontext.Value(`{"tool":"exec","args":{"command":` + string(args) + `}}`)}})
			if err != nil {
				t.Fatal(err)
			}
			v := res.Verdict
			t.Logf("%s %s: %.200s", v.Decision, v.Kind, v.Reason)
			if v.Decision == phases.Allow {
				t.Error("it passes")
			}
			if v.Kind != "" && v.Kind != phases.KindPolicy {
				t.Errorf("the guard failed: %s", v.Kind)
			}
			if v.Reason == "" || !strings.Contains(v.Reason, tc.reason) || len(v.Reason) > 4096 {
				t.Errorf("reason of %d bytes: %.200s", len(v.Reason), v.Reason)
			}
		})
	}
}
