package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
)

// Raw is JSON text, byte for byte, since fuel depends on its length. It is written as
// itself where no byte changes by that, else as a string that holds it.
type Raw []byte

// MarshalJSON implements json.Marshaler.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) > 0 && r[0] == '{' {
		if plain, err := jsontext.AppendFormat(nil, r); err == nil && bytes.Equal(plain, r) {
			return r, nil
		}
	}
	if !utf8.Valid(r) {
		return nil, errors.New("JSON text that is not UTF-8")
	}
	return jsontext.AppendQuote(nil, string(r))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Raw) UnmarshalJSON(b []byte) error {
	switch jsontext.Value(b).Kind() {
	case '{':
		*r = bytes.Clone(b)
		return nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, b)
		*r = text
		if err == nil && !jsontext.Value(text).IsValid() {
			err = errors.New("a string that holds no JSON")
		}
		return err
	}
	return errors.New("must be an object, or a string that holds JSON")
}

// Value is an argument or an answer: a string where it is UTF-8, an object with
// base64 where it is not, and an object with its length and digest where it is too long
// for a recording.
type Value hostcalls.TracedValue

type valueForm struct {
	Base64 *string `json:"base64,omitzero"`
	Len    *int    `json:"len,omitzero"`
	SHA256 *string `json:"sha256,omitzero"`
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	var f valueForm
	switch {
	case v.long():
		sum := hex.EncodeToString(v.Sum[:])
		f.Len, f.SHA256 = &v.Len, &sum
	case utf8.Valid(v.Bytes):
		return jsontext.AppendQuote(nil, string(v.Bytes))
	default:
		data := base64.StdEncoding.EncodeToString(v.Bytes)
		f.Base64 = &data
	}
	return json.Marshal(f)
}

func (v *Value) long() bool { return v.Bytes == nil && v.Len > 0 }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{}
	if jsontext.Value(b).Kind() == '"' {
		text, err := jsontext.AppendUnquote(nil, b)
		v.Bytes, v.Len = text, len(text)
		return err
	}
	var f valueForm
	if err := json.Unmarshal(b, &f, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	switch {
	case f.Base64 != nil && f.Len == nil && f.SHA256 == nil:
		data, err := base64.StdEncoding.DecodeString(*f.Base64)
		v.Bytes, v.Len = data, len(data)
		return err
	case f.Base64 == nil && f.Len != nil && f.SHA256 != nil && *f.Len > 0 && len(*f.SHA256) == 2*sha256.Size:
		v.Len = *f.Len
		_, err := hex.Decode(v.Sum[:], []byte(*f.SHA256))
		return err
	}
	return errors.New("must be a string, {base64} or {len, sha256}")
}

// Is reports whether the bytes are these.
func (v *Value) Is(b []byte) bool {
	if v == nil {
		return len(b) == 0
	}
	if v.long() {
		return v.Len == len(b) && v.Sum == sha256.Sum256(b)
	}
	return bytes.Equal(v.Bytes, b)
}

// String is for people: short, and one line.
func (v *Value) String() string {
	switch {
	case v == nil:
		return `""`
	case v.long():
		return "sha256:" + hex.EncodeToString(v.Sum[:8]) + "… of many bytes"
	}
	b, err := v.MarshalJSON()
	if err != nil {
		return "?"
	}
	return string(b)
}

// traced makes a Value of a traced one; nil when it is empty.
func traced(t hostcalls.TracedValue) *Value {
	if t.Len == 0 {
		return nil
	}
	v := Value(t)
	return &v
}

// complete makes a Value that holds every byte; nil when there is none.
func complete(b []byte) *Value {
	if len(b) == 0 {
		return nil
	}
	return &Value{Len: len(b), Bytes: b}
}

// Complete returns the bytes of a value that holds all of them, else nil.
func (v *Value) Complete() []byte {
	if v == nil {
		return nil
	}
	return v.Bytes
}
