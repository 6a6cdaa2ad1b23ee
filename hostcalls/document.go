package hostcalls

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// document is a strict JSON text that is looked into by pointer. It is scanned
// from the start for each look, without an index: documents are small, an index
// of a hostile one is large, and the bytes that may be looked at are charged.
type document struct {
	raw jsontext.Value
}

var errDocument = errors.New("not strict JSON, or too large")

func newDocument(raw jsontext.Value, limit int) (document, error) {
	if len(raw) > limit || !raw.IsValid() {
		return document{}, errDocument
	}
	return document{raw: bytes.TrimSpace(raw)}, nil
}

// find returns the source bytes of the value at a pointer.
func (d document) find(pointer string) (jsontext.Value, Errno) {
	v, found, err := phases.Find(d.raw, pointer)
	switch {
	case err != nil:
		return nil, Invalid
	case !found:
		return nil, Absent
	}
	return v, 0
}

// fuel is what a look costs: the document may have been scanned to its end, and
// n bytes of the value are decoded.
func (d document) fuel(n int) int64 { return int64(len(d.raw))/8 + int64(n)/4 }

func inputRead(_ context.Context, s *Session, _ *Args) (Result, error) {
	return Result{Out: s.input.raw}, nil
}

func configRead(_ context.Context, s *Session, _ *Args) (Result, error) {
	return Result{Out: s.config.raw}, nil
}

func replyRead(_ context.Context, s *Session, _ *Args) (Result, error) {
	return Result{Out: s.reply}, nil
}

func inputGet(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.input.get(a), nil
}

func configGet(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.config.get(a), nil
}

func inputKind(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.input.kind(a), nil
}

func configKind(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.config.kind(a), nil
}

func inputKeys(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.keys(s.input, a), nil
}

func configKeys(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.keys(s.config, a), nil
}

func (d document) get(a *Args) Result {
	v, e := d.find(string(a.In[0]))
	r := Result{Code: int64(e), Out: v, Fuel: d.fuel(len(v))}
	if e == 0 && v.Kind() == '"' {
		out, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return Result{Code: int64(Invalid), Fuel: r.Fuel}
		}
		r.Out = out
	}
	return r
}

func (d document) kind(a *Args) Result {
	v, e := d.find(string(a.In[0]))
	r := Result{Code: int64(e), Fuel: d.fuel(0)}
	if e != 0 {
		return r
	}
	switch v.Kind() {
	case 'n':
		r.Code = 0
	case 't', 'f':
		r.Code = 1
	case '0':
		r.Code = 2
	case '"':
		r.Code = 3
	case '[':
		r.Code = 4
	case '{':
		r.Code = 5
	default:
		r.Code = int64(Invalid)
	}
	return r
}

// keys puts the member names of an object, or the length of an array, into the
// reply; other values have neither and answer Absent.
func (s *Session) keys(d document, a *Args) Result {
	v, e := d.find(string(a.In[0]))
	if e != 0 {
		return Result{Code: int64(e), Fuel: d.fuel(0)}
	}
	r := Result{Fuel: d.fuel(len(v) * 4)}
	object := v.Kind() == '{'
	if !object && v.Kind() != '[' {
		r.Code = int64(Absent)
		return r
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true)) // the document has none
	if _, err := dec.ReadToken(); err != nil {
		return Result{Code: int64(Invalid), Fuel: r.Fuel}
	}
	names, n := []byte{'['}, 0
	for ; dec.PeekKind() != '}' && dec.PeekKind() != ']'; n++ {
		if object {
			name, err := dec.ReadValue()
			if err != nil {
				return Result{Code: int64(Invalid), Fuel: r.Fuel}
			}
			if n > 0 {
				names = append(names, ',')
			}
			names = append(names, name...)
		}
		if err := dec.SkipValue(); err != nil {
			return Result{Code: int64(Invalid), Fuel: r.Fuel}
		}
	}
	if object {
		s.reply = append(names, ']')
	} else {
		s.reply = strconv.AppendInt(nil, int64(n), 10)
	}
	return r
}
