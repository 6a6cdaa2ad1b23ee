package claudecode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// object builds JSON objects whose members keep their order and source bytes.
type object struct{ b []byte }

func (o *object) raw(name string, v []byte) *object {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, quote(name)...), ':'), bytes.TrimSpace(v)...)
	return o
}

func (o *object) str(name, s string) *object { return o.raw(name, quote(s)) }

// opt adds a string unless it is empty.
func (o *object) opt(name, s string) *object {
	if s == "" {
		return o
	}
	return o.str(name, s)
}

func (o *object) boolean(name string, v bool) *object {
	if v {
		return o.raw(name, []byte("true"))
	}
	return o.raw(name, []byte("false"))
}

func (o *object) value() jsontext.Value {
	if len(o.b) == 0 {
		return jsontext.Value("{}")
	}
	return append(jsontext.Value(o.b), '}')
}

// quote returns s as a JSON string; invalid UTF-8 is replaced.
func quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // the error only tells of replaced bytes
	return b
}

// field is one entry of an object or array; name is empty in arrays.
type field struct {
	name  string
	value jsontext.Value
}

// fields returns the direct entries of a valid object or array. Bytes that are
// not UTF-8 do not stop it: it also serves answers to payloads that were refused.
func fields(v jsontext.Value) []field {
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	tok, err := dec.ReadToken()
	if err != nil {
		return nil
	}
	kind := tok.Kind()
	var out []field
	for {
		switch dec.PeekKind() {
		case '}', ']', 0:
			return out
		}
		var f field
		if kind == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				return out
			}
			f.name = name.String()
		}
		value, err := dec.ReadValue()
		if err != nil {
			return out
		}
		f.value = value.Clone()
		out = append(out, f)
	}
}
