package eventbytes

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// These functions find the end of valid JSON without white space. The answer 0 means: there
// is none, or it cannot be told here. They accept nothing that the JSON library refuses.

const (
	maxDepth = 32 // of values in each other
	maxNames = 24 // of an object: all are compared with each other
)

// textEnd returns the length of the string at the beginning of b, and whether it has no escapes.
func textEnd(b []byte) (end int, plain bool) {
	if len(b) == 0 || b[0] != '"' {
		return 0, false
	}
	plain = true
	simple := true
	for i := 1; ; {
		if i = phases.PlainEnd(b, i); i >= len(b) {
			return 0, false
		}
		switch c := b[i]; {
		case c == '"':
			if !simple && !jsontext.Value(b[:i+1]).IsValid() {
				return 0, false
			}
			return i + 1, plain
		case c == '\\':
			plain = false
			simple = simple && i+1 < len(b) && isSimpleEscape(b[i+1])
			i += 2
		case c < ' ':
			return 0, false
		}
		for i < len(b) && b[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n <= 1 {
				return 0, false
			}
			i += n
		}
	}
}

// isSimpleEscape reports a byte that stands behind a backslash and is an escape with it.
func isSimpleEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// value returns the length of the value at the beginning of b.
func value(b []byte, depth int) int {
	if len(b) == 0 || depth > maxDepth {
		return 0
	}
	switch c := b[0]; {
	case c == '"':
		end, _ := textEnd(b)
		return end
	case c == '{':
		return object(b, depth)
	case c == '[':
		return array(b, depth)
	case c == '-' || c >= '0' && c <= '9':
		return number(b)
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(b) >= len(word) && string(b[:len(word)]) == word {
			return len(word)
		}
	}
	return 0
}

func object(b []byte, depth int) int {
	var names [maxNames][]byte
	if len(b) > 1 && b[1] == '}' {
		return 2
	}
	at := 1
	for n := 0; n < maxNames; n++ {
		end, plain := textEnd(b[at:])
		if end == 0 || !plain || at+end >= len(b) || b[at+end] != ':' {
			return 0
		}
		name := b[at : at+end]
		for _, other := range names[:n] {
			if bytes.Equal(other, name) {
				return 0
			}
		}
		names[n] = name
		at += end + 1
		length := value(b[at:], depth+1)
		if at += length; length == 0 || at >= len(b) {
			return 0
		}
		switch b[at] {
		case '}':
			return at + 1
		case ',':
			at++
		default:
			return 0
		}
	}
	return 0
}

func array(b []byte, depth int) int {
	if len(b) > 1 && b[1] == ']' {
		return 2
	}
	for at := 1; ; at++ {
		length := value(b[at:], depth+1)
		if at += length; length == 0 || at >= len(b) {
			return 0
		}
		if b[at] == ']' {
			return at + 1
		}
		if b[at] != ',' || at+1 >= len(b) {
			return 0
		}
	}
}

// digits returns how many digits there are at the beginning of b.
func digits(b []byte) (n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

func number(b []byte) int {
	at := 0
	if b[0] == '-' {
		at = 1
	}
	n := digits(b[at:])
	if n == 0 || n > 1 && b[at] == '0' {
		return 0
	}
	at += n
	if at < len(b) && b[at] == '.' {
		if n = digits(b[at+1:]); n == 0 {
			return 0
		}
		at += 1 + n
	}
	if at < len(b) && (b[at] == 'e' || b[at] == 'E') {
		at++
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		if n = digits(b[at:]); n == 0 {
			return 0
		}
		at += n
	}
	return at
}
