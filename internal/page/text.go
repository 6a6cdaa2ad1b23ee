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

// Short writes a large number in thousands, millions and so on.
func Short(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.size && n >= 10_000 {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit.size)), ".0") + "\u202f" + unit.name
		}
	}
	return Count(n)
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
	tenths := func(unit float64, name string) string {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(us)/unit), ".0") + " " + name
	}
	switch {
	case us >= 2*3_600_000_000:
		return tenths(3.6e9, "h")
	case us >= 120_000_000:
		return fmt.Sprintf("%d min", us/60_000_000)
	case us >= 1_000_000:
		return tenths(1e6, "s")
	case us >= 10_000:
		return fmt.Sprintf("%d ms", us/1000)
	case us >= 1000:
		return tenths(1e3, "ms")
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
