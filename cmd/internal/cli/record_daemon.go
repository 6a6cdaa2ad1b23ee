package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// recordDaemon records what a daemon decides. The daemon hands originals to this
// process only, which seals them before they reach a disk.
func (a *App) recordDaemon(ctx context.Context, options recordOptions) error {
	if options.filter != (eventFilter{}) {
		return usageError(
			"--since, --session, --phase and the like pick events: they belong to --from events and --from kept", "")
	}
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	if daemon == nil {
		return failure("no daemon serves the state directory",
			"Start one with `belay serve`, record with `belay eval --record DIR`, or read a file with --from.")
	}
	defer daemon.Close()
	to, err := a.recordTo(ctx, daemon, options)
	if err != nil {
		return err
	}
	file, err := a.createRecording(options.out, options.seal, localHeader(recording.SourceDaemon))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	stream, err := daemon.Record(ctx, options.duration, options.count, to)
	if err != nil {
		file.abandon()
		return recordsFailure(err)
	}
	defer stream.Close()
	fmt.Fprintf(a.Err, "belay: recording for %s, %d invocations at most; interrupt to end it\n", options.duration,
		options.count)
	cut := copyRecording(file, stream)
	if cut != nil && file.Err() == nil {
		file.Cut() // the daemon has not reported its dropped invocations
	}
	if ctx.Err() != nil {
		cut = nil // the person has ended it
	}
	if file.Runs() == 0 {
		file.abandon()
		if cut != nil {
			return failureBy(cut, "Nothing came until then, and nothing was kept.")
		}
		return failure("nothing was decided in that time", "")
	}
	if err := a.recorded(file, options.json); err != nil || cut == nil {
		return err
	}
	return failureBy(cut, "What came until then was kept. What was decided after that is not in it.")
}

// copyRecording takes over invocations until the stream ends.
func copyRecording(file *recordFile, stream io.Reader) error {
	rd, err := recording.NewReader(stream, "daemon")
	if err != nil {
		return err
	}
	for {
		run, chain, err := rd.Next()
		if errors.Is(err, io.EOF) {
			file.Dropped(rd.End().Dropped)
			return nil
		}
		if err != nil {
			return err
		}
		if run.Chain, err = file.AddChain(chain); err == nil {
			err = file.AddRun(run)
		}
		if err != nil {
			return err
		}
	}
}

// recordTo says where the recording goes, with the reviewer's order where one is needed.
func (a *App) recordTo(ctx context.Context, src records, o recordOptions) (*client.RecordTo, error) {
	w, err := a.recordWish(ctx, src, o)
	if err != nil {
		return nil, err
	}
	order, err := a.order(o.sign, func() (wish, error) { return w, nil })
	if err != nil {
		return nil, err
	}
	return &client.RecordTo{Destination: w.args.(kernel.RecordOrder).Destination, Statement: order}, nil
}

// recordWish is the order to record a daemon's decisions. Its destination names
// the directory and the recipients.
func (a *App) recordWish(ctx context.Context, src records, options recordOptions) (wish, error) {
	dir, err := a.recordingDir(options.out)
	if err != nil {
		return wish{}, err
	}
	to := struct {
		Dir        string   `json:"dir"`
		Recipients []string `json:"recipients"`
		Passphrase bool     `json:"passphrase"`
		Plaintext  bool     `json:"plaintext"`
	}{dir, nil, options.seal.passphrase, options.seal.plaintext}
	for _, r := range options.seal.recipients {
		if b, err := readLimited(r, 64<<10); err == nil { // a file of keys: the keys count
			r = string(b)
		}
		to.Recipients = append(to.Recipients, strings.TrimSpace(r))
	}
	b, err := json.Marshal(&to)
	if err != nil {
		return wish{}, failureBy(err, "")
	}
	digest, err := phases.Digest(b)
	if err != nil {
		return wish{}, failureBy(err, "")
	}
	st, err := src.Status(ctx)
	if err != nil {
		return wish{}, recordsFailure(err)
	}
	seconds := int64((options.duration + time.Second - 1) / time.Second)
	text := fmt.Sprintf("Record originals, secrets included: %d invocations at most within %d s, into %s, for %s",
		options.count,
		seconds, dir, strings.Join(to.Recipients, " "))
	if options.seal.plaintext {
		text += "in PLAIN TEXT"
	}
	return wish{verb: queue.VerbRecord, store: st.Store,
		args: kernel.RecordOrder{Seconds: seconds, Count: int64(options.count), Destination: digest}, text: text}, nil
}
