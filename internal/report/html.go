package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/page"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/textdiff"
	"github.com/belay-hooks/belay/phases"
)

// parts are the parts of the page.
//
//go:embed page.html
var parts string

// HTML returns the report as one page; see package page.
func (r *Report) HTML() ([]byte, error) {
	return page.Render(parts, template.FuncMap{
		"short": short, "delta": deltaText, "diff": diffOf, "width": width, "direction": direction, "headline": headline,
		"budgets": budgetsOf, "why": why, "figure": isFigure, "mode": modeText, "shares": shares,
	}, r)
}

// shares are the parts of the meter.
func shares(s Summary) []page.Part {
	return []page.Part{{Class: "same", Count: s.Same}, {Class: "flip", Count: s.Flips}, {Class: "rw", Count: s.Rewrites},
		{Class: "oth", Count: s.Others}}
}

// headline is the result in one sentence.
func headline(r *Report) string {
	s := r.Summary
	n := page.Plural(s.Different, "invocation", "invocations") + " of " + page.Count(s.Invocations)
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
		lines[i].Text = page.Visible(lines[i].Text)
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
