package claudecode

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// member is one top-level member of a payload, with its source bytes.
type member struct {
	name  string
	value jsontext.Value
	used  bool // stands somewhere in the action or the envelope
}

// payload reads members of Claude Code's JSON. The first failed read is kept in
// err, and the rest answers zero values. Unread members are not an error: the
// runtime adds members with every version. Hooks find them under
// /metadata/caller/payload.
type payload struct {
	event   string
	members []*member
	err     error
}

// parse takes exactly one strict JSON object within the limits. It refuses other
// bytes after it, duplicate names and invalid UTF-8 at any depth, and deep nesting.
func parse(b []byte, limit int) (*payload, error) {
	refuse := func(class error, format string, args ...any) (*payload, error) {
		return nil, &adapters.PayloadError{Class: class, Reason: fmt.Sprintf(format, args...)}
	}
	if len(b) > limit {
		return refuse(adapters.ErrTooLarge, "the payload is larger than %d bytes", limit)
	}
	p := &payload{}
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
		m := &member{name: name.String()}
		v, err := dec.ReadValue()
		if err != nil {
			return refuse(adapters.ErrPayload, "%s", syntaxReason(err))
		}
		if depth(v) > phases.MaxInputDepth {
			return refuse(adapters.ErrPayload, "objects and arrays nest deeper than %d", phases.MaxInputDepth)
		}
		m.value = v.Clone()
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

func (p *payload) fail(name, format string, args ...any) {
	if p.err == nil {
		p.err = &adapters.PayloadError{
			Class: adapters.ErrPayload, Event: p.event, Member: phases.Join("", name), Reason: fmt.Sprintf(format, args...),
		}
	}
}

// find returns the member and marks it as used.
func (p *payload) find(name string) (jsontext.Value, bool) {
	for _, m := range p.members {
		if m.name == name {
			m.used = true
			return m.value, true
		}
	}
	return nil, false
}

// optional returns a member unless it is absent or null: Claude Code writes both
// for "not there".
func (p *payload) optional(name string) (jsontext.Value, bool) {
	v, ok := p.find(name)
	if !ok || v.Kind() == 'n' {
		return nil, false
	}
	return v, true
}

func (p *payload) required(name string) jsontext.Value {
	v, ok := p.find(name)
	if !ok {
		p.fail(name, "a member is missing")
	}
	return v
}

func (p *payload) text(name string, v jsontext.Value) string {
	s, ok := stringOf(v)
	if !ok {
		p.fail(name, "a member is not a string")
	}
	return s
}

// str returns a required string, which may be empty.
func (p *payload) str(name string) string {
	v := p.required(name)
	if p.err != nil {
		return ""
	}
	return p.text(name, v)
}

// name returns a required string that is not empty.
func (p *payload) name(name string) string {
	s := p.str(name)
	if s == "" {
		p.fail(name, "a member is empty")
	}
	return s
}

// optStr returns a string, or "" when the member is absent or null.
func (p *payload) optStr(name string) string {
	v, ok := p.optional(name)
	if !ok {
		return ""
	}
	return p.text(name, v)
}

func (p *payload) boolean(name string) bool {
	v := p.required(name)
	switch v.Kind() {
	case 't':
		return true
	case 'f':
	default:
		p.fail(name, "a member is not a boolean")
	}
	return false
}

// container returns a required object ('{') or array ('[').
func (p *payload) container(name string, kind jsontext.Kind) jsontext.Value {
	v := p.required(name)
	if p.err == nil && v.Kind() != kind {
		p.fail(name, "a member is not %s", map[jsontext.Kind]string{'{': "an object", '[': "an array"}[kind])
	}
	return v
}

// optNumber returns a raw number, or nil when the member is absent or null.
func (p *payload) optNumber(name string) jsontext.Value {
	v, ok := p.optional(name)
	if !ok {
		return nil
	}
	if v.Kind() != '0' {
		p.fail(name, "a member is not a number")
	}
	return v
}

// unused returns the members that no one has read, in order.
func (p *payload) unused() []*member {
	var out []*member
	for _, m := range p.members {
		if !m.used {
			out = append(out, m)
		}
	}
	return out
}

// stringOf returns the text of a JSON string.
func stringOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(v))
	return string(s), err == nil
}
