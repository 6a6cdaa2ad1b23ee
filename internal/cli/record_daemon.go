package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/belay-hooks/belay/harness/recording"
)

// recordDaemon records what a daemon decides. The daemon hands originals to this
// process only, which seals them before they reach a disk.
func (a *App) recordDaemon(ctx context.Context, o recordOptions) error {
	if o.filter != (eventFilter{}) {
		return usageError("--since, --session, --phase and the like pick events: they belong to --from events and --from kept", "")
	}
	c, err := a.daemon()
	if err != nil {
		return err
	}
	if c == nil {
		return failure("no daemon serves the state directory", "Start one with `belay serve`, record with `belay eval --record DIR`, or read a file with --from.")
	}
	defer c.Close()
	f, err := a.createRecording(o.out, o.seal, localHeader(recording.SourceDaemon))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	stream, err := c.Record(ctx, o.duration, o.count)
	if err != nil {
		f.abandon()
		return recordsFailure(err)
	}
	defer stream.Close()
	fmt.Fprintf(a.Err, "belay: recording for %s, %d invocations at most; interrupt to end it\n", o.duration, o.count)
	cut := copyRecording(f, stream)
	if cut != nil && f.Err() == nil {
		f.Cut() // the daemon has not said what it dropped
	}
	if ctx.Err() != nil {
		cut = nil // the person has ended it
	}
	if f.Runs() == 0 {
		f.abandon()
		if cut != nil {
			return failureBy(cut, "Nothing came until then, and nothing was kept.")
		}
		return failure("nothing was decided in that time", "")
	}
	if err := a.recorded(f); err != nil || cut == nil {
		return err
	}
	return failureBy(cut, "What came until then was kept. What was decided after that is not in it.")
}

// copyRecording takes over invocations until the stream ends.
func copyRecording(f *recordFile, stream io.Reader) error {
	rd, err := recording.NewReader(stream, "daemon")
	if err != nil {
		return err
	}
	for {
		run, chain, err := rd.Next()
		if errors.Is(err, io.EOF) {
			f.Dropped(rd.End().Dropped)
			return nil
		}
		if err != nil {
			return err
		}
		if run.Chain, err = f.AddChain(chain); err == nil {
			err = f.AddRun(run)
		}
		if err != nil {
			return err
		}
	}
}
