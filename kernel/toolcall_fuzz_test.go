package kernel

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Whatever a guest asks for, an accepted request makes an action that the chain accepts or
// refuses cleanly, and its name is one that can be shown.
func FuzzToolRequest(f *testing.F) {
	for _, s := range []string{`{"tool":"mcp__crm__find","args":{"q":1}}`, `{"tool":"mcp:a%3Ab:c"}`,
		`{"tool":"exec","args":{"command":"ls"},"timeout_ms":5}`,
		`{"tool":"mcp__a__b__c"}`, `{"tool":"mcp::"}`, `{"tool":"x","args":{"a":1,"a":2}}`, `{"tool":"\u202e"}`, `[]`, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decodeToolRequest(raw)
		if err != nil {
			return
		}
		if r.Tool == "" || phases.SafeLine(r.Tool, phases.MaxIDBytes) != r.Tool || !r.Args.IsValid() || r.Args.Kind() != '{' {
			t.Fatalf("accepted %q %s", r.Tool, r.Args)
		}
		action, err := json.Marshal(phases.PreToolAction{Tool: r.Tool, CallID: "c", Args: r.Args, MCP: mcpOf(r.Tool)})
		if err != nil {
			t.Fatal(err)
		}
		inv, err := phases.Normalize(phases.Invocation{Phase: phases.PreTool, Runtime: "r", Action: jsontext.Value(action)})
		if err != nil || inv.Validate() != nil {
			return
		}
		if m := mcpOf(r.Tool); m != nil && inv.Tool() != phases.MCPToolName(m.Server, m.Tool) {
			t.Errorf("%q is gated as %q and run as %+v", r.Tool, inv.Tool(), m)
		}
	})
}
