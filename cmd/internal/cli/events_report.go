package cli

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/activity"
	"github.com/belay-hooks/belay/cmd/internal/alarms"
)

// maxReportDays bounds the days of a report.
const maxReportDays = 366

// maxReportRows is how many rows of a report people are shown.
const maxReportRows = 40

type eventsReportOptions struct {
	by           string
	days         int
	since, until string
	html         string
	json         bool
}

// eventsReport is what `belay events report --json` prints, and its page shows.
type eventsReport struct {
	*alarms.Report `json:",inline"`
	Activity       *activity.Report `json:"activity"`
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
the last --days days or since --since, most first. APPROVED are asks that a person
approved: many of them are a sign of false alarms. What hooks in observe mode would have
asked or blocked stands apart. A rule of a rules file has its name; of another hook the
reason stands for the rule, without what differs from call to call.

--html writes a page with pictures, and --json prints the same numbers. They are decisions
over time, how asks were answered, how long each hook took and how much fuel. The page
needs no network and runs no script. Times are those of this machine's zone, which it
names.

It reads the newest million events at most and says where it stopped.`,
		Example: `  belay events report --by rule
  belay events report --since 7d --html week.html
  belay events report --by tool --days 30 --json
  belay hook observe NAME      # a noisy hook records what it would decide, and stops nothing`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.since != "" && cmd.Flags().Changed("days") {
				return usageError("--since and --days say the same thing", "Give one of them.")
			}
			return a.eventsReport(cmd.Context(), options)
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.by, "by", string(alarms.ByRule), "what the rows are: "+strings.Join(reportColumns(), ", "))
	f.IntVar(&options.days, "days", 7, fmt.Sprintf("how many days back, 1 to %d", maxReportDays))
	f.StringVar(&options.since, "since", "", "not before this time: RFC 3339, a date, or how long ago (90m, 2h, 7d)")
	f.StringVar(&options.until, "until", "", "before this time, in the same forms (default now)")
	f.StringVar(&options.html, "html", "", "write a page with pictures to `FILE`, which ends in .html")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

// times are the bounds of a report.
func (o *eventsReportOptions) times(now time.Time) (since, until time.Time, err error) {
	if o.days < 1 || o.days > maxReportDays {
		return since, until, usageError(fmt.Sprintf("--days must be between 1 and %d", maxReportDays), "")
	}
	if until, err = instant("--until", o.until, now); err != nil {
		return since, until, err
	}
	if until.IsZero() {
		until = now
	}
	if since, err = instant("--since", o.since, now); err != nil {
		return since, until, err
	}
	if since.IsZero() {
		since = until.Add(-time.Duration(o.days) * 24 * time.Hour)
	}
	switch span := until.Sub(since); {
	case span <= 0:
		return since, until, usageError("--since must be before --until", "")
	case span > (maxReportDays+1)*24*time.Hour:
		return since, until, usageError(fmt.Sprintf("a report covers %d days at most", maxReportDays),
			"Give a later --since, or an earlier --until.")
	}
	return since, until, nil
}

func (a *App) eventsReport(ctx context.Context, options eventsReportOptions) error {
	if !slices.Contains(reportColumns(), options.by) {
		return usageError(fmt.Sprintf("--by: there is no report by %q", safe(options.by)),
			"Reports are by "+strings.Join(reportColumns(), ", ")+".")
	}
	now := time.Now()
	since, until, err := options.times(now)
	if err != nil {
		return err
	}
	files := &outputs{}
	if options.html != "" {
		// Another ending could be that of a file which belay or a runtime reads.
		if filepath.Ext(options.html) != ".html" {
			return usageError("--html "+safe(options.html)+": the name says no page", "It ends in .html.")
		}
		if err := files.add(options.html, 0o600); err != nil {
			return err
		}
	}
	defer files.drop()
	report, err := a.readReport(ctx, alarms.Options{By: alarms.By(options.by), Now: until, Since: since, Until: until},
		options.html != "" || options.json)
	if err != nil {
		return err
	}
	err = files.write(func(string) ([]byte, error) { return reportPage(report, time.Local) })
	switch {
	case err != nil:
		return err
	case options.json:
		return a.printJSON(report)
	case options.html != "":
		fmt.Fprintf(a.Err, "Wrote %s: %s.\n", safe(options.html), reportHeadline(report.Activity))
		return nil
	}
	a.printAlarms(report.Report, since, until)
	return nil
}

// readReport reads the asks and blocks and, where all is wanted, what else happened.
func (a *App) readReport(ctx context.Context, options alarms.Options, all bool) (*eventsReport, error) {
	src, err := a.openEvents(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if options.Gone, _, err = src.Compacted(ctx); err != nil {
		return nil, recordsFailure(err)
	}
	report := new(eventsReport)
	if report.Report, err = alarms.Read(ctx, src, options); err != nil {
		return nil, recordsFailure(err)
	}
	if all {
		report.Activity, err = activity.Read(ctx, src,
			activity.Options{Since: options.Since, Until: options.Until, Gone: options.Gone, Location: time.Local})
		if err != nil {
			return nil, recordsFailure(err)
		}
	}
	return report, nil
}

// printAlarms prints a report for people: the rows, the days, and how far it reaches.
func (a *App) printAlarms(r *alarms.Report, since, until time.Time) {
	if len(r.Rows) == 0 {
		fmt.Fprintf(a.Err, "No ask and no block %s.\n", period(since, until))
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

// period says which time a report is about.
func period(since, until time.Time) string {
	if days := until.Sub(since).Hours() / 24; time.Since(until) < time.Minute && days >= 1 && days == math.Trunc(days) {
		return "in the last " + plural(int(days), "day")
	}
	return "from " + since.Local().Format(time.DateTime) + " to " + until.Local().Format(time.DateTime)
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
