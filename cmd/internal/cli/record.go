package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

type recordOptions struct {
	out      string
	from     string
	hooks    []string
	duration time.Duration
	count    int
	filter   eventFilter

	recordings string   // --recordings, of kept originals
	identities []string // --identity, that open them
	seal       sealFlags
	sign       orderFlags // of a daemon
	json       bool
}

// What `belay record --from` reads.
const (
	fromEvents = "events"
	fromKept   = "kept"
)

const recordFormats = "It is one of jsonl, claude-hooks, claude-transcript, events, kept."

// recordForms returns the words of recordFormats.
func recordForms() []string {
	return []string{"jsonl", "claude-hooks", "claude-transcript", fromEvents, fromKept}
}

func (a *App) recordCmd() *cobra.Command {
	var options recordOptions
	cmd := &cobra.Command{
		Use:   "record --out DIR [--from FORMAT [FILE]]",
		Short: "Record invocations with everything that they were decided from",
		Long: `record writes a recording: invocations with the configuration, every call of every hook and
its answer, the effects, fuel and memory. With it ` + "`belay replay`" + ` can run them again. It
holds originals, secrets included: it is sealed with age unless --unsafe-plaintext says otherwise,
and never kept in the state directory.

Without --from it records what a running daemon decides from now on, until --for or --count is
reached, or until it is interrupted. Where a reviewer is registered, that takes the reviewer's
signature. It asks for the passphrase on the terminal, or --statement brings what
` + "`belay reviewer sign record`" + ` wrote for the same flags. With --from it reads:

  jsonl              invocations in the wire form, one a line, or a session as ` + "`belay demo`" + ` plays it
  claude-hooks       payloads that Claude Code gave its hooks, one a line
  claude-transcript  a transcript of Claude Code
    events             the log; the recording is redacted and holds verdicts only
  kept               the log, with the originals that recordings: in belay.yaml
                     retains (or those in --recordings DIR); it replays exactly. Each
                     original has to be proven by the keyed digests of its event

record asks the hooks in belay.yaml about the first three, with a store of their own in
memory. It records nothing in the state directory, and runs no tool.`,
		Example: `  belay record keygen ~/belay-recordings.key
  belay record --out ~/recordings --recipient age1… --for 10m
  belay record --out ~/recordings --recipient age1… --from claude-transcript session.jsonl
  belay record --out ~/recordings --recipient age1… --from events --since 7d
  belay record --out ~/recordings --recipient age1… --from kept --identity KEY --session s-1`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := ""
			if len(args) == 1 {
				file = args[0]
			}
			return a.record(cmd.Context(), options, file)
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.out, "out", "", "directory for the recording; not the state directory")
	f.StringVar(&options.from, "from", "", "what to read: jsonl, claude-hooks, claude-transcript, events or kept")
	f.StringArrayVar(&options.hooks, "hook", nil,
		"with --from: add an unsigned hook: FILE.wasm[,priority=N][,config=FILE]")
	f.DurationVar(&options.duration, "for", 10*time.Minute, "of a daemon: how long")
	f.IntVar(&options.count, "count", 10_000, "of a daemon: how many invocations at most")
	options.seal.flags(f)
	options.sign.flags(f)
	options.filter.narrow(f, "with --from events or kept")
	options.filter.pick(f, "with --from events or kept")
	f.StringVar(&options.recordings, "recordings", "",
		"with --from kept: the directory of kept originals (default: that of belay.yaml)")
	f.StringArrayVar(&options.identities, "identity", nil,
		"with --from kept: open sealed recordings with the age keys of this file")
	f.BoolVar(&options.json, "json", false, "print JSON")
	cmd.AddCommand(a.recordKeygenCmd())
	return cmd
}

func (a *App) record(ctx context.Context, options recordOptions, file string) error {
	if options.from == "" && (file != "" || len(options.hooks) > 0) {
		return usageError("--from says what "+safe(file)+" is", recordFormats)
	}
	if options.from != fromKept && (options.recordings != "" || len(options.identities) > 0) {
		return usageError("--recordings and --identity belong to --from kept", "")
	}
	switch options.from {
	case "":
		return a.recordDaemon(ctx, options)
	case fromEvents, fromKept:
		if file != "" || len(options.hooks) > 0 {
			return usageError("--from "+options.from+" reads the record: no file, and no hook is asked", "")
		}
		if options.from == fromKept {
			return a.recordRetained(ctx, options)
		}
		return a.recordEvents(ctx, options)
	case recording.SourceLines, recording.SourceHooks, recording.SourceTranscript:
		return a.recordFrom(ctx, options, file)
	}
	return usageError(fmt.Sprintf("--from: %q is not known", safe(options.from)), recordFormats)
}

// recordFrom asks the hooks about what a file holds.
func (a *App) recordFrom(ctx context.Context, o recordOptions, file string) error {
	in, closeIn, err := a.open(ctx, file)
	if err != nil {
		return err
	}
	defer closeIn()
	f, err := a.createRecording(o.out, o.seal, localHeader(o.from))
	if err != nil {
		return err
	}
	if err := a.playInto(ctx, o, f, &lines{name: inputName(file), in: in}); err != nil {
		f.abandon()
		return err
	}
	return a.recorded(f, o.json)
}

func (a *App) playInto(ctx context.Context, o recordOptions, file *recordFile, lines *lines) error {
	recorder := recording.NewRecorder(file.Writer)
	host, err := a.openBench(ctx, o.hooks, recorder)
	if err != nil {
		return err
	}
	defer host.Close()
	switch o.from {
	case recording.SourceLines:
		err = playLines(ctx, host, lines)
	case recording.SourceHooks:
		err = playHooks(ctx, host, lines)
	default:
		lines.long = func() { file.Dropped(1) } // a transcript holds pictures, too
		err = playTranscript(ctx, host, lines)
	}
	if err == nil {
		err = recorder.Err()
	}
	if err == nil && file.Runs() == 0 {
		err = errors.New("there is nothing in it")
	}
	if err != nil {
		return failureBy(err, "The recording was not kept.")
	}
	return nil
}

// openBench opens the configuration with a store in memory.
func (a *App) openBench(ctx context.Context, specs []string, recorder *recording.Recorder) (*belay.Belay, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	var hooks []belay.AdHocHook
	for _, spec := range specs {
		h, err := parseHook(spec)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, h)
	}
	return a.openState(ctx, dir, belay.Options{Hooks: hooks, SlowCompile: true, InMemory: true, Recorder: recorder})
}

// playLines plays invocations in the wire form, and lines of a session.
func playLines(ctx context.Context, host *belay.Belay, in *lines) error {
	return in.each(ctx, func(line []byte) error {
		if req, err := phases.DecodeRequest(line); err == nil {
			v, err := host.InvokeWith(ctx, req.Invocation, optionsOf(req))
			if v.Decision == "" {
				return err
			}
			return nil
		} else if !bytes.Contains(line, []byte(`"invocation"`)) && !bytes.Contains(line, []byte(`"event"`)) {
			return err
		}
		return play(ctx, host, bytes.NewReader(line), func(played) error { return nil })
	})
}

func playHooks(ctx context.Context, host *belay.Belay, in *lines) error {
	return in.each(ctx, func(line []byte) error { return playPayload(ctx, host, line) })
}

func playPayload(ctx context.Context, host *belay.Belay, payload []byte) error {
	return dispatch.Runtime(ctx, host, claudecode.New(), payload, adapters.Options{}).Err
}

// lines is a file that is read line by line.
type lines struct {
	name string // for errors
	in   io.Reader
	long func() // takes note of a line that is too long and passed over; nil: it is an error
}

// each calls do for every line that is not blank; an error names the file and the line.
func (l *lines) each(ctx context.Context, do func([]byte) error) error {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for n := 1; ctx.Err() == nil; n++ {
		line, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, errLongLine) && l.long != nil:
			l.long()
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("%s:%d: %w", l.name, n, err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		if err := do(line); err != nil {
			return fmt.Errorf("%s:%d: %w", l.name, n, err)
		}
	}
	return ctx.Err()
}

// recordEvents makes a recording of logged events.
func (a *App) recordEvents(ctx context.Context, o recordOptions) error {
	o.filter.typ = string(phases.EventVerdict)
	query, err := o.filter.query(time.Now())
	if err != nil {
		return err
	}
	src, err := a.lookAtRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	file, err := a.createRecording(o.out, o.seal, recording.Header{Source: recording.SourceEvents, Redacted: true})
	if err != nil {
		return err
	}
	err = eachEvent(ctx, src, query, func(e *phases.Event) error {
		run, ok := recording.RunOfEvent(e)
		if !ok {
			file.Dropped(1)
			return nil
		}
		return file.AddRun(&run)
	})
	if err == nil && file.Runs() == 0 {
		err = errors.New("no event matches that holds what was decided about")
	}
	if err != nil {
		file.abandon()
		return recordsFailure(err)
	}
	fmt.Fprintln(a.Err, "belay: made from events: redacted, and without what the hooks called")
	return a.recorded(file, o.json)
}

// eachEvent calls each for all events of a query, oldest first.
func eachEvent(ctx context.Context, src records, query wire.Query, each func(*phases.Event) error) error {
	query.Limit = 1000
	for {
		page, err := src.Events(ctx, query)
		if err != nil {
			return err
		}
		for i := range page {
			if err := each(&page[i]); err != nil {
				return err
			}
			query.After = page[i].Seq
		}
		if len(page) < query.Limit {
			return nil
		}
	}
}

func (a *App) recordKeygenCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key that opens recordings, and print who to seal them for",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, to, err := recording.NewIdentity()
			if err != nil {
				return err
			}
			if err := writeNew(args[0], []byte(key), 0o600); errors.Is(err, fs.ErrExist) {
				return failure(safe(args[0])+" is there already",
					"A key that is lost opens nothing any more: it is not overwritten.")
			} else if err != nil {
				return failureBy(err, "")
			}
			to = strings.TrimSpace(to)
			return a.tell(*asJSON, map[string]any{"file": args[0], "recipient": to}, a.Out, "%s\n", to)
		},
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

func playTranscript(ctx context.Context, host *belay.Belay, in *lines) error {
	var t claudecode.Transcript
	return in.each(ctx, func(line []byte) error {
		payloads, err := t.Line(line)
		if err != nil {
			return err
		}
		for _, p := range payloads {
			if err := playPayload(ctx, host, p); err != nil {
				return err
			}
		}
		return nil
	})
}
