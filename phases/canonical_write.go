package phases

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalWriter writes the canonical form of strict JSON. It can be used again: what it wrote before is gone then.
type canonicalWriter struct {
	src, out []byte
	spare    []byte
	compact  bool  // strings of src are known to be in their shortest spelling
	err      error // about the first number that is refused
}

// write writes the form of src, an object without the members that are named, into out.
func (w *canonicalWriter) write(src []byte, without ...string) error {
	w.src, w.out, w.err = src, slices.Grow(w.out[:0], len(src)), nil
	w.value(skipSpace(src, 0), without)
	return w.err
}

// writtenMember is a member of an object that has been written.
type writtenMember struct {
	name     []byte // without quotes and escapes
	plain    bool   // the name has ASCII only
	from, to int    // in what is written
}

// value writes the value at i, an object without the members that are named, and returns the index after it.
func (w *canonicalWriter) value(i int, without []string) int {
	switch c := w.src[i]; {
	case c == '{':
		return w.object(i, without)
	case c == '[':
		w.out = append(w.out, '[')
		next := skipSpace(w.src, i+1)
		for w.src[next] != ']' {
			if w.src[next] == ',' {
				w.out = append(w.out, ',')
				next = skipSpace(w.src, next+1)
			}
			next = skipSpace(w.src, w.value(next, nil))
		}
		w.out = append(w.out, ']')
		return next + 1
	case c == '"':
		return w.text(i)
	default:
		end, _ := skipValue(w.src, i)
		if c == '-' || c >= '0' && c <= '9' {
			w.number(i, end)
		} else {
			w.out = append(w.out, w.src[i:end]...)
		}
		return end
	}
}

// number writes the number from i to end. What is written after one that is refused is of no use.
func (w *canonicalWriter) number(i, end int) {
	if w.err == nil {
		w.err = checkNumber(w.src, i, end)
	}
	if w.err == nil {
		w.out = appendNumber(w.out, string(w.src[i:end]))
	}
}

// text writes the string at i in its shortest spelling, as it stands unless it has escapes, and returns the index
// after it.
func (w *canonicalWriter) text(i int) int {
	if w.compact {
		end, _ := skipString(w.src, i)
		w.out = append(w.out, w.src[i:end]...)
		return end
	}
	n, shortest := StringLen(w.src[i:])
	if quoted := w.src[i : i+n]; shortest {
		w.out = append(w.out, quoted...)
	} else {
		text, _ := jsontext.AppendUnquote(nil, quoted) // strict JSON: neither fails
		w.out, _ = jsontext.AppendQuote(w.out, text)
	}
	return i + n
}

// StringLen returns the length of the string with which strict JSON begins, quotes included. shortest says that it has
// no escapes but those that its shortest spelling has; false says nothing.
func StringLen(b []byte) (n int, shortest bool) {
	shortest = true
	for n = 1; ; {
		if n = plainEnd(b, n); n >= len(b) {
			return len(b), false // no strict JSON
		}
		switch b[n] {
		case '"':
			return n + 1, shortest
		case '\\':
			if n++; n < len(b) {
				switch b[n] {
				case '"', '\\', 'b', 'f', 'n', 'r', 't':
				default:
					shortest = false
				}
			}
			n++
		default:
			for n++; n < len(b) && b[n] >= utf8.RuneSelf; n++ {
			}
		}
	}
}

// object writes the members as they come, and puts them in order where they are not: what is inside is read once.
func (w *canonicalWriter) object(i int, without []string) int {
	var room [16]writtenMember
	members, inOrder := room[:0], true
	w.out = append(w.out, '{')
	next := skipSpace(w.src, i+1)
	for w.src[next] != '}' {
		if w.src[next] == ',' {
			next = skipSpace(w.src, next+1)
		}
		quoted, at := w.memberAt(next)
		m := writtenMember{name: quoted[1 : len(quoted)-1]}
		if bytes.IndexByte(quoted, '\\') >= 0 {
			m.name, _ = jsontext.AppendUnquote(nil, quoted)
		}
		if slices.Contains(without, string(m.name)) {
			next, _ = skipValue(w.src, at)
			if w.err == nil {
				w.err = checkNumbers(w.src, at, next)
			}
			next = skipSpace(w.src, next)
			continue
		}
		if len(members) > 0 {
			w.out = append(w.out, ',')
		}
		m.plain, m.from = isASCII(m.name), len(w.out)
		w.text(next)
		w.out = append(w.out, ':')
		next = skipSpace(w.src, w.value(at, nil))
		m.to = len(w.out)
		inOrder = inOrder && (len(members) == 0 || compareNames(members[len(members)-1], m) < 0)
		members = append(members, m)
	}
	if !inOrder {
		w.sort(members)
	}
	w.out = append(w.out, '}')
	return next + 1
}

// memberAt returns the name of the member that begins at i, with quotes, and where its value begins.
func (w *canonicalWriter) memberAt(i int) (quoted []byte, value int) {
	end, _ := skipString(w.src, i)
	colon := skipSpace(w.src, end)
	return w.src[i:end], skipSpace(w.src, colon+1)
}

// sort puts the members, which end what is written, in order.
func (w *canonicalWriter) sort(members []writtenMember) {
	from := members[0].from
	w.spare = append(w.spare[:0], w.out[from:]...)
	w.out = w.out[:from]
	slices.SortFunc(members, compareNames)
	for n, m := range members {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.spare[m.from-from:m.to-from]...)
	}
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// compareNames orders names by their UTF-16 code units.
func compareNames(a, b writtenMember) int {
	if a.plain && b.plain {
		return bytes.Compare(a.name, b.name)
	}
	return slices.Compare(utf16.Encode([]rune(string(a.name))), utf16.Encode([]rune(string(b.name))))
}
