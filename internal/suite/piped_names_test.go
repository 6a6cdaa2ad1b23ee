package suite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// Names that each command of a pipe hands to the next are judged once, not once for each way through the pipe: 32
// commands took all of the fuel of path-guard in a deep directory.
func TestNamesOfAPipeAreJudgedOnce(t *testing.T) {
	module, err := os.ReadFile("../../examples-wasm/path-guard/path-guard.wasm")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for _, n := range []int{8, 32, 128, 1000} {
		for name, cwd := range map[string]string{"flat": "/d", "deep": strings.Repeat("/d", 90)} {
			command := strings.Repeat("find . -name '*.pem' | xargs cat", n)
			res, err := engine.Hook("path-guard", module).Run(t.Context(), &suite.Case{Name: name,
				Input: suite.Input{Phase: phases.PreTool, CWD: cwd,
					Action: jsontext.Value(`{"tool":"c","args":{"command":"` + command + `"}}`)},
				Config: jsontext.Value(`{"groups":["ssh-key","env-file"]}`)})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d %s: %d fuel, %d calls", n, name, res.Verdict.Hooks[0].Fuel, res.Verdict.Hooks[0].Hostcalls)
			// The parser tells 200 commands or so of a text; that there are more is a reason to block.
			if v := res.Verdict; v.Decision != phases.Allow && (n < 1000 || v.Kind != phases.KindPolicy) {
				t.Errorf("%d %s: %s %s", n, name, res.Verdict.Decision, res.Verdict.Reason)
			}
		}
	}
}
