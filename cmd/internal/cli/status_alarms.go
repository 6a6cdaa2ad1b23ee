package cli

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/alarms"
)

// alarmsToday is what `belay status --json` says of the last 24 hours.
type alarmsToday struct {
	From     time.Time `json:"from"`
	Complete bool      `json:"complete"` // the whole 24 hours were read
	alarms.Counts
	Noisiest *alarms.Row `json:"noisiest,omitzero"` // the rule with the most asks and blocks
}

// alarmsOfADay is the report of which status shows a line.
func alarmsOfADay(now time.Time, gone int64) alarms.Options {
	return alarms.Options{By: alarms.ByRule, Since: now.Add(-24 * time.Hour), Now: now, Events: alarms.GlanceEvents,
		Gone: gone}
}

func summary(r *alarms.Report) alarmsToday {
	out := alarmsToday{From: r.From, Complete: r.Complete, Counts: r.Total}
	if row := noisiest(r); row != nil {
		out.Noisiest = row
	}
	return out
}

// noisiest is the rule that stopped the most calls, or nil when none was stopped.
func noisiest(r *alarms.Report) *alarms.Row {
	if len(r.Rows) == 0 || r.Rows[0].Stopped() == 0 {
		return nil
	}
	return &r.Rows[0]
}

// alarmsLine says how many asks and blocks people had, and which rule made the most of them.
func alarmsLine(r *alarms.Report) string {
	within := "the last 24 hours"
	if !r.Complete {
		within = "the newest " + plural(int(r.Events), "event")
	}
	row := noisiest(r)
	if row == nil {
		return "no ask and no block in " + within
	}
	text := plural(r.Total.Asks, "ask")
	if r.Total.Approved > 0 {
		text += fmt.Sprintf(" (%d approved)", r.Total.Approved)
	}
	return text + " and " + plural(r.Total.Blocks, "block") + " in " + within + ", most by " +
		oneLine(row.Hook, 40) + ": " + oneLine(row.Rule, 72) + " (" + count(int64(row.Stopped())) + ")"
}
