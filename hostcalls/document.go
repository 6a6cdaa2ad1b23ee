package hostcalls

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// document is a strict JSON text that is looked into by pointer. It is scanned
// from the start for each look, without an index: documents are small, an index
// of a hostile one is large, and the scanned bytes are charged as fuel.
type document struct {
	raw []byte
}

var errDocument = errors.New("not strict JSON, or too large")

func newDocument(raw jsontext.Value, limit int) (document, error) {
	if len(raw) > limit || !raw.IsValid() {
		return document{}, errDocument
	}
	return document{raw: trimSpace(raw)}, nil
}

// scanFuel is what looking at n bytes of a document costs.
func scanFuel(n int) int64 { return int64(n) / 4 }

// find returns the source bytes of the value at a pointer and how many bytes
// were looked at. "-" and indexes with leading zeros are Invalid.
func (d document) find(pointer string) (value []byte, scanned int, e Errno) {
	if !validPointer(pointer) {
		return nil, 0, Invalid
	}
	at, end := 0, len(d.raw)
	for pointer != "" {
		var token string
		var more bool
		if token, pointer, more = strings.Cut(pointer[1:], "/"); more {
			pointer = "/" + pointer
		}
		at, end, e = d.step(at, end, unescapeToken(token), &scanned)
		if e != 0 {
			return nil, scanned, e
		}
	}
	return d.raw[at:end], scanned, 0
}

// step finds the child of the value at raw[at:end].
func (d document) step(at, end int, token string, scanned *int) (int, int, Errno) {
	b := d.raw
	start := at
	defer func() { *scanned += max(at-start, 1) }()
	switch b[at] {
	case '{':
		for at = skipSpace(b, at+1); at < end && b[at] != '}'; {
			nameEnd := skipValue(b, at)
			match := nameIs(b[at:nameEnd], token)
			at = skipSpace(b, skipSpace(b, nameEnd)+1)
			valueEnd := skipValue(b, at)
			if match {
				from := at
				at = valueEnd
				return from, valueEnd, 0
			}
			at = skipComma(b, valueEnd)
		}
	case '[':
		index, e := arrayIndex(token)
		if e != 0 {
			return 0, 0, e
		}
		i := 0
		for at = skipSpace(b, at+1); at < end && b[at] != ']'; i++ {
			valueEnd := skipValue(b, at)
			if i == index {
				from := at
				at = valueEnd
				return from, valueEnd, 0
			}
			at = skipComma(b, valueEnd)
		}
	}
	return 0, 0, Absent
}

// arrayIndex reads a reference token as an array index. A token that is no
// number at all names nothing in an array; it is not malformed.
func arrayIndex(token string) (int, Errno) {
	if token == "-" {
		return 0, Invalid
	}
	for i := 0; i < len(token); i++ {
		if token[i] < '0' || token[i] > '9' {
			return 0, Absent
		}
	}
	switch {
	case token == "" || len(token) > 9:
		return 0, Absent
	case len(token) > 1 && token[0] == '0':
		return 0, Invalid
	}
	n, _ := strconv.Atoi(token)
	return n, 0
}

func unescapeToken(t string) string {
	if !strings.Contains(t, "~") {
		return t
	}
	return strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
}

// nameIs compares a quoted member name with a token.
func nameIs(quoted []byte, token string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == token {
		for _, c := range inner {
			if c == '\\' {
				return unquote(quoted) == token
			}
		}
		return true
	}
	for _, c := range inner {
		if c == '\\' {
			return unquote(quoted) == token
		}
	}
	return false
}

func unquote(quoted []byte) string {
	out, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return ""
	}
	return string(out)
}

// skipValue returns the index after the value that starts at b[i], of a text
// known to be valid JSON. It does not recurse: depth is the guest's choice.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue
		default:
			for i < len(b) && !strings.ContainsRune(",:]} \t\r\n", rune(b[i])) {
				i++
			}
		}
		if depth == 0 {
			return min(i, len(b))
		}
	}
	return len(b)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func skipComma(b []byte, i int) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return i
}

func trimSpace(b []byte) []byte {
	i, j := skipSpace(b, 0), len(b)
	for j > i && (b[j-1] == ' ' || b[j-1] == '\t' || b[j-1] == '\n' || b[j-1] == '\r') {
		j--
	}
	return b[i:j]
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

func inputGet(_ context.Context, s *Session, a *Args) (Result, error)  { return s.input.get(a), nil }
func configGet(_ context.Context, s *Session, a *Args) (Result, error) { return s.config.get(a), nil }
func inputKind(_ context.Context, s *Session, a *Args) (Result, error) { return s.input.kind(a), nil }
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
	v, scanned, e := d.find(string(a.In[0]))
	if e != 0 {
		return Result{Code: int64(e), Fuel: scanFuel(scanned)}
	}
	fuel := scanFuel(scanned + len(v))
	if v[0] == '"' {
		out, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return Result{Code: int64(Invalid), Fuel: fuel}
		}
		return Result{Out: out, Fuel: fuel}
	}
	return Result{Out: v, Fuel: fuel}
}

func (d document) kind(a *Args) Result {
	v, scanned, e := d.find(string(a.In[0]))
	r := Result{Code: int64(e), Fuel: scanFuel(scanned)}
	if e == 0 {
		r.Code = kindOf(v[0])
	}
	return r
}

func kindOf(first byte) int64 {
	switch first {
	case 'n':
		return 0
	case 't', 'f':
		return 1
	case '"':
		return 3
	case '[':
		return 4
	case '{':
		return 5
	}
	return 2
}

// keys puts the member names of an object, or the length of an array, into the reply.
func (s *Session) keys(d document, a *Args) Result {
	v, scanned, e := d.find(string(a.In[0]))
	if e != 0 {
		return Result{Code: int64(e), Fuel: scanFuel(scanned)}
	}
	r := Result{Fuel: scanFuel(scanned + len(v))}
	switch v[0] {
	case '[':
		n := 0
		for i := skipSpace(v, 1); i < len(v) && v[i] != ']'; n++ {
			i = skipComma(v, skipValue(v, i))
		}
		s.reply = strconv.AppendInt(nil, int64(n), 10)
	case '{':
		out := []byte{'['}
		for i := skipSpace(v, 1); i < len(v) && v[i] != '}'; {
			end := skipValue(v, i)
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, v[i:end]...)
			i = skipSpace(v, skipSpace(v, end)+1)
			i = skipComma(v, skipValue(v, i))
		}
		s.reply = append(out, ']')
	default:
		r.Code = int64(Absent)
	}
	return r
}
