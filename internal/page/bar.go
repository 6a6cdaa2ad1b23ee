package page

import (
	"fmt"
	"html/template"
	"strings"
)

// Bar draws a bar of some per cent of its column. The number stands beside it as text, so that it is hidden from
// readers of text.
func Bar(percent int64, class string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="bar %s" aria-hidden="true"><rect width="%d%%" height="7" rx="3"/></svg>`,
		template.HTMLEscapeString(class), max(0, min(percent, 100))))
}

// Part is one part of a meter.
type Part struct {
	Class string
	Count int
}

// Meter draws how parts share a whole, as one bar. Their numbers stand beside it as text.
func Meter(parts []Part) template.HTML {
	total := 0
	for _, p := range parts {
		total += max(0, p.Count)
	}
	if total == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<svg class="meter" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">`)
	at := 0
	for _, p := range parts {
		if p.Count <= 0 {
			continue
		}
		from := thousandth(at, total)
		at += p.Count
		fmt.Fprintf(&b, `<rect class="%s" x="%d" width="%d" height="8"/>`, template.HTMLEscapeString(p.Class), from,
			thousandth(at, total)-from)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// thousandth is n of total in thousandths, rounded down.
func thousandth(n, total int) int { return int(float64(n) / float64(total) * 1000) }
