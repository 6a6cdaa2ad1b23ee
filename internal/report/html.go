package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/textdiff"
	"github.com/belay-hooks/belay/phases"
)

// page and style are the page's parts.
//
//go:embed page.html
var page string

//go:embed page.css
var style string

// HTML returns the report as one page that needs nothing else: no script, no font, no
// picture, no network. Whatever stands in it, it shows as text.
func (r *Report) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"count": groupDigits, "bytes": byteText, "short": short, "delta": deltaText, "diff": diffOf, "width": width,
		"plural": plural, "visible": visible,
		"direction": direction, "json": isJSON, "headline": headline, "budgets": budgetsOf, "why": why, "figure": isFigure,
		"css": func() template.CSS { return template.CSS(style) }, "mode": modeText,
	}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// headline is the result in one sentence.
func headline(r *Report) string {
	s := r.Summary
	n := plural(s.Different, "invocation", "invocations") + " of " + groupDigits(s.Invocations)
	switch {
	case r.Same() && r.Mode == "exact":
		return "Everything came out the same"
	case r.Mode == "exact":
		return n + " came out otherwise"
	case r.Same():
		return "Nothing would change"
	}
	return n + " would come out otherwise"
}

// budgets are the hooks that take something else now, and those that do not.
type budgets struct{ Moved, Still []Row }

func budgetsOf(r *Report) *budgets {
	if len(r.Budgets) == 0 {
		return nil
	}
	out := new(budgets)
	for _, b := range r.Budgets {
		for _, row := range b.Rows() {
			if row.Moved() {
				out.Moved = append(out.Moved, row)
			} else {
				out.Still = append(out.Still, row)
			}
		}
	}
	return out
}

// why is the reason of the stricter side of a changed decision.
func why(i Item) string {
	side, prefix := i.Now, ""
	if i.Now.Decision == phases.Allow {
		side, prefix = i.Base, "was: "
	}
	if side.By == "" {
		return prefix + side.Reason
	}
	return strings.TrimSuffix(prefix+side.By+": "+side.Reason, ": ")
}

// isFigure says that a change is one of a number, and needs no diff.
func isFigure(c Change) bool {
	if c.What != replay.WhatFuel && c.What != replay.WhatMemory {
		return false
	}
	for _, s := range []string{c.Was, c.Is} {
		if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			return false
		}
	}
	return true
}

func modeText(mode string) string {
	switch mode {
	case "exact":
		return "every call and answer, all effects and all fuel"
	case "budget":
		return "decisions, final actions, fuel and memory"
	case ModeShadow:
		return "what observing hooks would have decided"
	}
	return "decisions and final actions"
}

// direction says whether a flip loosens or tightens.
func direction(f Flip) string {
	switch n := flipRank(f); {
	case n < 0:
		return "looser"
	case n > 0:
		return "tighter"
	}
	return ""
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return groupDigits(n) + " " + many
}

// groupDigits writes a number with thin spaces between its thousands.
func groupDigits(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func byteText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// short cuts a digest to the part that people compare.
func short(digest string) string {
	h, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(h) < 12 {
		return digest
	}
	return h[:12]
}

func deltaText(p Pair) string {
	d, ok := p.Delta()
	switch {
	case !ok && p.Now == 0 || ok && p.Base == p.Now:
		return "±0"
	case !ok:
		return "new"
	case d == 0 && p.Now > p.Base:
		return "+<0.1 %"
	case d == 0:
		return "−<0.1 %"
	}
	sign := "+"
	if d < 0 {
		sign, d = "−", -d
	}
	return fmt.Sprintf("%s%d.%d %%", sign, d/10, d%10)
}

// width is a bar's length in per cent of the longer one.
func width(p Pair, now bool) int64 {
	top, v := max(p.Base, p.Now), p.Base
	if now {
		v = p.Now
	}
	if top == 0 || v == 0 {
		return 0
	}
	for top > math.MaxInt64/100 {
		top, v = top>>8, v>>8
	}
	return max(1, v*100/top)
}

func isJSON(s string) bool {
	v := jsontext.Value(s)
	return len(v) > 0 && (v.Kind() == '{' || v.Kind() == '[') && v.IsValid()
}

// diffOf compares two values as lines of indented JSON.
func diffOf(was, is string) []textdiff.Line {
	lines := textdiff.Near(textdiff.Lines(valueLines(was), valueLines(is)), 2)
	for i := range lines {
		lines[i].Text = visible(lines[i].Text)
	}
	return lines
}

func valueLines(s string) []string {
	if s == "" {
		return nil
	}
	if isJSON(s) {
		v := jsontext.Value(s).Clone()
		if v.Indent(jsontext.WithIndent("  ")) == nil {
			s = string(v)
		}
	}
	return strings.Split(s, "\n")
}

// visible shows characters that hide, or that turn the text beside them round.
func visible(text any) string {
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
