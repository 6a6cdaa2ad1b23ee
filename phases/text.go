package phases

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SafeText makes text of a guest or an agent safe to show: invalid UTF-8 is
// replaced by U+FFFD, control and format characters (bidirectional overrides,
// zero-width characters and the like) and line separators are dropped except
// newline and tab, and the result is cut at max bytes on a character boundary.
func SafeText(s string, max int) string {
	return cut(clean(s, func(r rune) bool { return r == '\n' || r == '\t' }), max)
}

// SafeLine is SafeText for one line: newlines and tabs become blanks.
func SafeLine(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return cut(clean(s, func(rune) bool { return false }), max)
}

func clean(text string, keep func(rune) bool) string {
	plain := true
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) && !keep(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// isControl reports characters that can change how a line is shown or split:
// controls, format characters, line and paragraph separators.
func isControl(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// hasControl reports whether s has a character that isControl names, or is not UTF-8.
func hasControl(s string) bool {
	for i := 0; ; i++ {
		if i == len(s) {
			return false
		}
		if c := s[i]; c < ' ' || c >= 0x7f {
			break // it takes a closer look
		}
	}
	for _, r := range s {
		if r == utf8.RuneError && !utf8.ValidString(s) {
			return true
		}
		if isControl(r) {
			return true
		}
	}
	return false
}

// cut shortens s to at most max bytes without splitting a character.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// safeLabel cleans a redaction label to letters, digits and ._- so that it can
// not look like anything but a label; an empty one becomes "value".
func safeLabel(s string) string {
	var text strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			text.WriteRune(r)
		case r == ' ' || r == '/' || r == ':':
			text.WriteByte('-')
		}
		if text.Len() >= maxLabelBytes {
			break
		}
	}
	if text.Len() == 0 {
		return "value"
	}
	return text.String()
}
