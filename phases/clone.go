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
	values := len(inv.Action)
	for name, value := range inv.Metadata {
		size += len(name)
		values += len(value)
	}
	var all strings.Builder // in one piece: all of it lives as long as the invocation
	all.Grow(size)
	take := func(s string) string {
		from := all.Len()
		all.WriteString(s)
		return all.String()[from:]
	}
	for _, s := range texts {
		*s = take(*s)
	}
	room := make([]byte, 0, values) // likewise
	copied := func(v jsontext.Value) jsontext.Value {
		if v == nil { // nil stays nil: there is none
			return nil
		}
		from := len(room)
		room = append(room, v...)
		return room[from:len(room):len(room)]
	}
	inv.Action, inv.Scopes = copied(inv.Action), inv.Scopes.Clone()
	if inv.Metadata != nil {
		own := make(map[string]jsontext.Value, len(inv.Metadata))
		for name, value := range inv.Metadata {
			own[take(name)] = copied(value)
		}
		inv.Metadata = own
	}
	return inv
}

// Clone returns scopes that share no memory with these. Nil stays nil: it means everything, and an empty scope means
// nothing.
func (s Scopes) Clone() Scopes {
	all := [...]*Scope{&s.FSRead, &s.FSWrite, &s.Net, &s.Tools}
	n := 0
	for _, one := range all {
		n += len(*one)
	}
	room := make(Scope, 0, n) // of all four, in which each ends with its own
	for _, one := range all {
		if *one == nil {
			continue
		}
		from := len(room)
		for _, pattern := range *one {
			if pattern == "*" {
				room = append(room, "*") // which is no memory of the caller's
			} else {
				room = append(room, strings.Clone(pattern))
			}
		}
		*one = room[from:len(room):len(room)]
	}
	return s
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
