package phases

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Clone returns an invocation that shares no memory with this one. Strings are
// copied as well: callers that decode without copying make them of their buffers.
func (inv Invocation) Clone() Invocation {
	inv.ID, inv.Phase = strings.Clone(inv.ID), Phase(strings.Clone(string(inv.Phase)))
	inv.Runtime, inv.Session, inv.Agent = strings.Clone(inv.Runtime), strings.Clone(inv.Session), strings.Clone(inv.Agent)
	inv.Run, inv.User, inv.CWD = strings.Clone(inv.Run), strings.Clone(inv.User), strings.Clone(inv.CWD)
	inv.Traceparent = strings.Clone(inv.Traceparent)
	inv.Action, inv.Scopes = cloneValue(inv.Action), inv.Scopes.Clone()
	if inv.Metadata != nil {
		md := make(map[string]jsontext.Value, len(inv.Metadata))
		for k, v := range inv.Metadata {
			md[strings.Clone(k)] = cloneValue(v)
		}
		inv.Metadata = md
	}
	return inv
}

// Clone returns scopes that share no memory with these.
func (s Scopes) Clone() Scopes {
	return Scopes{FSRead: s.FSRead.clone(), FSWrite: s.FSWrite.clone(), Net: s.Net.clone(), Tools: s.Tools.clone()}
}

// Clone returns a scope that shares no memory with this one. Nil stays nil: it
// means everything, and an empty scope means nothing.
func (s Scope) clone() Scope {
	if s == nil {
		return nil
	}
	out := make(Scope, len(s))
	for i, p := range s {
		out[i] = strings.Clone(p)
	}
	return out
}

// Clone returns a bag whose values share no memory with this one's.
func (m Metadata) clone() Metadata {
	out := maps.Clone(m)
	for k, e := range out {
		e.Value = cloneValue(e.Value)
		out[k] = e
	}
	return out
}

// cloneEffects returns effects that share no memory with these, apart from strings.
func cloneEffects(list []Effect) []Effect {
	out := slices.Clone(list)
	for i := range out {
		e := &out[i]
		e.Value = cloneValue(e.Value)
		if e.Scopes != nil {
			s := e.Scopes.Clone()
			e.Scopes = &s
		}
	}
	return out
}

// Clone returns a verdict that shares no memory with this one, apart from strings.
func (v Verdict) Clone() Verdict {
	v.Action, v.Changed, v.Scopes = cloneValue(v.Action), slices.Clone(v.Changed), v.Scopes.Clone()
	v.Metadata, v.Contexts = v.Metadata.clone(), slices.Clone(v.Contexts)
	v.Masked, v.Notes = slices.Clone(v.Masked), slices.Clone(v.Notes)
	v.Reply, v.Retry, v.Grant = cloneOf(v.Reply), cloneOf(v.Retry), cloneOf(v.Grant)
	v.Approval, v.Event = cloneOf(v.Approval), cloneOf(v.Event)
	v.Artifacts = slices.Clone(v.Artifacts)
	for i := range v.Artifacts {
		a := &v.Artifacts[i]
		a.Data, a.Meta = bytes.Clone(a.Data), cloneValue(a.Meta)
	}
	v.Hooks = slices.Clone(v.Hooks)
	for i := range v.Hooks {
		h := &v.Hooks[i]
		h.Effects, h.Notes = cloneEffects(h.Effects), slices.Clone(h.Notes)
	}
	return v
}

func cloneOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// cloneValue keeps nil, which means that there is none; jsontext.Value.Clone does so too.
func cloneValue(v jsontext.Value) jsontext.Value { return v.Clone() }
