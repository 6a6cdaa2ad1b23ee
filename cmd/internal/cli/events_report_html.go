package cli

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/activity"
	"github.com/belay-hooks/belay/cmd/internal/alarms"
	"github.com/belay-hooks/belay/internal/page"
)

//go:embed events_report.html
var reportParts string

// maxPageHooks bounds the hooks of a picture; the tables have them all.
const maxPageHooks = 20

// reportPage is the page of a report of events. The same events and the same times give the same bytes.
func reportPage(r *eventsReport, loc *time.Location) ([]byte, error) {
	at := func(t time.Time) string { return t.In(loc).Format("2006-01-02 15:04") }
	return page.Render(reportParts, template.FuncMap{
		"at":       at,
		"events":   func(n int64) string { return page.Plural(int(n), "event", "events") },
		"millis":   func(ms int64) string { return page.Micros(min(ms, maxMillis) * 1000) },
		"over":     func(a *activity.Report) template.HTML { return overTime(a, loc) },
		"latency":  latencyPicture,
		"fuel":     fuelPicture,
		"shares":   decisionShares,
		"answers":  answerShares,
		"by":       func() string { return ruleHead(r.By) },
		"rows":     func() []alarms.Row { return r.Rows[:min(len(r.Rows), maxReportRows)] },
		"more":     func() int { return max(0, len(r.Rows)-maxReportRows) },
		"row":      rowName,
		"dearest":  dearest,
		"share":    func(h activity.Hook) int64 { return share(h, r.Activity.Hooks) },
		"slowest":  slowest,
		"headline": reportHeadline,
	}, r)
}

// maxMillis keeps microseconds of a time in milliseconds within their range.
const maxMillis = int64(1) << 52

func reportHeadline(a *activity.Report) string {
	d := a.Decisions
	return fmt.Sprintf("%s: %s, %s", page.Plural(d.All(), "decision", "decisions"), page.Plural(d.Ask, "ask", "asks"),
		page.Plural(d.Block, "block", "blocks"))
}

func spanName(s activity.Span, step string, loc *time.Location) string {
	switch t := s.From.In(loc); step {
	case activity.Hour:
		return t.Format("01-02 15:04")
	default:
		return t.Format("2006-01-02")
	}
}

func overTime(a *activity.Report, loc *time.Location) template.HTML {
	lanes := []page.Lane{{Name: "allowed", Class: "allow"}, {Name: "changed", Class: "changed"},
		{Name: "asked", Class: "ask"}, {Name: "blocked", Class: "block"}}
	var names []string
	for _, s := range a.OverTime {
		names = append(names, spanName(s, a.Step, loc))
		for i, n := range []int{s.Allow, s.Changed, s.Ask, s.Block} {
			lanes[i].Values = append(lanes[i].Values, n)
		}
	}
	return page.Lanes("over-time", "Decisions in each "+a.Step, names, a.Step, lanes)
}

func decisionShares(d activity.Decisions) []page.Part {
	return []page.Part{{Class: "allow", Count: d.Allow}, {Class: "changed", Count: d.Changed},
		{Class: "ask", Count: d.Ask}, {Class: "block", Count: d.Block}}
}

func answerShares(a activity.Answers) []page.Part {
	return []page.Part{{Class: "allow", Count: a.Approved + a.Ran}, {Class: "block", Count: a.Denied},
		{Class: "ask", Count: a.Expired + a.Superseded}, {Class: "rest", Count: a.Waiting + a.NoResult}}
}

// slowest are the hooks of a report, those with the longest 99 per cent first.
func slowest(hooks []activity.Hook) []activity.Hook {
	return ordered(hooks, func(h activity.Hook) int64 { return h.Latency.P99 })
}

// dearest are the hooks of a report, those that took the most fuel first.
func dearest(hooks []activity.Hook) []activity.Hook {
	return ordered(hooks, func(h activity.Hook) int64 { return h.Fuel.Total })
}

// share is a hook's part of the fuel of the dearest, in per cent.
func share(h activity.Hook, hooks []activity.Hook) int64 {
	most := int64(1)
	for _, other := range hooks {
		most = max(most, other.Fuel.Total)
	}
	return int64(float64(h.Fuel.Total) / float64(most) * 100)
}

func ordered(hooks []activity.Hook, by func(activity.Hook) int64) []activity.Hook {
	out := slices.Clone(hooks)
	slices.SortStableFunc(out, func(a, b activity.Hook) int {
		switch x, y := by(a), by(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return out
}

func latencyPicture(a *activity.Report) template.HTML {
	rows := []page.Range{rangeOf("all hooks of a decision", a.Latency)}
	list := slowest(a.Hooks)
	for _, h := range list[:min(len(list), maxPageHooks)] {
		rows = append(rows, rangeOf(h.Hook, h.Latency))
	}
	return page.Ranges("latency", "Time that decisions and turns of hooks took", rows, page.Micros)
}

func fuelPicture(a *activity.Report) template.HTML {
	rows := []page.Range{rangeOf("all hooks of a decision", a.Fuel)}
	list := dearest(a.Hooks)
	for _, h := range list[:min(len(list), maxPageHooks)] {
		rows = append(rows, rangeOf(h.Hook, h.Fuel))
	}
	return page.Ranges("fuel", "Fuel that decisions and turns of hooks took", rows, page.Short)
}

func rangeOf(name string, s activity.Spread) page.Range {
	return page.Range{Name: name, P50: s.P50, P90: s.P90, P99: s.P99, Max: s.Max}
}

func ruleHead(by alarms.By) string {
	switch by {
	case alarms.ByTool:
		return "Tool"
	case alarms.ByHook:
		return "Hook"
	}
	return "Hook: rule"
}

func rowName(r alarms.Row) string {
	switch {
	case r.Tool != "":
		return r.Tool
	case r.Hook != "" && r.Rule != "":
		return r.Hook + ": " + r.Rule
	}
	return r.Hook + r.Rule
}
