package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/alone"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// evalOptions are the flags of `belay eval`.
type evalOptions struct {
	file       string   // -f
	hooks      []string // --hook FILE[,priority=N][,config=FILE]
	lines      bool
	runtime    string
	runtimeSet bool   // it was given, if only as ""
	event      string // --event
	forEvent   string // --for
	connect    string // --connect: a daemon of another user
	verdict    bool   // --verdict: our form even with --runtime
	holds      bool   // --holds-scopes
	unsafeOpen bool
	slow       bool // --slow-compile
	wait       time.Duration
	record     string
	seal       sealFlags
	recorder   *recording.Recorder
	atText     string // --at
	atSet      bool
	at         *time.Time // nil: the host's clock, and recorded
}

func (a *App) evalCmd() *cobra.Command {
	var options evalOptions
	cmd := &cobra.Command{
		Use:   "eval [flags] < invocation.json",
		Short: "Ask the hooks about one action, or about one a line",
		Long: `eval reads an invocation as JSON, runs the chain of hooks on it, records the event
and prints the verdict. For what is no valid invocation it prints why, in its place.

  exit 0  allow: the action may go on, perhaps changed
  exit 1  an error
  exit 2  wrong usage
  exit 3  block
  exit 4  ask: a person has to decide

With --at it only shows what hooks would say at another time. It reads leases, approvals
and state. It records, uses up and carries out nothing, and asks no daemon.

The action is held to its scopes. With --holds-scopes, or "holds_scopes": true in the invocation,
you hold it to the verdict's scopes yourself. A note of the verdict says what you must enforce.
"parent_scopes" is what the parent of a child agent may touch.

With --runtime it takes that agent runtime's own payload. It answers in that runtime's own form:
its JSON, its exit status, its way of saying no.`,
		Example: `  belay eval < pre_tool.json
  belay eval --hook guard.wasm,priority=50,config=guard.json -f pre_tool.json
  belay eval --at 2026-12-24T23:00:00Z < pre_tool.json
  belay eval --lines < session.jsonl > verdicts.jsonl
  belay eval --runtime claude-code --event PreToolUse.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.runtimeSet, options.atSet = cmd.Flags().Changed("runtime"), cmd.Flags().Changed("at")
			return a.eval(cmd.Context(), options)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&options.file, "file", "f", "", "read the invocation from this file instead of standard input")
	flags.StringArrayVar(&options.hooks, "hook", nil,
		"add an unsigned hook for this call only: FILE.wasm[,priority=N][,config=FILE]")
	flags.BoolVar(&options.lines, "lines", false, "read one invocation a line and answer one verdict a line")
	flags.StringVar(&options.runtime, "runtime", "", "take and give the form of an agent runtime: "+
		strings.Join(hookcmd.RuntimeNames(), ", "))
	flags.StringVar(&options.event, "event", "", "with --runtime: the runtime's payload (default standard input)")
	flags.StringVar(&options.forEvent, "for", "",
		"with --runtime: the event that this command is registered for; another one is refused")
	flags.StringVar(&options.connect, "connect", "",
		"with --runtime: ask a daemon of another user, by url, tls.crt and invoke.token in this directory")
	flags.BoolVar(&options.verdict, "verdict", false,
		"with --runtime: print belay's verdict instead of the runtime's answer")
	flags.BoolVar(&options.holds, "holds-scopes", false,
		"you hold the action to the verdict's scopes yourself: belay does not check it against them")
	flags.BoolVar(&options.slow, "slow-compile", false,
		"accept hooks that take up to 6 s to compile, as standard Go does (default: 1 s)")
	flags.DurationVar(&options.wait, "wait", 0,
		"wait so long for a person's decision when one is asked for, then ask again (up to 24h)")
	flags.StringVar(&options.atText, "at", "",
		"dry run: hooks read this time (RFC 3339); nothing is recorded, used up or carried out")
	flags.StringVar(&options.record, "record", "",
		"also write a recording into this directory, which is not the state directory")
	options.seal.flags(flags)
	flags.BoolVar(&options.unsafeOpen, "unsafe-fail-open", false,
		"UNSAFE, for debugging: a hook that fails counts as no opinion")
	return alwaysJSON(cmd)
}

func (a *App) eval(ctx context.Context, options evalOptions) error {
	switch {
	case options.runtimeSet && options.runtime == "":
		_, err := adapterFor(options.runtime)
		return err
	case options.wait < 0 || options.wait > maxWait:
		return usageError("--wait must be from 0s to 24h", "")
	case options.wait > 0 &&
		(options.lines || options.record != "" || len(options.hooks) > 0 || options.unsafeOpen || options.slow):
		return usageError("--wait goes with one invocation and the installed hooks", "")
	case options.holds && options.runtime != "":
		return usageError("--holds-scopes and --runtime do not go together",
			"What a runtime can hold is known to its adapter.")
	case options.lines && options.runtime != "":
		return usageError("--lines and --runtime do not go together", "")
	case (options.event != "" || options.forEvent != "" || options.verdict) && options.runtime == "":
		return usageError("--event, --for and --verdict need --runtime", "")
	case options.connect != "" &&
		(options.runtime == "" || a.state != "" || len(options.hooks) > 0 || options.unsafeOpen || options.slow ||
			options.wait > 0 || options.atSet):
		return usageError("--connect goes with --runtime, --for and --event, and with nothing else",
			"What a daemon of another user decides depends on its own hooks and state.")
	case options.record != "" && options.runtime != "":
		return usageError("--record and --runtime do not go together",
			"`belay record --from claude-hooks` records payloads of a runtime.")
	case options.record == "" && options.seal.set():
		return usageError("--recipient, --passphrase and --unsafe-plaintext need --record", "")
	case options.file != "" && options.event != "":
		return usageError("give the payload by --event or by -f, not both", "")
	}
	if options.atSet {
		if err := options.parseAt(); err != nil {
			return err
		}
	}
	if !options.lines && options.wait == 0 {
		alone.CollectLate()
	}
	if options.runtime != "" {
		return a.evalRuntime(ctx, options)
	}
	if options.record != "" {
		return a.evalRecorded(ctx, options)
	}
	return a.evalAsk(ctx, options)
}

// evalRecorded is eval with a recording of it. Only what this process decides can be
// recorded, so that no daemon is asked.
func (a *App) evalRecorded(ctx context.Context, o evalOptions) error {
	f, err := a.createRecording(o.record, o.seal, localHeader(recording.SourceEval))
	if err != nil {
		return err
	}
	o.recorder = recording.NewRecorder(f.Writer)
	answer := a.evalAsk(ctx, o)
	if f.Runs() == 0 {
		f.abandon()
		return answer
	}
	if err := errors.Join(o.recorder.Err(), a.recorded(f, false)); err != nil {
		return errors.Join(answer, failureBy(err, "The actions were decided; they could not be recorded."))
	}
	return answer
}

func (a *App) evalAsk(ctx context.Context, options evalOptions) error {
	host, err := a.openAsker(ctx, options)
	if err != nil {
		return err
	}
	defer host.Close()
	if options.lines {
		in, closeIn, err := a.open(ctx, options.file)
		if err != nil {
			return err
		}
		defer closeIn()
		return a.evalLines(ctx, host, in)
	}
	src, err := a.readInvocation(ctx, options.file)
	if err != nil {
		return err
	}
	a.now.Store(&src)
	verdict, err := host.Wire(ctx, src)
	if problem, ok := undecided(src, verdict, err); ok {
		if !a.word.Take() {
			return exitWith(ExitError) // the process has said that it is too late
		}
		if err := a.printJSON(problem); err != nil {
			return err
		}
	}
	if d := new(phases.DecodeError); errors.As(err, &d) {
		return failure("the invocation is not valid: "+safe(d.Error()), invalidHint(src))
	} else if p := new(client.Error); errors.As(err, &p) && p.Code == wire.CodeInvocation {
		return failureBy(err, "The action counts as blocked. docs/runtimes/generic.md shows the form.")
	} else if err != nil {
		return failureBy(err, "The action counts as blocked.")
	}
	if verdict, err = a.afterDecision(ctx, options, src, verdict); err != nil {
		return failureBy(err, "The action counts as blocked.")
	}
	if !a.word.Take() {
		return exitWith(ExitError) // the process has said that it is too late
	}
	if err := a.printJSON(verdict); err != nil {
		return err
	}
	return a.afterVerdict(verdict)
}

// afterVerdict says on standard error what a verdict alone does not, and turns
// the decision into an exit status. A failure that blocked is a block, not an error:
// the caller has a complete verdict.
func (a *App) afterVerdict(v phases.Verdict) error {
	for _, n := range v.Notes {
		fmt.Fprintf(a.Err, "belay: note: %s\n", safe(n))
	}
	return exitWith(exitOf(v))
}

func exitOf(v phases.Verdict) int {
	switch v.Decision {
	case phases.Allow:
		return ExitOK
	case phases.Ask:
		return ExitPending
	}
	return ExitBlocked
}

func (a *App) openForEval(ctx context.Context, options evalOptions) (*belay.Belay, error) {
	if err := a.ownState(); err != nil {
		return nil, err
	}
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	var hooks []belay.AdHocHook
	for _, spec := range options.hooks {
		h, err := parseHook(spec)
		if err != nil {
			return nil, err
		}
		if module, err := readModule(h.Path); err == nil { // an error is told where the hook is loaded
			a.noteStale(h.Path, module)
		}
		hooks = append(hooks, h)
	}
	tel := a.telemetry(ctx, a.logger(), flushEval)
	if options.at != nil { // a dry run counts in no figure
		return a.openState(ctx, dir, belay.Options{Hooks: hooks, SlowCompile: options.slow, DryRun: true})
	}
	opts := belay.Options{Hooks: hooks, SlowCompile: options.slow, UnsafeFailOpen: options.unsafeOpen,
		Observer: tel.Observer()}
	if options.recorder != nil {
		opts.Recorder = options.recorder
	}
	return a.openState(ctx, dir, opts)
}

// invalidHint says what an invocation looks like, or what is wrong with the file as a whole.
func invalidHint(src []byte) string {
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return "The action counts as blocked. The file is UTF-16: save it as UTF-8."
	}
	return "The action counts as blocked. docs/runtimes/generic.md shows the form."
}

// openState opens the state directory and says what to do when that fails.
func (a *App) openState(ctx context.Context, dir string, o belay.Options) (*belay.Belay, error) {
	if o.NoHooks { // only looked at, or changed: it has to be there
		if err := existing(dir); err != nil {
			return nil, err
		}
	}
	if o.Logger == nil {
		o.Logger = a.logger()
	}
	if o.Files == nil {
		o.Files = a.Files
	}
	o.Compiler, o.Signatures, o.Version = a.Compiler, sigstore.New, version()
	host, err := belay.Open(ctx, dir, o)
	switch {
	case err == nil:
		return host, nil
	case errors.Is(err, belay.ErrNoConfig):
		return nil, failureBy(err, "`belay init` writes a first configuration; `--hook FILE.wasm` tries a hook without one.")
	}
	if errors.Is(err, belay.ErrConfig) {
		return nil, failureBy(err, "Correct it in "+safe(dir)+"; every action is blocked until then.")
	}
	return nil, databaseFailure(dir, err)
}

// parseHook parses FILE.wasm[,priority=N][,config=FILE].
func parseHook(spec string) (belay.AdHocHook, error) {
	parts := strings.Split(spec, ",")
	hook := belay.AdHocHook{Path: parts[0]}
	bad := func(text string) (belay.AdHocHook, error) {
		return hook, usageError(fmt.Sprintf("--hook %s: %s", safe(spec), text),
			"The form is FILE.wasm[,priority=N][,config=FILE].")
	}
	if hook.Path == "" {
		return bad("no file is named")
	}
	for _, p := range parts[1:] {
		key, value, _ := strings.Cut(p, "=")
		switch key {
		case "priority":
			n, err := strconv.Atoi(value)
			if err != nil {
				return bad("priority takes a whole number")
			}
			hook.Priority = n
		case "config":
			b, err := readLimited(value, strictyaml.MaxSize)
			if err != nil {
				return hook, failureBy(err, "")
			}
			hook.Config = b
		default:
			return bad(fmt.Sprintf("%q is not known", safe(key)))
		}
	}
	hook.Name = strings.TrimSuffix(filepath.Base(hook.Path), ".wasm")
	return hook, nil
}

// printJSON writes one value: indented for a person, on one line for a program.
func (a *App) printJSON(v any) error {
	b, err := encodeJSON(v, a.Terminal)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(append(b, '\n'))
	return err
}

func encodeJSON(v any, indent bool) ([]byte, error) {
	opts := []json.Options{json.Deterministic(true)}
	if indent {
		opts = append(opts, jsontext.WithIndent("  "))
	}
	return json.Marshal(v, opts...)
}
