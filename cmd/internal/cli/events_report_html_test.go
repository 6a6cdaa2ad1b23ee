package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/activity"
	"github.com/belay-hooks/belay/cmd/internal/alarms"
	"github.com/belay-hooks/belay/internal/page/pagetest"
)

// aWeek is a report with figures of every kind. name is what hooks, rules and tools are called.
func aWeek(name string) *eventsReport {
	since := time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)
	a := &activity.Report{Since: since, Until: since.AddDate(0, 0, 7), From: since.AddDate(0, 0, 1), Zone: "UTC",
		Events: 123_456, Step: activity.Day, Failures: 2,
		Decisions: activity.Decisions{Allow: 4021, Changed: 75, Ask: 31, Block: 12},
		Answers: activity.Answers{Queued: 20, Approved: 12, Denied: 3, Expired: 1, Superseded: 1, Waiting: 3,
			AnswerMS: activity.Spread{N: 15, P50: 42_000, P90: 900_000, P99: 3_600_000, Max: 3_600_000}, Prompted: 11, Ran: 9,
			NoResult: 2},
		Latency: activity.Spread{N: 4139, P50: 900, P90: 2400, P99: 18_000, Max: 240_000},
		Fuel:    activity.Spread{N: 4139, Total: 2_345_678_901, P50: 210_000, P90: 800_000, P99: 2_100_000, Max: 40_000_000}}
	for day, n := range []int{700, 650, 12, 0, 800, 912, 1065} {
		a.OverTime = append(a.OverTime, activity.Span{From: since.AddDate(0, 0, day),
			Decisions: activity.Decisions{Allow: n, Changed: n / 50, Ask: n / 130, Block: day % 3}})
	}
	for i, hook := range []string{"command-guard", "path-guard", name} {
		n := int64(i + 1)
		a.Hooks = append(a.Hooks, activity.Hook{Hook: hook,
			Latency: activity.Spread{N: 4000, P50: 120 * n, P90: 300 * n, P99: 2000 * n, Max: 90_000 / n},
			Fuel: activity.Spread{N: 4000, Total: 400_000_000 * n, P50: 90_000 * n, P90: 200_000 * n, P99: 900_000 * n,
				Max: 9_000_000}})
	}
	return &eventsReport{Activity: a, Report: &alarms.Report{By: alarms.ByRule, Rows: []alarms.Row{
		{Hook: "command-guard", Rule: "fs-destroy", Counts: alarms.Counts{Blocks: 3}, PerDay: 0.4},
		{Hook: name, Rule: name, Counts: alarms.Counts{Asks: 12, Approved: 12}, PerDay: 1.7}}}}
}

// The page of a week shows every number as text, too, and what hooks are called as text alone. With BELAY_SHOW set to
// a directory the page is left there to be looked at.
func TestReportPage(t *testing.T) {
	b, err := reportPage(aWeek(pagetest.Hostile), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b)
	again, err := reportPage(aWeek(pagetest.Hostile), time.UTC)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("the bytes differ, %v", err)
	}
	text := string(b)
	for _, want := range []string{
		"<h1>4\u202f139 decisions: 31 asks, 12 blocks</h1>", "times in UTC", "<b>Incomplete.</b>",
		"2026-03-03 09:30 to 2026-03-10 09:30", "blocked, 2 of them by failures",
		`<tr><td>2026-03-08 09:30</td><td class="r" data-of="allowed">912</td>`,
		"within 42 s, 9 of 10 within 15 min", `data-of="99 of 100">18 ms</td>`, "2.3\u202fG", "2\u202f345\u202f678\u202f901",
		`<title>2026-03-08: 912</title>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page holds no %q", want)
		}
	}
	if b, err = reportPage(&eventsReport{Activity: &activity.Report{Complete: true, OverTime: []activity.Span{{}}},
		Report: &alarms.Report{By: alarms.ByTool}}, time.UTC); err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b)
	if dir := os.Getenv("BELAY_SHOW"); dir != "" {
		show, err := reportPage(aWeek("a-hook-of-my-own"), time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "week.html"), show, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
