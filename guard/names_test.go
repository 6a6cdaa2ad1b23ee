package guard_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/phases"
)

// Hooks judge a tool of the agent's own under its mapped name, before it runs and after. It runs
// under both names.
func TestToolsHaveTheAgentsNames(t *testing.T) {
	names := map[string]string{"run_it": "exec", "search": "crm_search"}
	for _, c := range []struct{ tool, judged, native string }{
		{"run_it", "exec", "run_it"},
		{"search", "crm_search", "search"}, // which belay would take for grep
		{"other", "other", ""},
	} {
		host := &fakeHost{}
		g := guard.New(host, guard.Options{Runtime: "rt", Session: "s", Tools: names}).Within(phases.Scopes{})
		var ran phases.PreToolAction
		_, err := g.Tool(t.Context(), call(c.tool, `{"command":"ls"}`),
			func(_ context.Context, a phases.PreToolAction, _ phases.Scopes) (any, error) {
				ran = a
				return "done", nil
			})
		if err != nil || ran.Tool != c.judged || ran.NativeTool != c.native {
			t.Errorf("%s: ran as %q (%q), %v", c.tool, ran.Tool, ran.NativeTool, err)
		}
		for _, inv := range host.asked {
			native, _ := phases.GetString(inv.Action, "/native_tool")
			if inv.Tool() != c.judged || native != c.native {
				t.Errorf("%s: hooks judge %q (%q) in %s", c.tool, inv.Tool(), native, inv.Phase)
			}
		}
		if len(host.asked) != 2 {
			t.Errorf("%s: asked %d times", c.tool, len(host.asked))
		}
	}
}

// A real hook on commands judges a command of another name, and a name that belay would read as
// another tool's runs nothing.
func TestAgentsNamesOnARealHost(t *testing.T) {
	b := open(t, hooks)
	for name, c := range map[string]struct {
		tools map[string]string
		want  error // nil: it runs
	}{
		"no name":        {nil, nil}, // nothing says that it is a command
		"exec":           {map[string]string{"run_it": "exec"}, guard.ErrBlocked},
		"not normalised": {map[string]string{"run_it": "Bash"}, guard.ErrFailed},
		"empty":          {map[string]string{"run_it": ""}, guard.ErrFailed},
	} {
		r := &runs{}
		g := guard.New(b, guard.Options{Runtime: "rt", Session: strings.ReplaceAll(name, " ", "-"), Tools: c.tools})
		_, err := g.Tool(t.Context(), call("run_it", `{"line":"rm -rf /"}`), r.tool("", nil))
		if c.want == nil {
			if err != nil || len(r.args) != 1 {
				t.Errorf("%s: %v, %q", name, err, r.args)
			}
			continue
		}
		refused(t, err, c.want, phases.PreTool)
		if len(r.args) != 0 {
			t.Errorf("%s: ran %q", name, r.args)
		}
	}
}

// What already has its two names, or comes from an MCP server, keeps them.
func TestNamesThatAreGivenStay(t *testing.T) {
	names := map[string]string{"run_it": "exec", "mcp:a:b": "exec"}
	for _, a := range []phases.PreToolAction{
		{Tool: "run_it", NativeTool: "theirs", Args: jsontext.Value("{}")},
		{Tool: "mcp:a:b", MCP: &phases.MCPTool{Server: "a", Tool: "b"}, Args: jsontext.Value("{}")},
	} {
		host := &fakeHost{}
		r := &runs{}
		_, err := guard.New(host, guard.Options{Runtime: "rt", Session: "s", Tools: names}).Tool(t.Context(), a,
			r.tool("", nil))
		if tool, _ := phases.GetString(host.asked[0].Action, "/tool"); err != nil || tool != a.Tool {
			t.Errorf("%s: %q, %v", a.Tool, tool, err)
		}
	}
}

// A child agent that is given a tool by the agent's name may use it by that name, and no other.
func TestChildrenUseTheAgentsNames(t *testing.T) {
	host := &fakeHost{}
	g := guard.New(host, guard.Options{Runtime: "rt", Session: "s", Tools: map[string]string{"run_it": "exec"}})
	child, _, err := g.Spawn(t.Context(), phases.SpawnAction{Child: phases.Child{Agent: "kid", Tools: []string{"run_it"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &runs{}
	if _, err := child.Tool(t.Context(), call("run_it", "{}"), r.tool("", nil)); err != nil || len(r.args) != 1 {
		t.Errorf("its own tool: %v", err)
	}
	_, err = child.Tool(t.Context(), call("read", "{}"), r.tool("", nil))
	refused(t, err, guard.ErrBlocked, phases.PreTool)
	if len(r.args) != 1 {
		t.Error("a tool that it was not given ran")
	}
}
