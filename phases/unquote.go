package phases

import (
	"bytes"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// Unquote returns the text of a string of strict JSON, which is given with its quotes. Of anything else the answer is
// what can be read of it.
func Unquote(quoted []byte) string {
	text, _ := unquote(quoted)
	return text
}

// unquote returns the text of a raw quoted string; false: it is none.
func unquote(quoted []byte) (string, bool) {
	if n := len(quoted); n >= 2 && quoted[0] == '"' && quoted[n-1] == '"' {
		inner := quoted[1 : n-1]
		next := bytes.IndexByte(inner, '\\')
		if next < 0 && plainEnd(inner, 0) == len(inner) {
			return string(inner), true
		}
		if next >= 0 && (&formCheck{b: quoted}).all() {
			return unescaped(inner, next), true
		}
	}
	s, err := jsontext.AppendUnquote(nil, quoted)
	return string(s), err == nil
}

// all reports whether b is one string.
func (c *formCheck) all() bool {
	end, _ := c.text(0)
	return end == len(c.b)
}

// unescaped is a strict string without its escapes, of which the first stands at next.
func unescaped(inner []byte, next int) string {
	var text strings.Builder
	text.Grow(len(inner))
	for next >= 0 {
		text.Write(inner[:next])
		inner = inner[next:]
		n := 2
		switch c := inner[1]; c {
		case 'b':
			text.WriteByte('\b')
		case 'f':
			text.WriteByte('\f')
		case 'n':
			text.WriteByte('\n')
		case 'r':
			text.WriteByte('\r')
		case 't':
			text.WriteByte('\t')
		case 'u':
			unit, _ := hex4(inner, 2)
			r := rune(unit)
			n = 6
			if utf16.IsSurrogate(r) {
				unit, _ = hex4(inner, 8)
				r = utf16.DecodeRune(r, rune(unit))
				n = 12
			}
			text.WriteRune(r)
		default:
			text.WriteByte(c)
		}
		inner = inner[n:]
		next = bytes.IndexByte(inner, '\\')
	}
	text.Write(inner)
	return text.String()
}
