package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/fleet"
)

func (a *App) fleetCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "See all kernels that share a PostgreSQL",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.fleetStatusCmd())
	return cmd
}

type fleetStatusOptions struct {
	database databaseFlags
	silent   time.Duration
	watch    bool
	json     bool
}

const quietAfter = time.Minute

func (a *App) fleetStatusCmd() *cobra.Command {
	var options fleetStatusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how each kernel is, those in trouble first",
		Long: `status shows the kernels that share a PostgreSQL, those in trouble first. Each says itself which
version and policy it has, and which events are not there yet. It counts the agents that asked in
the last quarter of an hour. A kernel is flagged when another one has a newer version, or when
most of them decide by another policy.

What a kernel says of itself proves nothing: ` + "`belay events verify --fleet`" + ` verifies the logs. Exit 5
when a kernel is silent, blocks everything, or says what cannot be read.

With --watch it goes on until interrupted, and shows what changes: on a terminal in place, and
elsewhere the table again. With --json that is a line for each change. Numbers of events alone
are none.`,
		Example: `  belay fleet status
  belay fleet status --watch
  belay fleet status --dsn-file auditor.dsn --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.fleetStatus(cmd.Context(), &options) },
	}
	f := cmd.Flags()
	options.database.add(f, auditorsDSN)
	f.DurationVar(&options.silent, "silent", quietAfter, "how long a kernel may not be heard of")
	f.BoolVar(&options.watch, "watch", false, "go on until interrupted, and show what changes")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) fleetStatus(ctx context.Context, options *fleetStatusOptions) error {
	if options.silent <= 0 {
		return usageError("--silent takes a duration such as 1m", "")
	}
	db, err := a.openFleet(ctx, &options.database)
	if err != nil {
		return err
	}
	defer db.Close()
	if options.watch {
		return a.fleetWatch(ctx, db, options)
	}
	all, err := fleet.Look(ctx, db, options.silent)
	if err != nil {
		return fleetFailure(err)
	}
	if options.json {
		if err := a.printJSON(all); err != nil {
			return err
		}
	} else {
		a.printOverview(&all)
	}
	if all.Red > 0 {
		return exitWith(ExitDifferences)
	}
	return nil
}

func (a *App) printOverview(all *fleet.Overview) {
	if len(all.Kernels) == 0 {
		fmt.Fprintf(a.Err, "No kernel has written to the schema %s yet.\n", safe(all.Schema))
		return
	}
	colors := a.palette()
	t := newTable("KERNEL", "STATE", "VERSION", "POLICY", "EVENTS", "LAST EVENT", "LAG", "AGENTS", "HEARD OF", "HOST").
		alignRight(4, 6)
	for i := range all.Kernels {
		k := &all.Kernels[i]
		last := "-"
		if !k.Newest.IsZero() {
			last = k.Newest.Local().Format(time.DateTime)
		}
		t.row(safe(k.Name), conditionText(colors, k.State), flagged(k.Version, k.Outdated), flagged(policyText(k.Policy),
			k.Deviates),
			strconv.FormatInt(k.Events, 10), last, strconv.FormatInt(k.Lag, 10), agentsText(k.Agents), heardText(k.Heard),
			safe(k.Host))
	}
	t.print(a.Out, colors)
	for i := range all.Kernels {
		k := &all.Kernels[i]
		for _, why := range k.Why {
			fmt.Fprintf(a.Out, "%s: %s\n", safe(k.Name), oneLine(why, 300))
		}
		if k.Warnings > 0 {
			fmt.Fprintf(a.Out, "%s: %s; `belay doctor` on %s has more\n", safe(k.Name), plural(k.Warnings, "warning"),
				safe(k.Host))
		}
	}
}

// flagged marks what differs from the others.
func flagged(text string, differs bool) string {
	switch {
	case text == "":
		return "-"
	case differs:
		return safe(text) + " (!)"
	}
	return safe(text)
}

// policyText is enough of a digest to tell it from others.
func policyText(digest string) string {
	if _, hex, ok := strings.Cut(digest, ":"); ok && len(hex) > 8 {
		return hex[:8]
	}
	return digest
}

func agentsText(list []fleet.AgentsOfOne) string {
	var out []string
	for _, a := range list[:min(len(list), 3)] {
		out = append(out, fmt.Sprintf("%s %d", oneLine(a.Runtime, 20), a.Count))
	}
	if len(list) > 3 {
		out = append(out, "…")
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

func conditionText(colors palette, c fleet.Condition) string {
	switch {
	case c == fleet.Well:
		return colors.paint("32", string(c))
	case c.Red():
		return colors.paint("31;1", string(c))
	case c.Yellow():
		return colors.paint("33;1", string(c))
	}
	return colors.faint(string(c))
}
