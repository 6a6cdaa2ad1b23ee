package phases

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The scanner below walks raw JSON without decoding it, so that a value keeps
// its source bytes. It expects documents that were validated before (strict
// decoding is in decode.go); on anything else it ends with ok = false and never
// reads out of range.

// skipSpace returns the index of the first byte at or after i that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// skipString returns the index after the string that starts at i.
func skipString(data []byte, i int) (int, bool) {
	if i >= len(data) || data[i] != '"' {
		return i, false
	}
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data), false
		}
		i += n
		back := i
		for data[back-1] == '\\' { // ends at the string's first quote
			back--
		}
		if (i-back)%2 == 0 {
			return i + 1, true
		}
	}
}

// skipValue returns the index after the value that starts at i (no white space before it).
func skipValue(data []byte, i int) (int, bool) {
	if i >= len(data) {
		return i, false
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		depth := 0
		for i < len(data) {
			switch data[i] {
			case '"':
				var ok bool
				if i, ok = skipString(data, i); !ok {
					return i, false
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, true
				}
			}
			i++
		}
		return i, false
	case ',', ':', '}', ']':
		return i, false
	}
	start := i
	for i < len(data) {
		switch data[i] {
		case ',', ':', '}', ']', ' ', '\t', '\n', '\r', '{', '[', '"':
			return i, i > start
		}
		i++
	}
	return i, true
}

// span is a half-open range of bytes.
type span struct{ start, end int }

// member is one entry of an object or array: name is the raw quoted name, and
// empty for elements of arrays.
type member struct {
	name  span
	value span
	index int
}

// entries iterates over the direct entries of a container.
type entries struct {
	b      []byte
	i      int // where to go on
	n      int // entries begun
	object bool
	bad    bool
}

// entriesOf starts at the bracket at i; without one it has no entries.
func entriesOf(b []byte, i int) entries {
	if i >= len(b) || (b[i] != '{' && b[i] != '[') {
		return entries{bad: true}
	}
	return entries{b: b, i: i + 1, object: b[i] == '{'}
}

// next returns the next entry with value.end not yet known: finding a value
// deep inside must not skip every container round it first.
func (e *entries) next() (member member, ok bool) {
	if e.bad {
		return member, false
	}
	i := skipSpace(e.b, e.i)
	if i >= len(e.b) || e.b[i] == '}' || e.b[i] == ']' {
		e.i = i
		return member, false
	}
	if e.n > 0 {
		if e.b[i] != ',' {
			e.bad = true
			return member, false
		}
		i = skipSpace(e.b, i+1)
	}
	member.index = e.n
	if e.object {
		member.name.start = i
		if i, ok = skipString(e.b, i); !ok {
			e.bad = true
			return member, false
		}
		member.name.end = i
		if i = skipSpace(e.b, i); i >= len(e.b) || e.b[i] != ':' {
			e.bad = true
			return member, false
		}
		i = skipSpace(e.b, i+1)
	}
	e.n++
	member.value.start = i
	return member, true
}

// skip moves past the entry that next returned and completes it.
func (e *entries) skip(m *member) bool {
	end, ok := skipValue(e.b, m.value.start)
	if !ok {
		e.bad = true
		return false
	}
	m.value.end, e.i = end, end
	return true
}

// walk calls f for every direct entry of the container that starts at i, in
// order, until f returns false.
func walk(b []byte, i int, f func(m member) bool) {
	e := entriesOf(b, i)
	for {
		m, ok := e.next()
		if !ok || !e.skip(&m) || !f(m) {
			return
		}
	}
}

// nameIs reports whether the raw quoted name stands for want.
func nameIs(quoted []byte, want string) bool {
	if len(quoted) < 2 {
		return false
	}
	inner := quoted[1 : len(quoted)-1]
	for _, c := range inner {
		if c == '\\' {
			name, err := jsontext.AppendUnquote(nil, quoted)
			return err == nil && string(name) == want
		}
	}
	return string(inner) == want
}

// quote returns s as a JSON string; invalid UTF-8 is replaced.
func quote(s string) []byte { return appendQuote(nil, s) }

func appendQuote(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			dst, _ = jsontext.AppendQuote(dst, s) // the error only tells of replaced bytes
			return dst
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// appendQuotes appends an array of strings.
func appendQuotes(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, s := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuote(dst, s)
	}
	return append(dst, ']')
}

// trim returns raw without white space around it.
func trim(raw []byte) []byte {
	i := skipSpace(raw, 0)
	j := len(raw)
	for j > i {
		switch raw[j-1] {
		case ' ', '\t', '\n', '\r':
			j--
			continue
		}
		break
	}
	return raw[i:j]
}

// kindOf returns the first byte of the value's kind: n f t " 0 { [, or 0.
func kindOf(raw []byte) byte {
	i := skipSpace(raw, 0)
	if i >= len(raw) {
		return 0
	}
	switch c := raw[i]; {
	case c == '-' || (c >= '0' && c <= '9'):
		return '0'
	default:
		return c
	}
}

// tooDeep returns the offset where objects and arrays first nest deeper than max in
// raw (-1 if never).
func tooDeep(raw []byte, max int) (at int) {
	d := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			end, ok := skipString(raw, i)
			if !ok {
				return -1
			}
			i = end - 1
		case '{', '[':
			if d++; d > max {
				return i
			}
		case '}', ']':
			d--
		}
	}
	return -1
}
