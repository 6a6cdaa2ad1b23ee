package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// These functions shorten an event to its action and its outcome, for a line
// that a person reads at a glance. Events are redacted; callers make the text
// safe for terminals.

// glance says in a few words what an event was about.
func glance(event *phases.Event) string {
	get := func(ptr string) string {
		v, ok := phases.Get(event.Input, "/action"+ptr)
		if !ok {
			return ""
		}
		return plainValue(v)
	}
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
	}
	out := func(ptr string) string {
		v, _ := phases.Get(event.Output, ptr)
		return plainValue(v)
	}
	switch event.Type {
	case phases.EventIntent, phases.EventOutcome:
		return join(event.Tool, mainArgument(event), "for "+event.Binding)
	case phases.EventApproval:
		return join(event.Tool, out("/approval"), "of "+event.Binding)
	case phases.EventLease:
		return join(out("/lease/capability"), event.Binding)
	case phases.EventAccess:
		return join(event.User, out("/code"), out("/request"), out("/socket"))
	}
	switch event.Phase {
	case phases.PreTool, phases.PostTool:
		return join(event.Tool, mainArgument(event))
	case phases.PrePlan:
		return join(get("/kind"), get("/command"), get("/text"))
	case phases.PreSend:
		model := get("/model")
		if p := get("/provider"); p != "" && model != "" {
			model = p + "/" + model
		}
		return model
	case phases.PostReceive:
		return join(get("/kind"), get("/text"))
	case phases.StateTransition:
		from, to := get("/from"), get("/to")
		if from != "" || to != "" {
			to = "→ " + to
		}
		return join(get("/machine"), from, to)
	case phases.Spawn:
		return join(get("/child/agent"), get("/child/prompt"))
	case phases.Audit:
		return get("/kind")
	}
	return event.Tool
}

// mainArgument is the one argument that says most about a call.
func mainArgument(e *phases.Event) string {
	for _, name := range []string{"command", "file_path", "path", "url", "pattern", "query", "description", "prompt"} {
		if v, ok := phases.Get(e.Input, "/action/args/"+name); ok {
			return plainValue(v)
		}
	}
	v, ok := phases.Get(e.Input, "/action/args")
	if !ok || string(v) == "{}" {
		return ""
	}
	return string(v)
}

// plainValue is a string's text, or any other value as JSON.
func plainValue(v jsontext.Value) string {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// became says in a few words what the verdict adds to or changes in the action.
func became(event *phases.Event) []string {
	var parts []string
	if event.Type == phases.EventHook {
		var r phases.HookReport
		if v, ok := phases.Get(event.Output, "/effects"); ok && json.Unmarshal(v, &r.Effects) == nil && len(r.Effects) > 0 {
			return []string{demoEffects(r)}
		}
		return nil
	}
	for i, ptr := range event.Changed {
		if i == 2 {
			parts = append(parts, fmt.Sprintf("%d more changes", len(event.Changed)-i))
			break
		}
		before, after, ok := change(event, ptr)
		if !ok {
			parts = append(parts, "changed "+ptr)
			continue
		}
		parts = append(parts, ptr+" "+oneLine(orNone(before), 30)+" → "+oneLine(orNone(after), 30))
	}
	if v, ok := phases.Get(event.Output, "/metadata"); ok {
		var md phases.Metadata
		if json.Unmarshal(v, &md) == nil && len(md) > 0 {
			keys := make([]string, 0, len(md))
			for k := range md {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for i, k := range keys {
				if i == 2 {
					parts = append(parts, fmt.Sprintf("%d more keys", len(keys)-i))
					break
				}
				parts = append(parts, oneLine(k+"="+string(md[k].Value), 40))
			}
		}
	}
	for _, m := range []struct{ ptr, word string }{{"/reply", "reply"}, {"/retry", "retry"}, {"/grant", "grant"}} {
		if v, ok := phases.Get(event.Output, m.ptr); ok && v.Kind() == '{' {
			parts = append(parts, m.word)
		}
	}
	for _, m := range []struct{ ptr, word string }{{"/contexts", "context"}, {"/artifacts", "artifact"}} {
		var list []jsontext.Value
		if v, ok := phases.Get(event.Output, m.ptr); ok && json.Unmarshal(v, &list) == nil && len(list) > 0 {
			parts = append(parts, fmt.Sprintf("%d× %s", len(list), m.word))
		}
	}
	return parts
}

// change returns a changed member of the action before and after; nil is absent.
// It is false when the record holds no action to look at.
func change(e *phases.Event, ptr string) (before, after jsontext.Value, ok bool) {
	from, okFrom := phases.Get(e.Input, "/action")
	to, okTo := phases.Get(e.Output, "/action")
	if !okFrom || !okTo {
		return nil, nil, false
	}
	before, _ = phases.Get(from, ptr)
	after, _ = phases.Get(to, ptr)
	return before, after, true
}

func orNone(v jsontext.Value) string {
	if v == nil {
		return "nothing"
	}
	return string(v)
}
