package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// safe makes text from outside harmless on a terminal: control characters,
// bidirectional overrides and invalid UTF-8 become visible escapes.
func safe(s string) string {
	clean := true
	for _, r := range s {
		if unsafeRune(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == utf8.RuneError || unicode.IsControl(r):
		return true
	}
	return unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// oneLine is safe text on one line, cut to n runes.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(safe(s)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// palette colours text for a terminal, or leaves it alone.
type palette bool

func (a *App) palette() palette { return palette(a.Terminal && a.Getenv("NO_COLOR") == "") }

func (p palette) paint(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) decision(s string) string {
	switch s {
	case "block", "error":
		return p.paint("31;1", s)
	case "ask":
		return p.paint("33;1", s)
	case "allow":
		return p.paint("32", s)
	case "transform", "grant":
		return p.paint("36", s)
	}
	return p.paint("2", s)
}

func (p palette) faint(s string) string  { return p.paint("2", s) }
func (p palette) bold(s string) string   { return p.paint("1", s) }
func (p palette) red(s string) string    { return p.paint("31;1", s) }
func (p palette) green(s string) string  { return p.paint("32", s) }
func (p palette) yellow(s string) string { return p.paint("33", s) }

// table prints rows in columns. Widths count visible characters, not colour
// codes.
type table struct {
	head  []string
	rows  [][]string
	right map[int]bool
}

func newTable(head ...string) *table { return &table{head: head, right: map[int]bool{}} }

func (t *table) alignRight(cols ...int) *table {
	for _, c := range cols {
		t.right[c] = true
	}
	return t
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(out io.Writer, colors palette) {
	widths := make([]int, len(t.head))
	measure := func(cells []string) {
		for i, c := range cells {
			widths[i] = max(widths[i], seen(c))
		}
	}
	measure(t.head)
	for _, r := range t.rows {
		measure(r)
	}
	line := func(cells []string, paint func(string) string) {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-seen(c))
			text := paint(c)
			switch {
			case t.right[i]:
				b.WriteString(pad + text)
			case i == len(cells)-1:
				b.WriteString(text)
			default:
				b.WriteString(text + pad)
			}
			if i < len(cells)-1 {
				b.WriteString("  ")
			}
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	line(t.head, colors.faint)
	for _, r := range t.rows {
		line(r, func(s string) string { return s })
	}
}

// seen counts the runes of s that take a column, leaving colour codes out.
func seen(s string) int {
	n, esc := 0, false
	for _, r := range s {
		switch {
		case r == 0x1b:
			esc = true
		case esc:
			esc = r != 'm'
		default:
			n++
		}
	}
	return n
}

func micros(us int64) string {
	switch d := time.Duration(us) * time.Microsecond; {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(us)/1000)
	default:
		return fmt.Sprintf("%d µs", us)
	}
}

// count groups the digits of a number in threes.
func count(n int64) string {
	s := fmt.Sprint(n)
	if n < 0 {
		return "-" + count(-n)
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
