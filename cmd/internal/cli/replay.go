package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/report"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

type replayOptions struct {
	hooks      []string
	modules    []string
	policy     string
	compare    string
	identities []string
	reports    []string
	json       bool
	observe    bool
	filter     eventFilter
}

func (a *App) replayCmd() *cobra.Command {
	var options replayOptions
	cmd := &cobra.Command{
		Use:   "replay RECORDING…",
		Short: "Run recorded invocations again, and compare what comes out",
		Long: `replay runs the invocations of recordings again, in the sandbox, with the answers
that were recorded: nothing that a hook asks for reaches the world. It exits 0 when
nothing differs and 5 when something does.

Alone it compares exactly: every call and its answer, effects, verdicts, fuel and
memory. With --hook it takes another version of a hook, or one more; with --policy another
belay.yaml. It then says which decisions and final actions that would have changed,
and what it would have cost.

With --observe it runs nothing and reads no recording. It says, from the log, what the hooks bound
in observe mode would have decided about live traffic.`,
		Example: `  belay replay ~/recordings --identity ~/belay-recordings.key
  belay replay session.rec --hook guard-2.0.0.wasm --report flips.html
  belay replay session.rec --policy ./belay.yaml --compare budget --report out.xml
  belay replay --observe --since 7d`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd.Context(), options, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&options.hooks, "hook", nil,
		"hold this module against the recorded one: FILE.wasm or builtin:NAME[,name=BINDING][,config=FILE][,priority=N][,allow=all]")
	f.StringVar(&options.policy, "policy", "",
		"hold this belay.yaml, with the modules and the trust.yaml beside it, against the recorded configuration")
	f.StringVar(&options.compare, "compare", "",
		"what counts: exact (default), decision (default with --hook and --policy) or budget")
	f.StringArrayVar(&options.modules, "module", nil, "a module file that a recording may name by its digest")
	f.StringArrayVar(&options.identities, "identity", nil, "a file of age identities that opens sealed recordings")
	f.StringArrayVar(&options.reports, "report", nil, reportUsage)
	f.BoolVar(&options.json, "json", false, "print the report as JSON")
	f.BoolVar(&options.observe, "observe", false, "report on hooks in observe mode, from stored events")
	options.filter.narrow(f, "with --observe")
	return cmd
}

func (a *App) replay(ctx context.Context, options replayOptions, args []string) error {
	out, err := reports(options.reports)
	if err != nil {
		return err
	}
	defer out.drop()
	if options.observe {
		if len(args) > 0 || len(options.hooks) > 0 || options.policy != "" || options.compare != "" {
			return usageError("--observe reads the record: it takes no recording and no candidate", "")
		}
		return a.replayShadow(ctx, options, out)
	}
	if options.filter != (eventFilter{}) {
		return usageError("--since, --until, --session and --runtime belong to --observe", "")
	}
	files, err := recordingFiles(args)
	if err != nil {
		return err
	}
	bench, err := a.replayBench()
	if err != nil {
		return err
	}
	defer bench.Close()
	modules, err := modulesBeside(options.modules, files)
	if err != nil {
		return err
	}
	opts := replay.Options{Bench: bench, Mode: replay.Mode(options.compare), Modules: modules}
	name, revision, err := candidateOf(bench, &opts, options)
	if err != nil {
		return err
	}
	first, err := replay.New(opts)
	if err != nil {
		return replayFailure(err)
	}
	text := report.NewBuilder(string(first.Mode()), name)
	if revision != "" {
		text.Now(revision)
	}
	runs := 0
	for _, f := range files {
		n, err := a.replayFile(ctx, options, opts, text, f)
		if err != nil {
			return replayFailure(err)
		}
		runs += n
	}
	if runs == 0 {
		return failure("there is no invocation in it: nothing was replayed", "That nothing differs would say nothing.")
	}
	return a.reportReplay(text, options, out)
}

// reportReplay prints and writes what came out.
func (a *App) reportReplay(b *report.Builder, o replayOptions, files *outputs) error {
	r, err := b.Report()
	if err != nil {
		return failureBy(err, "")
	}
	return a.conclude(r, files, o.json, func() { a.printReport(r) }, !r.Same())
}

// replayBench is a bench on the state directory where there is one.
func (a *App) replayBench() (*loader.Bench, error) {
	dir, err := a.stateDir()
	if err == nil {
		if statedir.Exists(dir) != nil {
			dir = ""
		}
	}
	b, err := loader.OpenBench(loader.BenchOptions{Dir: dir, Compiler: a.Compiler, Logger: a.logger(),
		Signatures: sigstore.New})
	if err != nil {
		return nil, failureBy(err, "`belay doctor` says what is wrong and what to do about it.")
	}
	return b, nil
}

// replayFile replays one recording into the report, and says how many invocations it holds.
func (a *App) replayFile(ctx context.Context, o replayOptions, opts replay.Options, text *report.Builder,
	path string) (int, error) {
	f, err := openFile(path)
	if err != nil {
		return 0, failureBy(err, "")
	}
	defer f.Close()
	in, err := a.unseal(f, path, o.identities)
	if err != nil {
		return 0, err
	}
	rd, err := recording.NewReader(in, path)
	if err != nil {
		return 0, err
	}
	again, err := text.Replay(ctx, opts, rd)
	if err != nil {
		return 0, err
	}
	if again {
		fmt.Fprintf(a.Err, "belay: %s holds the same recording as another file: it counts once\n", safe(path))
	}
	return rd.Runs(), nil
}

// replayFailure says what to do about a replay that could not be made.
func replayFailure(err error) error {
	var x *exitError
	var e *replay.Error
	var r *recording.Error
	switch {
	case errors.As(err, &x):
		return err
	case errors.As(err, &e):
		return failureBy(e, e.Hint)
	case errors.Is(err, recording.ErrSealed) && errors.As(err, &r):
		return failureBy(r, "It is opened with --identity FILE, or with $BELAY_RECORDING_PASSPHRASE, as it was sealed.")
	case errors.Is(err, recording.ErrVersion) && errors.As(err, &r):
		return failureBy(r, "Replay it with the belay that recorded it.")
	case errors.As(err, &r):
		return failureBy(r, "Nothing of it counts: what was read before that place may have been changed, too. `belay record` writes recordings.")
	}
	return failureBy(err, "")
}

// replayShadow reports on observing hooks.
func (a *App) replayShadow(ctx context.Context, options replayOptions, out *outputs) error {
	text := report.NewBuilder(report.ModeShadow, "hooks in observe mode")
	text.Begin(recording.Header{Source: recording.SourceEvents, Redacted: true})
	seen := false
	source, err := a.shadow(ctx, options.filter, func(r *replay.Result) {
		seen = true
		text.Add(r)
	})
	if err != nil {
		return err
	}
	if !seen {
		fmt.Fprintln(a.Err,
			"No hook in observe mode has seen anything that is in the log. `mode: observe` in belay.yaml binds one.")
	}
	text.End(source, 0)
	return a.reportReplay(text, options, out)
}

// decisions of a side, for people.
func sideText(s report.Side) string {
	out := string(s.Decision)
	if s.By != "" {
		out += " by " + s.By
	}
	if s.Kind != "" && s.Kind != phases.KindPolicy {
		out += " (" + string(s.Kind) + ")"
	}
	if s.Reason != "" {
		out += ": " + s.Reason
	}
	return out
}
