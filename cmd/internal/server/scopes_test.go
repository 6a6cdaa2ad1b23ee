package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

const clampConfig = `version: belay/v1
hooks:
  - name: clamp
    module: builtin:clamp-scopes
    phases: [pre_tool]
    capabilities: [clamp_scopes]
    config: {fs_read: ["*"], fs_write: ["/w/**"], net: ["*"], tools: ["*"]}
`

// Scopes hold over the wire unless the client says that it holds them, and a parent's
// scopes arrive.
func TestScopesOverTheWire(t *testing.T) {
	d := startDaemon(t, withConfig(clampConfig))
	c, err := client.Dial(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(r phases.Request) phases.Verdict {
		t.Helper()
		r.Invocation.Runtime, r.Invocation.Session = "custom", "s"
		v, err := c.InvokeWith(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	passwd := phases.Invocation{Phase: phases.PreTool,
		Action: jsontext.Value(`{"tool":"write","args":{"file_path":"/etc/passwd","content":""}}`)}
	if v := ask(phases.Request{Invocation: passwd}); v.Decision != phases.Block || v.Kind != phases.KindPolicy ||
		!strings.Contains(strings.Join(v.Notes, " "), "holds_scopes") {
		t.Errorf("outside of what a hook left: %s %s %q", v.Decision, v.Kind, v.Notes)
	}
	held := ask(phases.Request{Invocation: passwd, HoldsScopes: true})
	if held.Decision != phases.Allow || !held.Scopes.FSWrite.Equal(phases.ScopePath, phases.Scope{"/w/**"}) {
		t.Errorf("a client that holds them: %s %+v", held.Decision, held.Scopes)
	}
	review, err := client.Dial(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer review.Close()
	es, err := review.Events(t.Context(), wire.Query{ID: held.Event.ID})
	if err != nil || len(es) != 1 ||
		!strings.Contains(strings.Join(es[0].Notes, " "), "the caller says that it holds the action to its scopes") {
		t.Errorf("that is not logged: %+v, %v", es, err)
	}

	child := phases.Invocation{Phase: phases.Spawn,
		Action: jsontext.Value(`{"child":{"agent":"a","tools":["read","write"]}}`)}
	parent := phases.Scopes{Tools: phases.Scope{"read"}}
	if v := ask(phases.Request{Invocation: child}); v.Decision != phases.Allow {
		t.Errorf("a child of a parent without scopes: %s", v.Decision)
	}
	if v := ask(phases.Request{Invocation: child, ParentScopes: &parent}); v.Decision != phases.Block {
		t.Errorf("a child with a tool that its parent has not: %s %+v", v.Decision, v.Scopes)
	}
	if v := ask(phases.Request{Invocation: child, ParentScopes: &parent, HoldsScopes: true}); v.Decision != phases.Allow ||
		!v.Scopes.Tools.Equal(phases.ScopeTool, parent.Tools) {
		t.Errorf("a client that holds a child to its parent's: %s %+v", v.Decision, v.Scopes)
	}
	child.Scopes = parent
	if v := ask(phases.Request{Invocation: child}); v.Decision != phases.Block {
		t.Errorf("a child with a tool outside of its own scopes: %s", v.Decision)
	}

	for _, member := range []string{`"holds_scopes":"true"`, `"holds_scopes":null`, `"parent_scopes":{"fs_read":["x"]}`,
		`"parent_scopes":null`, `"scopes_held":true`} {
		r, body := d.do(t,
			call{method: http.MethodPost, path: "/v1/invoke",
				body: `{"phase":"pre_tool",` + member + `,"action":{"tool":"exec","args":{}}}`})
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(body, wire.CodeInvocation) ||
			!strings.Contains(body, `"decision":"block"`) {
			t.Errorf("%s: %d %s", member, r.StatusCode, body)
		}
	}
}
