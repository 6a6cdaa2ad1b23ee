package payload

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Object builds a JSON object whose members keep their order and source bytes. The zero value is an empty one.
type Object struct{ b []byte }

// Raw adds a member whose value is valid JSON.
func (o *Object) Raw(name string, v []byte) *Object {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, Quote(name)...), ':'), bytes.TrimSpace(v)...)
	return o
}

// Str adds a string.
func (o *Object) Str(name, s string) *Object { return o.Raw(name, Quote(s)) }

// Opt adds a string unless it is empty.
func (o *Object) Opt(name, s string) *Object {
	if s == "" {
		return o
	}
	return o.Str(name, s)
}

// Boolean adds true or false.
func (o *Object) Boolean(name string, v bool) *Object {
	if v {
		return o.Raw(name, []byte("true"))
	}
	return o.Raw(name, []byte("false"))
}

// Len grows with every member.
func (o *Object) Len() int { return len(o.b) }

// Value returns the object; nothing may be added after it.
func (o *Object) Value() jsontext.Value {
	if len(o.b) == 0 {
		return jsontext.Value("{}")
	}
	return append(jsontext.Value(o.b), '}')
}

// Quote returns s as a JSON string; invalid UTF-8 is replaced.
func Quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // the error only tells of replaced bytes
	return b
}

// Field is one entry of an object or array; Name is empty in arrays.
type Field struct {
	Name  string
	Value jsontext.Value
}

// Fields returns the direct entries of a valid object or array. Bytes that are
// not UTF-8 do not stop it: it also serves answers to payloads that were refused.
func Fields(v jsontext.Value) []Field {
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	tok, err := dec.ReadToken()
	if err != nil {
		return nil
	}
	kind := tok.Kind()
	var out []Field
	for {
		switch dec.PeekKind() {
		case '}', ']', 0:
			return out
		}
		var f Field
		if kind == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				return out
			}
			f.Name = name.String()
		}
		value, err := dec.ReadValue()
		if err != nil {
			return out
		}
		f.Value = value.Clone()
		out = append(out, f)
	}
}
