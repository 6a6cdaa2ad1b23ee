package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownAs is a character as it is shown: without it, when it is invisible, and full-width forms as others.
func shownAs(r rune) string {
	if hidden(r) {
		return ""
	}
	return string(r)
}

// unwrapped returns the text without what splits or hides a secret: invisible
// characters, line continuations, joined string literals, escapes of JSON and of
// URLs. Where there is nothing of the kind, the view is empty. Its parts are in room, if there is enough.
func unwrapped(s string, room []cut) view {
	lists := adjoiners(s)
	v := viewing{s: s, cuts: room[:0]}
	for i := 0; i < len(s); {
		c := s[i]
		if !wrapping[c] {
			i++
			continue
		}
		if n := joint(s, i, lists); n > 0 {
			v.drop(i, i+n)
			i += n
			continue
		}
		switch {
		case c == '\\':
			i = v.escape(i)
		case c == 0x1b:
			n := 1 + terminalCode(s, i+1)
			v.drop(i, i+n)
			i += n
		case c == '&' && i+3 < len(s) && s[i+1] == '#':
			if r, n := entity(s, i); n > 0 {
				v.read(shownAs(r), i, i+n)
				i += n
				continue
			}
			i++
		case c == '=' && softBreak(s, i) > 0:
			n := softBreak(s, i)
			v.drop(i, i+n)
			i += n
		case c == '%' && i+2 < len(s):
			if d, ok := hex2(s[i+1 : i+3]); ok && (d >= 0x20 && d < 0x7f || d == '\n' || d == '\r' || d == '\t') {
				v.read(string(rune(d)), i, i+3)
				i += 3
				continue
			}
			i++
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case hidden(r):
				v.drop(i, i+n)
			case r >= 0xff01 && r <= 0xff5e: // full-width forms
				v.read(string(r-0xfee0), i, i+n)
			}
			i += n
		}
	}
	return v.view()
}

// wrapping are the bytes at which something may have to be taken out or decoded; read only.
var wrapping = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= utf8.RuneSelf || strings.IndexByte("\\%&=\"'`\x1b", byte(c)) >= 0
	}
	return t
}()

// escape reads what begins with the backslash s[i]. It returns where to go on.
func (v *viewing) escape(i int) int {
	s := v.s
	switch {
	case i+5 < len(s) && s[i+1] == 'u':
		r, ok := hex4(s[i+2 : i+6])
		if !ok {
			return i + 1
		}
		if r == 0x1b {
			n := 6 + terminalCode(s, i+6)
			v.drop(i, i+n)
			return i + n
		}
		v.read(shownAs(r), i, i+6)
		return i + 6
	case i+3 < len(s) && s[i+1] == 'x':
		b, ok := hex2(s[i+2 : i+4])
		if !ok || b >= utf8.RuneSelf {
			return i + 1
		}
		if b == 0x1b {
			n := 4 + terminalCode(s, i+4)
			v.drop(i, i+n)
			return i + n
		}
		v.read(string(rune(b)), i, i+4)
		return i + 4
	case terminalEscape(s, i) > 0:
		n := terminalEscape(s, i)
		v.drop(i, i+n)
		return i + n
	case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '1':
		if b, ok := octal(s, i+1); ok {
			v.read(string(rune(b)), i, i+4)
			return i + 4
		}
		v.drop(i, i+1)
		return i + 1
	case i+1 < len(s):
		return v.escapes(i)
	}
	return i + 1
}

// escapes reads backslashes from s[i] on and what they stand before.
func (v *viewing) escapes(i int) int {
	s, n := v.s, 1
	for i+n < len(s) && s[i+n] == '\\' {
		n++
	}
	if i+n >= len(s) {
		v.drop(i, i+n)
		return i + n
	}
	t := s[i+n]
	if t == 'u' && i+n+4 < len(s) { // escaped once more: JSON in JSON
		if r, ok := hex4(s[i+n+1 : i+n+5]); ok {
			v.read(shownAs(r), i, i+n+5)
			return i + n + 5
		}
	}
	switch t {
	case 'n', 'r', 't':
		v.read("\n", i, i+n+1)
	case '\n', '\r': // a continued line, which may be indented
		for i+n+1 < len(s) && strings.IndexByte("\n \t", s[i+n+1]) >= 0 {
			n++
		}
		v.drop(i, i+n+1)
	case '"', '\'', '/':
		v.read(s[i+n:i+n+1], i, i+n+1)
	default:
		v.drop(i, i+n)
		return i + n
	}
	return i + n + 1
}

// softBreak returns the length of a soft line break of quoted-printable text.
func softBreak(s string, i int) int {
	n := 1
	if i+n < len(s) && s[i+n] == '\r' {
		n++
	}
	if i == 0 || !inClass(s[i-1], "w-_+/") || i+n+1 >= len(s) || s[i+n] != '\n' || !inClass(s[i+n+1], "w-_+/") {
		return 0
	}
	return n + 1
}

// joint returns the length of what joins two string literals at i: " + ", ' . ',
// adjacent literals, with blanks and line ends, or the comma of a list that is joined; or a continued line.
func joint(s string, i int, lists adjoins) int {
	q := s[i]
	if q != '"' && q != '\'' && q != '`' || i == 0 || !literalByte[s[i-1]] {
		return 0
	}
	k := i + 1
	skip := func() {
		for k < len(s) && k-i < 200 && strings.IndexByte(" \t\r\n\\", s[k]) >= 0 {
			k++
		}
	}
	skip()
	op := false
	switch {
	case strings.HasPrefix(s[k:], "||"), strings.HasPrefix(s[k:], "++"), strings.HasPrefix(s[k:], ".."):
		op = true
		k += 2
	case k < len(s) && (strings.IndexByte("+.&~", s[k]) >= 0 || s[k] == ',' && lists.near(s, i)):
		op = true
		k++
	case k == i+1:
		// 'a''b'
		if k < len(s) && (s[k] == '"' || s[k] == '\'') && i > 0 && inClass(s[i-1], "w") && k+1 < len(s) &&
			inClass(s[k+1], "w") {
			return 2
		}
		return 0
	}
	skip()
	if k < len(s) && (s[k] == '"' || s[k] == '\'' || s[k] == '`') && (op || s[k] == q) && k+1 < len(s) &&
		literalByte[s[k+1]] {
		return k + 1 - i
	}
	return 0
}

// hex2 and hex4 read so many hexadecimal digits.
func hex2(s string) (byte, bool) {
	a, b := hexValue[s[0]], hexValue[s[1]]
	return a<<4 | b, a|b < 0x80
}

func hex4(s string) (rune, bool) {
	a, ok := hex2(s[:2])
	b, more := hex2(s[2:])
	return rune(a)<<8 | rune(b), ok && more
}

// hexValue is the value of a hexadecimal digit, and 0x80 for any other byte; read only.
var hexValue = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case digit(b):
			t[c] = b - '0'
		case hexByte[b]:
			t[c] = b | 32 - 'a' + 10
		default:
			t[c] = 0x80
		}
	}
	return t
}()

func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u034f' || r == '\u180e' || r >= '\ufe00' &&
		r <= '\ufe0f' || r == '\u115f' || r == '\u3164'
}

const (
	minBody = 16       // characters of a body that is opened
	minDump = 12*3 - 1 // characters of bytes that are written one by one
)
