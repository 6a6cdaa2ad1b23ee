package page

import (
	"fmt"
	"strings"
	"unicode"
)

// Plural writes a number and what it counts.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Count writes a number with thin spaces between its thousands.
func Count(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// Bytes writes a number of bytes in the unit that fits.
func Bytes(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// Micros writes microseconds in the unit that fits.
func Micros(us int64) string {
	switch {
	case us >= 1_000_000:
		return fmt.Sprintf("%.1f s", float64(us)/1e6)
	case us >= 10_000:
		return fmt.Sprintf("%d ms", us/1000)
	case us >= 1000:
		return fmt.Sprintf("%.1f ms", float64(us)/1e3)
	}
	return fmt.Sprintf("%d µs", us)
}

// Visible shows characters that hide, or that turn the text beside them round.
func Visible(text any) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(fmt.Sprint(text), "\uFFFD") {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
