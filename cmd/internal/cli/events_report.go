package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/alarms"
)

// maxReportDays bounds the days of a report.
const maxReportDays = 366

// maxReportRows is how many rows of a report people are shown.
const maxReportRows = 40

type eventsReportOptions struct {
	by   string
	days int
	json bool
}

func reportColumns() []string {
	return []string{string(alarms.ByRule), string(alarms.ByHook), string(alarms.ByTool)}
}

func (a *App) eventsReportCmd() *cobra.Command {
	var options eventsReportOptions
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Count asks and blocks by rule, hook or tool, so that a noisy rule is seen",
		Long: `report counts the calls for which a person was asked and those that were blocked, in
the last --days days, most first. APPROVED are asks that a person approved: many of
them are a sign of false alarms. What hooks in observe mode would have asked or
blocked stands apart. A rule of a rules file has its name; of another hook the
reason stands for the rule, without what differs from call to call.

It reads the newest million events at most and says where it stopped.`,
		Example: `  belay events report --by rule
  belay events report --by tool --days 30 --json
  belay hook observe NAME      # a noisy hook records what it would decide, and stops nothing`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsReport(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.by, "by", string(alarms.ByRule), "what the rows are: "+strings.Join(reportColumns(), ", "))
	f.IntVar(&options.days, "days", 7, fmt.Sprintf("how many days back, 1 to %d", maxReportDays))
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) eventsReport(ctx context.Context, options eventsReportOptions) error {
	if !slices.Contains(reportColumns(), options.by) {
		return usageError(fmt.Sprintf("--by: there is no report by %q", safe(options.by)),
			"Reports are by "+strings.Join(reportColumns(), ", ")+".")
	}
	if options.days < 1 || options.days > maxReportDays {
		return usageError(fmt.Sprintf("--days must be between 1 and %d", maxReportDays), "")
	}
	src, err := a.openEvents(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	gone, _, err := src.Compacted(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	now := time.Now()
	report, err := alarms.Read(ctx, src, alarms.Options{By: alarms.By(options.by), Now: now, Gone: gone,
		Since: now.Add(-time.Duration(options.days) * 24 * time.Hour)})
	if err != nil {
		return recordsFailure(err)
	}
	if options.json {
		return a.printJSON(report)
	}
	a.printAlarms(report, options.days)
	return nil
}

// printAlarms prints a report for people: the rows, the days, and how far it reaches.
func (a *App) printAlarms(r *alarms.Report, days int) {
	if len(r.Rows) == 0 {
		fmt.Fprintf(a.Err, "No ask and no block in the last %s.\n", plural(days, "day"))
	} else {
		colors := a.palette()
		a.reportRows(r).print(a.Out, colors)
		fmt.Fprintln(a.Out)
		reportDays(r).print(a.Out, colors)
	}
	if n := len(r.Rows) - maxReportRows; n > 0 {
		fmt.Fprintf(a.Err, "%s more; --json prints them all.\n", plural(n, "row"))
	}
	if !r.Complete {
		fmt.Fprintf(a.Err, "The report stops at %s, after %s: older ones were not read, or their contents are gone.\n",
			r.From.Local().Format(time.DateTime), plural(int(r.Events), "event"))
	}
}

func (a *App) reportRows(r *alarms.Report) *table {
	var head []string
	switch r.By {
	case alarms.ByTool:
		head = []string{"TOOL"}
	case alarms.ByHook:
		head = []string{"HOOK"}
	default:
		head = []string{"HOOK", "RULE"}
	}
	n := len(head)
	t := newTable(append(head, "ASKS", "APPROVED", "BLOCKS", "PER DAY", "OBSERVED ASKS", "OBSERVED BLOCKS")...).
		alignRight(n, n+1, n+2, n+3, n+4, n+5)
	for _, row := range r.Rows[:min(len(r.Rows), maxReportRows)] {
		var cells []string
		switch r.By {
		case alarms.ByTool:
			cells = []string{oneLine(row.Tool, 40)}
		case alarms.ByHook:
			cells = []string{oneLine(row.Hook, 40)}
		default:
			cells = []string{oneLine(row.Hook, 24), oneLine(row.Rule, 72)}
		}
		t.row(append(cells, fmt.Sprint(row.Asks), fmt.Sprint(row.Approved), fmt.Sprint(row.Blocks),
			fmt.Sprintf("%.1f", row.PerDay), fmt.Sprint(row.ObservedAsks), fmt.Sprint(row.ObservedBlocks))...)
	}
	return t
}

func reportDays(r *alarms.Report) *table {
	t := newTable("DAY", "ASKS", "APPROVED", "BLOCKS", "OBSERVED ASKS", "OBSERVED BLOCKS").alignRight(1, 2, 3, 4, 5)
	for _, d := range r.Days {
		t.row(d.Day, fmt.Sprint(d.Asks), fmt.Sprint(d.Approved), fmt.Sprint(d.Blocks),
			fmt.Sprint(d.ObservedAsks), fmt.Sprint(d.ObservedBlocks))
	}
	return t
}
