package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/export"
	"github.com/belay-hooks/belay/internal/files"
)

// exportPage is how many events are read at once: even if each is as large as a
// record can be, the daemon's answer stays below what a client takes.
const exportPage = 50

type eventsExportOptions struct {
	eventFilter
	format string
	json   bool
	output string
	after  int64
}

func (a *App) eventsExportCmd() *cobra.Command {
	var options eventsExportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write events for other programs: JSON lines, OTLP logs, CEF",
		Long: `export writes all events that match the flags and are in the log when it starts,
oldest first, turns of hooks included. With --output the file appears when it is
complete, and not at all otherwise. To go on from an earlier export, give the
number of its last event to --after.`,
		Example: `  belay events export --format jsonl --output events.jsonl
  belay events export --format cef --since 24h
  belay events export --format otlp --after 4711`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsExport(cmd.Context(), options) },
	}
	options.all = true
	options.flags(cmd.Flags())
	cmd.Flags().StringVar(&options.format, "format", string(export.JSONL),
		"jsonl, otlp (OTLP/JSON logs, one request a line) or cef")
	cmd.Flags().BoolVar(&options.json, "json", false, "the same as --format jsonl")
	cmd.Flags().StringVarP(&options.output, "output", "o", "", "file to write (default: standard output)")
	cmd.Flags().Int64Var(&options.after, "after", 0, "only events with a larger number")
	return cmd
}

func (a *App) eventsExport(ctx context.Context, options eventsExportOptions) error {
	if options.json {
		if options.format != string(export.JSONL) {
			return usageError("--json is --format jsonl, and --format "+safe(options.format)+" was given", "Give one of them.")
		}
	}
	query, err := options.query(time.Now())
	if err != nil {
		return err
	}
	if options.after < 0 {
		return usageError("--after cannot be negative", "")
	}
	if _, err := export.New(export.Format(options.format), io.Discard, ""); err != nil {
		return usageError(fmt.Sprintf("--format: there is no format %q", safe(options.format)),
			"The formats are "+joined(export.Formats())+".")
	}
	src, err := a.openEvents(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	query.After = options.after
	if options.output == "" {
		_, err := a.exportTo(ctx, a.Out, src, query, options.format)
		return err
	}
	f, err := files.Create(options.output, files.Options{Perm: 0o600, Existing: true})
	if err != nil {
		return failureBy(err, "")
	}
	defer func() { _ = f.Discard() }() // nothing to do once it has been put in place
	n, err := a.exportTo(ctx, f, src, query, options.format)
	if err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return failureBy(err, "")
	}
	fmt.Fprintf(a.Err, "%s events are in %s.\n", count(n), safe(options.output))
	return nil
}

// exportTo writes the logged events and returns their number.
func (a *App) exportTo(ctx context.Context, to io.Writer, src events, query wire.Query,
	format string) (n int64, err error) {
	newest, err := src.Events(ctx, wire.Query{Newest: true, Limit: 1})
	if err != nil {
		return 0, recordsFailure(err)
	}
	if len(newest) == 0 {
		return 0, nil
	}
	out := bufio.NewWriter(to)
	w, err := export.New(export.Format(format), out, version())
	if err != nil {
		return 0, failureBy(err, "")
	}
	query.Before, query.Limit = newest[0].Seq+1, exportPage
	for {
		events, err := src.Events(ctx, query)
		if err != nil {
			return n, recordsFailure(err)
		}
		if err := w.Write(events); err != nil {
			return n, failureBy(err, "")
		}
		n += int64(len(events))
		if len(events) < exportPage {
			break
		}
		query.After = events[len(events)-1].Seq
	}
	if err := out.Flush(); err != nil {
		return n, failureBy(err, "")
	}
	return n, nil
}
