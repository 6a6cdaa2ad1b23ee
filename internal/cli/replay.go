package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/harness/recording"
	"github.com/belay-hooks/belay/harness/replay"
	"github.com/belay-hooks/belay/harness/report"
	"github.com/belay-hooks/belay/phases"
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
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay RECORDING…",
		Short: "Run recorded invocations again, and compare what comes out",
		Long: `replay runs the invocations of recordings again, in the sandbox, with the answers
that were recorded: nothing that a hook asks for reaches the world. It exits 0 when
nothing differs and 5 when something does.

Alone it compares exactly: every call and its answer, effects, verdicts, fuel and
memory. With --hook (another version of a hook, or one more) or --policy (another
belay.yaml) it says what that would have changed: which decisions, which final
actions, what it would have cost.

With --observe it runs nothing and reads no recording: it says what the hooks that
are bound in observe mode would have decided about live traffic, from the record.`,
		Example: `  belay replay ~/recordings --identity ~/belay-recordings.key
  belay replay session.rec --hook guard-2.0.0.wasm --report flips.html
  belay replay session.rec --policy ./belay.yaml --compare budget --report out.xml
  belay replay --observe --since 7d`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd.Context(), o, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.hooks, "hook", nil, "hold this module against the recorded one: FILE.wasm[,name=BINDING][,config=FILE][,priority=N][,allow=all]")
	f.StringVar(&o.policy, "policy", "", "hold this belay.yaml, with the modules and the trust.yaml beside it, against the recorded configuration")
	f.StringVar(&o.compare, "compare", "", "what counts: exact (default), decision (default with --hook and --policy) or budget")
	f.StringArrayVar(&o.modules, "module", nil, "a module file that a recording may name by its digest")
	f.StringArrayVar(&o.identities, "identity", nil, "a file of age identities that opens sealed recordings")
	f.StringArrayVar(&o.reports, "report", nil, reportUsage)
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.BoolVar(&o.observe, "observe", false, "report on hooks in observe mode, from stored events")
	o.filter.narrow(f, "with --observe")
	return cmd
}

func (a *App) replay(ctx context.Context, o replayOptions, args []string) error {
	out, err := reports(o.reports)
	if err != nil {
		return err
	}
	defer out.drop()
	if o.observe {
		if len(args) > 0 || len(o.hooks) > 0 || o.policy != "" || o.compare != "" {
			return usageError("--observe reads the record: it takes no recording and no candidate", "")
		}
		return a.replayShadow(ctx, o, out)
	}
	if o.filter != (eventFilter{}) {
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
	modules, err := modulesBeside(o.modules, files)
	if err != nil {
		return err
	}
	opts := replay.Options{Bench: bench, Mode: replay.Mode(o.compare), Modules: modules}
	name, revision, err := candidateOf(bench, &opts, o)
	if err != nil {
		return err
	}
	first, err := replay.New(opts)
	if err != nil {
		return replayFailure(err)
	}
	b := report.NewBuilder(string(first.Mode()), name)
	if revision != "" {
		b.Now(revision)
	}
	for _, f := range files {
		if err := a.replayFile(ctx, o, opts, b, f); err != nil {
			return replayFailure(err)
		}
	}
	return a.reportReplay(b, o, out)
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
func (a *App) replayBench() (*belay.Bench, error) {
	dir, err := a.stateDir()
	if err == nil {
		if _, err := os.Stat(dir); err != nil {
			dir = ""
		}
	}
	b, err := belay.OpenBench(belay.BenchOptions{Dir: dir, Logger: a.logger()})
	if err != nil {
		return nil, failureBy(err, "`belay doctor` says what is wrong and what to do about it.")
	}
	return b, nil
}

// recordingFiles lists files, and the recordings in directories, in order of their names.
func recordingFiles(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		fi, err := os.Stat(arg)
		if err != nil {
			return nil, failureBy(err, "")
		}
		if !fi.IsDir() {
			out = append(out, arg)
			continue
		}
		for _, pattern := range []string{"*.rec", "*.rec.age"} {
			found, err := filepath.Glob(filepath.Join(arg, pattern))
			if err != nil {
				return nil, failureBy(err, "")
			}
			out = append(out, found...)
		}
	}
	if len(out) == 0 {
		return nil, usageError("there is no recording", "`belay record` makes one. Recordings end in .rec or .rec.age.")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// modulesBeside reads the named files, and the modules that lie beside recordings.
func modulesBeside(named, recordings []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	add := func(path string) error {
		m, err := os.ReadFile(path)
		if err != nil {
			return failureBy(err, "")
		}
		out[belay.DigestOf(m)] = m
		return nil
	}
	for _, path := range named {
		if err := add(path); err != nil {
			return nil, err
		}
	}
	dirs := map[string]bool{}
	for _, r := range recordings {
		dirs[filepath.Dir(r)] = true
	}
	for dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
		if err != nil {
			return nil, failureBy(err, "")
		}
		for _, path := range found {
			if err := add(path); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// candidateOf reads what is held against the recordings, and returns its name for
// the report and the revision of its configuration.
func candidateOf(bench *belay.Bench, opts *replay.Options, o replayOptions) (name, revision string, err error) {
	if len(o.hooks) == 0 && o.policy == "" {
		return "", "", nil
	}
	c := &replay.Candidate{Policy: o.policy}
	opts.Candidate = c
	var names []string
	for _, spec := range o.hooks {
		h, shown, err := candidateHook(bench, spec)
		if err != nil {
			return "", "", err
		}
		c.Hooks, names = append(c.Hooks, h), append(names, shown)
	}
	if o.policy != "" {
		cfg, _, err := bench.Policy(o.policy)
		if err != nil {
			return "", "", failureBy(err, "Correct "+safe(o.policy)+".")
		}
		return "another configuration", cfg.Revision, nil
	}
	return strings.Join(names, ", "), "", nil
}

// candidateHook parses FILE.wasm[,name=BINDING][,config=FILE][,priority=N][,allow=all].
func candidateHook(bench *belay.Bench, spec string) (h replay.Hook, shown string, err error) {
	var rest []string
	for i, p := range strings.Split(spec, ",") {
		key, value, _ := strings.Cut(p, "=")
		switch {
		case i > 0 && key == "name":
			h.Name = value
		case i > 0 && key == "allow" && value == "all":
			h.AllowAll = true
		case i > 0 && key == "allow":
			return h, "", usageError("--hook "+safe(spec)+": allow takes all", "Without it the hook may do what the operator allowed the recorded one.")
		default:
			rest = append(rest, p)
		}
	}
	ad, err := parseHook(strings.Join(rest, ","))
	if err != nil {
		return h, "", err
	}
	if h.Module, err = os.ReadFile(ad.Path); err != nil {
		return h, "", failureBy(err, "")
	}
	h.Config = ad.Config
	if slices.ContainsFunc(rest, func(p string) bool { return strings.HasPrefix(p, "priority=") }) {
		h.Priority = &ad.Priority
	}
	name, version := bench.NameOf(h.Module)
	if h.Name == "" {
		if h.Name = name; name == "" {
			h.Name = ad.Name
		}
	}
	return h, strings.TrimSpace(h.Name + " " + version), nil
}

// replayFile replays one recording into the report.
func (a *App) replayFile(ctx context.Context, o replayOptions, opts replay.Options, b *report.Builder, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return failureBy(err, "")
	}
	defer f.Close()
	in, err := a.unseal(f, path, o.identities)
	if err != nil {
		return err
	}
	rd, err := recording.NewReader(in, path)
	if err != nil {
		return err
	}
	b.Begin(rd.Header())
	err = replay.All(ctx, opts, rd, func(res *replay.Result) error {
		b.Add(res)
		return nil
	})
	if err != nil {
		return err
	}
	for _, revision := range rd.Revisions() {
		b.Base(revision)
		if o.policy == "" {
			b.Now(revision)
		}
	}
	b.End(rd.Digest(), rd.End().Dropped)
	return nil
}

// unseal opens a sealed recording.
func (a *App) unseal(f io.Reader, path string, files []string) (io.Reader, error) {
	in, how := recording.Look(f)
	var ids recording.Identities
	switch how {
	case recording.Plain:
		return in, nil
	case recording.ForPassphrase:
		p, err := a.recordingPassphrase(false)
		if err != nil {
			return nil, err
		}
		if ids, err = recording.PassphraseIdentities(p); err != nil {
			return nil, err
		}
	default:
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				return nil, failureBy(err, "")
			}
			more, err := recording.ParseIdentities(src)
			if err != nil {
				return nil, failureBy(fmt.Errorf("%s: %w", file, err), "")
			}
			ids = append(ids, more...)
		}
	}
	out, err := recording.Unseal(in, path, ids)
	if err != nil && len(ids) == 0 {
		return nil, failureBy(err, "Give the key's file with --identity FILE.")
	}
	return out, err
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
	case errors.As(err, &r):
		return failureBy(r, "Nothing of it counts: what was read before that place may have been changed, too.")
	}
	return failureBy(err, "")
}

// replayShadow reports on observing hooks.
func (a *App) replayShadow(ctx context.Context, o replayOptions, out *outputs) error {
	results, source, err := a.shadow(ctx, o.filter)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		fmt.Fprintln(a.Err, "No hook in observe mode has seen anything that is on record. `mode: observe` in belay.yaml binds one.")
	}
	b := report.NewBuilder(report.ModeShadow, "hooks in observe mode")
	b.Begin(recording.Header{Source: recording.SourceEvents, Redacted: true})
	for _, r := range results {
		b.Add(r)
	}
	b.End(source, 0)
	return a.reportReplay(b, o, out)
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
