// Package payload reads what an agent runtime sends to a hook: exactly one strict JSON object, member by member,
// with errors that name the member. It also writes the objects of actions and answers. Every adapter uses it; it
// knows no runtime.
package payload

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Member is one member of a payload, with its source bytes.
type Member struct {
	Name  string
	Value jsontext.Value
	used  bool // stands somewhere in the action or the envelope
}

// Payload reads members of a runtime's JSON. The first failed read is kept, see Err, and later reads return zero
// values. Unread members are no error: runtimes add members with every version. A Payload is for one goroutine.
type Payload struct {
	event   string
	members []*Member
	err     error
}

// Named sets the event that errors name.
func (p *Payload) Named(event string) { p.event = event }

// Event returns the event that errors name.
func (p *Payload) Event() string { return p.event }

// Err returns the first failed read, a *adapters.PayloadError, or nil.
func (p *Payload) Err() error { return p.err }

// Refuse makes err the first failed read, unless there is one.
func (p *Payload) Refuse(err error) {
	if p.err == nil {
		p.err = err
	}
}

// Of returns a payload of the entries of an object that was read already, such as a call's arguments. Errors name
// the event and the entry.
func Of(event string, object jsontext.Value) *Payload {
	p := &Payload{event: event}
	for _, f := range Fields(object) {
		p.members = append(p.members, &Member{Name: f.Name, Value: f.Value})
	}
	return p
}

// Parse takes exactly one strict JSON object within the limits. It refuses other
// bytes after it, duplicate names and invalid UTF-8 at any depth, and deep nesting.
func Parse(b []byte, limit int) (*Payload, error) {
	refuse := func(class error, format string, args ...any) (*Payload, error) {
		return nil, &adapters.PayloadError{Class: class, Reason: fmt.Sprintf(format, args...)}
	}
	if len(b) > limit {
		return refuse(adapters.ErrTooLarge, "the payload is larger than %d bytes", limit)
	}
	p := &Payload{}
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	if dec.PeekKind() != '{' {
		return refuse(adapters.ErrPayload, "the payload is not a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return refuse(adapters.ErrPayload, "the payload is not JSON")
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return refuse(adapters.ErrPayload, "%s", syntaxReason(err))
		}
		m := &Member{Name: name.String()}
		v, err := dec.ReadValue()
		if err != nil {
			return refuse(adapters.ErrPayload, "%s", syntaxReason(err))
		}
		if depth(v) > phases.MaxInputDepth {
			return refuse(adapters.ErrPayload, "objects and arrays nest deeper than %d", phases.MaxInputDepth)
		}
		m.Value = v.Clone()
		p.members = append(p.members, m)
	}
	if _, err := dec.ReadToken(); err != nil { // the closing brace
		return refuse(adapters.ErrPayload, "%s", syntaxReason(err))
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return refuse(adapters.ErrPayload, "there is something after the JSON object")
	}
	return p, nil
}

func syntaxReason(err error) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a member name occurs twice"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the payload ends too early"
	}
	return "the payload is not strict JSON in UTF-8"
}

// depth returns how deep objects and arrays nest in a valid value.
func depth(v jsontext.Value) int {
	deepest, d, inString := 0, 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			d++
			deepest = max(deepest, d)
		case c == '}' || c == ']':
			d--
		}
	}
	return deepest
}

func (p *Payload) Fail(name, format string, args ...any) {
	if p.err == nil {
		p.err = &adapters.PayloadError{
			Class: adapters.ErrPayload, Event: p.event, Member: phases.Join("", name), Reason: fmt.Sprintf(format, args...),
		}
	}
}

// Find returns the member and marks it as used.
func (p *Payload) Find(name string) (jsontext.Value, bool) {
	for _, m := range p.members {
		if m.Name == name {
			m.used = true
			return m.Value, true
		}
	}
	return nil, false
}

// Optional returns a member unless it is absent or null: runtimes write both
// for "not there".
func (p *Payload) Optional(name string) (jsontext.Value, bool) {
	v, ok := p.Find(name)
	if !ok || v.Kind() == 'n' {
		return nil, false
	}
	return v, true
}

func (p *Payload) Required(name string) jsontext.Value {
	v, ok := p.Find(name)
	if !ok {
		p.Fail(name, "a member is missing")
	}
	return v
}

func (p *Payload) text(name string, v jsontext.Value) string {
	s, ok := StringOf(v)
	if !ok {
		p.Fail(name, "a member is not a string")
	}
	return s
}

// Str returns a required string, which may be empty.
func (p *Payload) Str(name string) string {
	v := p.Required(name)
	if p.err != nil {
		return ""
	}
	return p.text(name, v)
}

// Name returns a required string that is not empty.
func (p *Payload) Name(name string) string {
	s := p.Str(name)
	if s == "" {
		p.Fail(name, "a member is empty")
	}
	return s
}

// OptStr returns a string, or "" when the member is absent or null.
func (p *Payload) OptStr(name string) string {
	v, ok := p.Optional(name)
	if !ok {
		return ""
	}
	return p.text(name, v)
}

func (p *Payload) Boolean(name string) bool {
	v := p.Required(name)
	switch v.Kind() {
	case 't':
		return true
	case 'f':
	default:
		p.Fail(name, "a member is not a boolean")
	}
	return false
}

// Container returns a required object ('{') or array ('[').
func (p *Payload) Container(name string, kind jsontext.Kind) jsontext.Value {
	v := p.Required(name)
	if p.err == nil && v.Kind() != kind {
		p.Fail(name, "a member is not %s", map[jsontext.Kind]string{'{': "an object", '[': "an array"}[kind])
	}
	return v
}

// OptNumber returns a raw number, or nil when the member is absent or null.
func (p *Payload) OptNumber(name string) jsontext.Value {
	v, ok := p.Optional(name)
	if !ok {
		return nil
	}
	if v.Kind() != '0' {
		p.Fail(name, "a member is not a number")
	}
	return v
}

// Unused returns the members that were not read, in order.
func (p *Payload) Unused() []*Member {
	var out []*Member
	for _, m := range p.members {
		if !m.used {
			out = append(out, m)
		}
	}
	return out
}

// StringOf returns the text of a JSON string.
func StringOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(v))
	return string(s), err == nil
}

// Unread gives a member that was only checked back to the unused ones.
func (p *Payload) Unread(name string) {
	for _, m := range p.members {
		if m.Name == name {
			m.used = false
		}
	}
}

// Take returns the members that keep reports true for, marks them as used and puts them into an object.
func (p *Payload) Take(keep func(name string) bool) jsontext.Value {
	return take(p.members, keep)
}

// TakeUnused is Take for the members that were not read yet.
func (p *Payload) TakeUnused(keep func(name string) bool) jsontext.Value {
	return take(p.Unused(), keep)
}

func take(members []*Member, keep func(name string) bool) jsontext.Value {
	o := new(Object)
	for _, m := range members {
		if keep(m.Name) {
			m.used = true
			o.Raw(m.Name, m.Value)
		}
	}
	return o.Value()
}

// Rest returns the unused members as an object of at most size bytes, and the names of those left
// out as an array of a little more than names bytes. Either is nil when there are none.
func (p *Payload) Rest(size, names int) (kept, omitted jsontext.Value) {
	var o Object
	taken := 0
	for _, m := range p.Unused() {
		if taken+len(m.Name)+len(m.Value) > size {
			if len(omitted) < names {
				omitted = append(append(omitted, ','), Quote(phases.SafeLine(m.Name, 64))...)
			}
			continue
		}
		taken += len(m.Name) + len(m.Value)
		o.Raw(m.Name, m.Value)
	}
	if taken > 0 {
		kept = o.Value()
	}
	if len(omitted) > 0 {
		omitted[0] = '['
		omitted = append(omitted, ']')
	}
	return kept, omitted
}
