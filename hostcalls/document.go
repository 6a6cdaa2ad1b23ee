package hostcalls

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// document is a strict JSON text that is looked into by pointer. A look is charged as one that scans the text from the
// start, whether or not the index answers it.
type document struct {
	raw   jsontext.Value
	known *phases.Strict // nil: raw is the configuration of a binding that has none, and few hooks look at it
}

var errDocument = errors.New("not strict JSON, or too large")

// newDocument checks raw unless it is the one that is known.
func newDocument(raw jsontext.Value, known *phases.Strict, limit int) (document, error) {
	if len(raw) > limit {
		return document{}, errDocument
	}
	if !known.Holds(raw) {
		var err error
		if known, err = phases.NewStrict(raw, limit); err != nil {
			return document{}, errDocument
		}
	}
	return document{raw: known.Bytes(), known: known}, nil
}

// A look costs an eighth of the document's bytes and a quarter of those that are
// decoded. That pays for looks into documents as they usually are. What the look has
// passed and decoded beyond lookUsual, by these prices in fuel, is charged on top.
const (
	lookUsual  = 2000
	lookBytes  = 2  // bytes passed for one
	lookEntry  = 16 // an entry of an array or object that is passed
	lookEscape = 16 // an escape of a string that is decoded
	keysByte   = 2  // a byte of the value whose entries are listed or counted
	keysEntry  = 48 // an entry whose name is listed, or that is counted
)

// fuel is what a look costs that took so much and has n bytes decoded.
func (d document) fuel(n int, took int64) int64 {
	return int64(len(d.raw))/8 + int64(n)/4 + max(0, took-lookUsual)
}

// find returns the source bytes of the value at a pointer, and what the look took.
func (d document) find(pointer string) (jsontext.Value, Errno, int64) {
	if d.known == nil {
		d.known, _ = phases.NewStrict(d.raw, len(d.raw))
	}
	v, found, took, err := d.known.Find(pointer)
	fuel := int64(took.Bytes)/lookBytes + int64(took.Entries)*lookEntry
	switch {
	case err != nil:
		return nil, Invalid, fuel
	case !found:
		return nil, Absent, fuel
	}
	return v, 0, fuel
}

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
	v, e, took := d.find(string(a.In[0]))
	r := Result{Code: int64(e), Out: v, Fuel: d.fuel(len(v), took)}
	if e == 0 && v.Kind() == '"' {
		r.Fuel = d.fuel(len(v), took+int64(bytes.Count(v, []byte{'\\'}))*lookEscape)
		out, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return Result{Code: int64(Invalid), Fuel: r.Fuel}
		}
		r.Out = out
	}
	return r
}

func (d document) kind(a *Args) Result {
	v, e, took := d.find(string(a.In[0]))
	result := Result{Code: int64(e), Fuel: d.fuel(0, took)}
	if e != 0 {
		return result
	}
	switch v.Kind() {
	case 'n':
		result.Code = 0
	case 't', 'f':
		result.Code = 1
	case '0':
		result.Code = 2
	case '"':
		result.Code = 3
	case '[':
		result.Code = 4
	case '{':
		result.Code = 5
	default:
		result.Code = int64(Invalid)
	}
	return result
}

// keys puts the member names of an object, or the length of an array, into the
// reply; other values have neither and answer Absent.
func (s *Session) keys(document document, a *Args) Result {
	value, e, took := document.find(string(a.In[0]))
	if e != 0 {
		return Result{Code: int64(e), Fuel: document.fuel(0, took)}
	}
	result := Result{Fuel: document.fuel(4*len(value), took+keysByte*int64(len(value)))}
	object := value.Kind() == '{'
	if !object && value.Kind() != '[' {
		result.Code = int64(Absent)
		return result
	}
	dec := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true)) // the document has none
	if _, err := dec.ReadToken(); err != nil {
		return Result{Code: int64(Invalid), Fuel: result.Fuel}
	}
	names, n := []byte{'['}, 0
	for ; dec.PeekKind() != '}' && dec.PeekKind() != ']'; n++ {
		if object {
			name, err := dec.ReadValue()
			if err != nil {
				return Result{Code: int64(Invalid), Fuel: result.Fuel}
			}
			if n > 0 {
				names = append(names, ',')
			}
			names = append(names, name...)
		}
		if err := dec.SkipValue(); err != nil {
			return Result{Code: int64(Invalid), Fuel: result.Fuel}
		}
	}
	result.Fuel = document.fuel(4*len(value), took+keysByte*int64(len(value))+int64(n)*keysEntry)
	if object {
		s.reply = append(names, ']')
	} else {
		s.reply = strconv.AppendInt(nil, int64(n), 10)
	}
	return result
}
