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
	texts := [...]*string{&inv.ID, (*string)(&inv.Phase), &inv.Runtime, &inv.Session, &inv.Agent, &inv.Run, &inv.User,
		&inv.CWD, &inv.Traceparent}
	size := 0
	for _, s := range texts {
		size += len(*s)
	}
	for name := range inv.Metadata {
		size += len(name)
	}
	all := make([]byte, 0, size) // in one piece: all of it lives as long as the invocation
	for _, s := range texts {
		all = append(all, *s...)
	}
	names := make([]string, 0, 16)
	for name := range inv.Metadata {
		names, all = append(names, name), append(all, name...)
	}
	own := string(all)
	take := func(s string) string {
		n := len(s)
		s, own = own[:n], own[n:]
		return s
	}
	for _, s := range texts {
		*s = take(*s)
	}
	inv.Action, inv.Scopes = cloneValue(inv.Action), inv.Scopes.Clone()
	if inv.Metadata != nil {
		inv.Metadata = cloneMetadata(inv.Metadata, names, take)
	}
	return inv
}

// cloneMetadata copies the named values. take copies a name.
func cloneMetadata(from map[string]jsontext.Value, names []string, take func(string) string) map[string]jsontext.Value {
	size := 0
	for _, name := range names {
		size += len(from[name])
	}
	all := make([]byte, 0, size)
	to := make(map[string]jsontext.Value, len(names))
	for _, name := range names {
		value := from[name]
		if value != nil { // nil stays nil: there is none
			at := len(all)
			all = append(all, value...)
			value = all[at:len(all):len(all)]
		}
		to[take(name)] = value
	}
	return to
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
