package redact

import (
	"sort"
	"strconv"
	"strings"
)

// terminalCode returns the length of the code for a terminal whose escape character ends before s[at:], such as [32m
// for a colour, and 0 when there is none. Tools that colour a match put codes inside of a secret.
func terminalCode(s string, at int) int {
	if at >= len(s) {
		return 0
	}
	switch i := at + 1; s[at] {
	case '[': // parameters, then a letter
		for i < len(s) && i-at < 32 && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1 - at
		}
	case '(', ')': // a character set
		return min(2, len(s)-at)
	}
	return 0
}

// terminalEscape returns the length of an escape character at s[i:] that is written out, \033 or \e, with its code.
func terminalEscape(s string, i int) int {
	for _, e := range [...]string{`\033`, `\e`, `\E`} {
		if strings.HasPrefix(s[i:], e) {
			if n := terminalCode(s, i+len(e)); n > 0 {
				return len(e) + n
			}
		}
	}
	return 0
}

// entity returns the character that a numeric reference of HTML at s[at:] stands for, and its length; 0 when there is
// none.
func entity(s string, at int) (r rune, n int) {
	body, base := s[at:min(len(s), at+12)], 10
	if !strings.HasPrefix(body, "&#") {
		return 0, 0
	}
	digits, _, ok := strings.Cut(body[2:], ";")
	if !ok || digits == "" {
		return 0, 0
	}
	n = len("&#") + len(digits) + len(";")
	if digits[0]|32 == 'x' {
		digits, base = digits[1:], 16
	}
	v, err := strconv.ParseUint(digits, base, 21)
	if err != nil || v < 0x20 {
		return 0, 0
	}
	return rune(v), n
}

// octal returns the printable character that three octal digits at s[at:] stand for.
func octal(s string, at int) (byte, bool) {
	if at+3 > len(s) {
		return 0, false
	}
	v, err := strconv.ParseUint(s[at:at+3], 8, 9)
	return byte(v), err == nil && v >= 0x20 && v < 0x7f
}

// adjoins finds where a program joins the elements of a list of strings: join("", ["a", "b"]), concat("a", "b").
type adjoins []int

func adjoiners(s string) (at adjoins) {
	for i := 0; ; {
		k := strings.IndexByte(s[i:], '(')
		if k < 0 {
			return at
		}
		i += k + 1
		if head := s[max(0, i-7) : i-1]; len(head) >= 4 && (strings.EqualFold(head[len(head)-4:], "join") ||
			len(head) == 6 && strings.EqualFold(head, "concat")) {
			at = append(at, i)
		}
	}
}

// near reports that s[i] stands in the list of one of them: at most 400 bytes before or behind it, with nothing between
// that ends a list.
func (a adjoins) near(s string, i int) bool {
	next := sort.SearchInts(a, i)
	return next < len(a) && a[next] <= i+400 && !strings.ContainsAny(s[i:a[next]], ":;") ||
		next > 0 && a[next-1] >= i-400 && !strings.ContainsAny(s[a[next-1]:i], ":;")
}
