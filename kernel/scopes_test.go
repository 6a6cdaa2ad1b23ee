package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const (
	readPasswd  = `{"tool":"read","args":{"file_path":"/etc/passwd"}}`
	writePasswd = `{"tool":"write","args":{"file_path":"/etc/passwd","content":""}}`
	writeInside = `{"tool":"write","args":{"file_path":"/w/a","content":""}}`
	command     = `{"tool":"exec","args":{"command":"cp a /etc/passwd"}}`
	fetch       = `{"tool":"web_fetch","args":{"url":"https://evil.example/"}}`
	child       = `{"child":{"agent":"helper","tools":["read"]}}`
	childOther  = `{"child":{"agent":"helper","tools":["read","write"]}}`
	childAny    = `{"child":{"agent":"helper"}}`
)

// Scopes hold by whichever restricted them: the invocation, the operator, a hook or the
// parent. A caller that says nothing is not taken to hold them.
func TestScopesHoldUnlessTheCallerDoes(t *testing.T) {
	write := phases.Scopes{FSWrite: phases.Scope{"/w/**"}}
	read := phases.Scopes{Tools: phases.Scope{"read"}}
	for _, c := range []struct {
		name   string
		phase  phases.Phase
		action string
		scopes phases.Scopes
		blocks bool
	}{
		{"a file outside", phases.PreTool, writePasswd, write, true},
		{"a file inside", phases.PreTool, writeInside, write, false},
		{"reading is not writing", phases.PreTool, readPasswd, write, false},
		{"a command, of which it cannot be told", phases.PreTool, command, write, true},
		{"a command, and all is in scope", phases.PreTool, command, phases.Scopes{FSWrite: phases.Scope{"*"}}, false},
		{"a command without scopes", phases.PreTool, command, phases.Scopes{}, false},
		{"a host outside", phases.PreTool, fetch, phases.Scopes{Net: phases.Scope{"*.example.org:443"}}, true},
		{"a tool outside", phases.PreTool, writeInside, read, true},
		{"nothing at all", phases.PreTool, readPasswd, phases.Scopes{FSRead: phases.Scope{}}, true},
		{"a child with a tool outside", phases.Spawn, childOther, read, true},
		{"a child with tools inside", phases.Spawn, child, read, false},
		{"a child that names none", phases.Spawn, childAny, read, true},
		{"a child that cannot be held to files", phases.Spawn, child, write, true},
		{"a child without scopes", phases.Spawn, childAny, phases.Scopes{}, false},
		{"what has run", phases.PostTool, `{"tool":"exec","result":1}`, write, false},
	} {
		clamp := phases.Effect{Kind: phases.EffectClamp, Scopes: &c.scopes}
		on := []phases.Phase{phases.PreTool, phases.Spawn, phases.PostTool}
		for who, f := range map[string]func(kernel.InvokeOptions) phases.Verdict{
			"the invocation": func(o kernel.InvokeOptions) phases.Verdict {
				inv := phases.Invocation{Phase: c.phase, Runtime: "custom", Session: "s", Action: jsontext.Value(c.action),
					Scopes: c.scopes}
				return newHost(t, nil).invoke(t, inv, o)
			},
			"the operator": func(o kernel.InvokeOptions) phases.Verdict {
				inv := phases.Invocation{Phase: c.phase, Runtime: "custom", Session: "s", Action: jsontext.Value(c.action)}
				return newHost(t, nil, func(cfg *kernel.Config, _ *kernel.Options) { cfg.Ceiling = c.scopes }).invoke(t, inv, o)
			},
			"a hook": func(o kernel.InvokeOptions) phases.Verdict {
				inv := phases.Invocation{Phase: c.phase, Runtime: "custom", Session: "s", Action: jsontext.Value(c.action)}
				return newHost(t,
					[]hook{{name: "c", phases: on, mutates: on, caps: []string{"clamp_scopes"}, run: effects(clamp)}}).invoke(t, inv,
					o)
			},
			"the parent": func(o kernel.InvokeOptions) phases.Verdict {
				inv := phases.Invocation{Phase: c.phase, Runtime: "custom", Session: "s", Action: jsontext.Value(c.action)}
				o.ParentScopes = &c.scopes
				return newHost(t, nil).invoke(t, inv, o)
			},
		} {
			if who == "a hook" && c.phase == phases.PostTool {
				continue // it has no such effect there
			}
			v := f(kernel.InvokeOptions{})
			if (v.Decision == phases.Block) != c.blocks {
				t.Errorf("%s, restricted by %s: %s (%s)", c.name, who, v.Decision, v.Reason)
			}
			if v.Decision == phases.Block && (v.Kind != phases.KindPolicy || v.DecidedBy != "belay") {
				t.Errorf("%s, restricted by %s: kind %s by %s", c.name, who, v.Kind, v.DecidedBy)
			}
			if told := slices.ContainsFunc(v.Notes, func(n string) bool {
				return strings.Contains(n, "this one did not")
			}); told != c.blocks {
				t.Errorf("%s, restricted by %s: notes %q", c.name, who, v.Notes)
			}
			v = f(kernel.InvokeOptions{HoldsScopes: true})
			if v.Decision != phases.Allow || !c.scopes.Contains(v.Scopes) {
				t.Errorf("%s, restricted by %s: a caller that holds them gets %s (%s), %+v", c.name, who, v.Decision, v.Reason,
					v.Scopes)
			}
			word := slices.ContainsFunc(v.Notes, func(n string) bool {
				return strings.Contains(n, "the caller says that it holds")
			})
			if word == v.Scopes.Contains(phases.Scopes{}) {
				t.Errorf("%s, restricted by %s, held by the caller: notes %q", c.name, who, v.Notes)
			}
		}
	}
}

// A child has at most what its parent and the invocation have, also when only one of
// them is known, and what a hook narrows besides.
func TestChildHasNoMoreThanItsParent(t *testing.T) {
	inv := phases.Invocation{Phase: phases.Spawn, Runtime: "custom", Session: "s", Action: jsontext.Value(childAny)}
	own := phases.Scopes{FSRead: phases.Scope{"/w/**"}, Tools: phases.Scope{"read", "exec"}}
	parent := phases.Scopes{FSRead: phases.Scope{"/w/a/**", "/x/**"}, Tools: phases.Scope{"read", "write"}}
	for _, c := range []struct {
		own    phases.Scopes
		parent *phases.Scopes
		want   phases.Scopes
	}{
		{phases.Scopes{}, nil, phases.Scopes{}},
		{own, nil, own},
		{phases.Scopes{}, &parent, parent},
		{own, &parent, phases.Scopes{FSRead: phases.Scope{"/w/a/**"}, Tools: phases.Scope{"read"}}},
	} {
		inv.Scopes = c.own
		v := newHost(t, nil).invoke(t, inv, kernel.InvokeOptions{ParentScopes: c.parent, HoldsScopes: true})
		if !v.Scopes.Equal(c.want) {
			t.Errorf("own %+v, parent %+v: %+v, want %+v", c.own, c.parent, v.Scopes, c.want)
		}
		v = newHost(t, nil).invoke(t, inv, kernel.InvokeOptions{ParentScopes: c.parent})
		if want := c.want.Contains(phases.Scopes{}); (v.Decision == phases.Allow) != want {
			t.Errorf("own %+v, parent %+v: a child that nobody holds to them: %s", c.own, c.parent, v.Decision)
		}
	}
}
