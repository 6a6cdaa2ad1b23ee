package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

func adapterFor(name string) (adapters.Adapter, error) {
	ad, ok := hookcmd.Runtimes()[name]
	if !ok || !ad.Table().Reads(adapters.FormExit) {
		return nil, usageError(fmt.Sprintf("--runtime: %q is not known", safe(name)),
			"Known: "+strings.Join(hookcmd.RuntimeNames(), ", ")+".")
	}
	return ad, nil
}

// runtimeOf looks for `eval … --runtime NAME` before any flag is parsed, since a
// flag that does not parse must be answered in that runtime's form, too. With
// --verdict the answer is in belay's own form, and so are its failures. A shell that completes such a
// command asks for words, and no runtime waits.
func runtimeOf(args []string) (name string, asked bool) {
	if completes(args) || !slices.Contains(args, "eval") || slices.Contains(args, "--help") || slices.Contains(args,
		"-h") {
		return "", false
	}
	if slices.Contains(args, "--verdict") || slices.Contains(args, "--verdict=true") {
		return "", false
	}
	return lookup(args, "--runtime")
}

// valueOf finds a flag's value by hand, for when flags may not parse.
func valueOf(args []string, flag string) string {
	value, _ := lookup(args, flag)
	return value
}

// lookup is valueOf for flags where "" is not the same as none.
func lookup(args []string, flag string) (value string, given bool) {
	for i, s := range args {
		if v, ok := strings.CutPrefix(s, flag+"="); ok {
			value, given = v, true
		} else if s == flag && i+1 < len(args) {
			value, given = args[i+1], true
		}
	}
	return value, given
}

// runtimeCall is what happened in `eval --runtime`, kept so that a failure at any
// point can still be answered in the event's own form.
type runtimeCall struct {
	payload []byte
	read    bool          // reading was tried
	unread  *phases.Fault // why it was not read as a whole
	opts    adapters.Options
	answer  *adapters.Answer
	late    *lateCall
}

// mainRuntime answers an agent runtime: a decision is complete JSON with exit 0,
// every failure is the event's block form, and the exit status is 0 or 2.
func (a *App) mainRuntime(ctx context.Context, name string, args []string) (code int) {
	adapter, err := adapterFor(name)
	if err != nil {
		a.report(err)
		return ExitUsage // 2 with text on standard error is what most runtimes take for a block
	}
	// The reader of the answer may have gone. That must not end the process by
	// a signal, which runtimes take for a hook without an opinion.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	late := &lateCall{app: a, ad: adapter, args: args, out: a.Out}
	opts := hookcmd.OptionsFor(adapter, valueOf(args, "--for"), a.Getenv)
	late.seen.Store(&runtimeCall{opts: opts})
	within := hookcmd.Deadline(adapter, opts.Event)
	grace := hookcmd.GraceOf(within)
	within -= grace
	if d, err := time.ParseDuration(valueOf(args, "--wait")); err == nil && d > 0 {
		within += min(d, maxWait) // a person decides, or the time for that is over
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	code, _ = hookcmd.InTime(ctx, grace, a.word, func() int {
		defer a.finish()
		return a.workRuntime(ctx, adapter, args, late)
	}, late.answer)
	return code
}

// workRuntime is what mainRuntime does, as far as it ends.
func (a *App) workRuntime(ctx context.Context, adapter adapters.Adapter, args []string, late *lateCall) (code int) {
	call := &runtimeCall{opts: hookcmd.OptionsFor(adapter, valueOf(args, "--for"), a.Getenv), late: late}
	defer func() {
		if p := recover(); p != nil {
			cause := phases.NewFault(phases.KindProtocol, "belay failed", fmt.Errorf("panic: %v", p))
			fmt.Fprintf(a.Err, "belay: internal error: %v\n", p)
			code = a.writeAnswer(adapter, call, adapter.Failure(call.payload, call.opts, cause))
		}
	}()
	// The answer is all that may stand on standard output; whatever else a command
	// would print there (help, say) goes to standard error.
	out := a.Out
	a.Out = a.Err
	err := a.execute(context.WithValue(ctx, callKey{}, call), args)
	a.Out = out
	if err == nil && call.answer != nil {
		return a.writeAnswer(adapter, call, *call.answer)
	}
	if err == nil {
		err = phases.NewFault(phases.KindLoad, "belay was not asked to decide anything", nil)
	}
	a.report(err)
	fault := call.unread
	if fault == nil {
		fault = startFault(err)
	}
	if call.payload == nil && !call.read {
		a.salvage(ctx, adapter, args, call)
	}
	return a.writeAnswer(adapter, call, a.refuseRuntime(ctx, adapter, call, args, fault))
}

// startFault is the failure of a belay that did not come as far as deciding.
func startFault(err error) *phases.Fault {
	if f := phases.FaultOf(err); f != nil {
		return f
	}
	if errors.Is(err, kernel.ErrRollback) {
		return phases.NewFault(phases.KindRollback, "the database went back behind its high-water mark", err)
	}
	if errors.Is(err, kernel.ErrUnavailable) {
		return phases.NewFault(phases.KindStore, "the store cannot be opened", err)
	}
	return phases.NewFault(phases.KindLoad, "belay could not be started", err)
}

// refuseRuntime answers a payload that nothing could be asked about, and leaves a
// record of that, with the latch that holds the session where the answer does not:
// in the store if there is one, else in its spool.
func (a *App) refuseRuntime(ctx context.Context, adapter adapters.Adapter, call *runtimeCall, args []string,
	fault *phases.Fault) adapters.Answer {
	answer := adapter.Failure(call.payload, call.opts, fault)
	if _, elsewhere := lookup(args, "--connect"); elsewhere {
		return answer // the state directory is another user's
	}
	if a.state == "" {
		a.state = valueOf(args, "--state") // the flags may not have been parsed
	}
	if on, err := a.onMachine(); on || err != nil {
		return answer // no file of this user stands in for the machine's daemon
	}
	dir, err := a.stateDir()
	if err != nil {
		return answer
	}
	if _, err := os.Stat(filepath.Join(dir, "keys")); err != nil {
		return answer // belay is not set up there
	}
	ctx = context.WithoutCancel(ctx)
	if !errors.Is(fault, kernel.ErrUnavailable) {
		host, err := belay.Open(ctx, dir, belay.Options{NoHooks: true, Logger: a.logger(), Signatures: sigstore.New})
		if err == nil {
			defer host.Close()
			return dispatch.RefuseRuntime(ctx, host, adapter, call.payload, call.opts, fault).Answer
		}
	}
	r := kernel.Refusal{Invocation: phases.Invocation{Runtime: adapter.Runtime(), Session: answer.Session}, Fault: fault,
		Unblockable: call.opts.NeedsLatch(answer), Unread: true}
	if r.Of, err = adapters.Invocations(adapter, call.payload, call.opts); err != nil {
		r.Why = phases.LatchPayload
	}
	if err := belay.Spool(dir, r); err != nil {
		fmt.Fprintf(a.Err, "belay: this block is not logged: %s\n", safe(err.Error()))
	}
	return answer
}

type callKey struct{}

// salvage reads the payload for a failure that came before it was read: the
// event's name in it picks the form of the answer, and its session is the one to hold.
func (a *App) salvage(ctx context.Context, ad adapters.Adapter, args []string, call *runtimeCall) {
	if f, ok := a.In.(*os.File); ok && isTerminal(f) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.patience())
	defer cancel()
	_ = a.readPayload(ctx, valueOf(args, "--event"), ad, call) // what has come is enough
}

// readPayload reads the runtime's payload into call, also as far as it came beside an error.
func (a *App) readPayload(ctx context.Context, file string, ad adapters.Adapter, call *runtimeCall) error {
	call.read = true
	in, closeIn, err := a.open(ctx, file)
	if err != nil {
		return err
	}
	defer closeIn()
	p, err := hookcmd.ReadPayload(ctx, in, ad)
	call.payload, call.opts.Scan, call.opts.Cut = p.Bytes, p.Scan, p.Cut
	if err != nil {
		call.unread = hookcmd.Unread(ad, err)
	}
	if call.late != nil {
		known := *call
		call.late.seen.Store(&known)
	}
	return inputProblem(file, err)
}

func (a *App) patience() time.Duration { return cmp.Or(a.Patience, hookcmd.PayloadPatience) }

func (a *App) writeAnswer(ad adapters.Adapter, call *runtimeCall, ans adapters.Answer) int {
	if !a.word.Take() {
		return ExitUsage // the process has answered
	}
	ans.Stderr = redact.Label(ans.Stderr) // a reason may quote the payload
	return hookcmd.Write(a.Out, a.Err, ad, call.payload, call.opts, ans)
}

// evalRuntime answers one payload of a runtime.
func (a *App) evalRuntime(ctx context.Context, options evalOptions) error {
	adapter, err := adapterFor(options.runtime)
	if err != nil {
		return err
	}
	call, _ := ctx.Value(callKey{}).(*runtimeCall)
	if call == nil {
		call = &runtimeCall{}
	}
	file := options.event
	if file == "" {
		file = options.file
	}
	call.opts = hookcmd.OptionsFor(adapter, options.forEvent, a.Getenv)
	call.opts.User = a.Getenv("USER")
	reading, cancel := context.WithTimeout(ctx, a.patience())
	err = a.readPayload(reading, file, adapter, call)
	cancel()
	if err != nil {
		return err
	}
	host, err := a.openAsker(ctx, options)
	if err != nil {
		return err
	}
	defer host.Close()
	out := host.Runtime(ctx, adapter, call.payload, call.opts)
	for end, n := time.Now().Add(options.wait), 0; options.wait > 0 && n < maxQuestions; n++ {
		id := waitsFor(out.Verdicts)
		if id == "" || !a.decided(ctx, id, time.Until(end)) {
			break
		}
		// The daemon may be another one by now, or gone.
		again, err := a.openAsker(ctx, options)
		if err != nil {
			return err
		}
		out = again.Runtime(ctx, adapter, call.payload, call.opts)
		again.Close()
	}
	if f := phases.FaultOf(out.Err); f != nil && f.Cause != nil { // the runtime gets no more than the fault's text
		fmt.Fprintf(a.Err, "belay: %s\n", redact.Label(safe(f.Cause.Error())))
	}
	for _, n := range out.Answer.Notes {
		fmt.Fprintf(a.Err, "belay: note: %s\n", redact.Label(safe(n)))
	}
	if !options.verdict {
		call.answer = &out.Answer
		return nil
	}
	code := ExitOK
	for _, v := range out.Verdicts {
		if err := a.printJSON(v); err != nil {
			return err
		}
		code = max(code, severity(v))
	}
	return exitWith(fromSeverity(code))
}

// severity orders decisions for the exit status of several steps: block, ask, allow.
func severity(v phases.Verdict) int {
	switch v.Decision {
	case phases.Allow:
		return 0
	case phases.Ask:
		return 1
	}
	return 2
}

func fromSeverity(n int) int { return []int{ExitOK, ExitPending, ExitBlocked}[n] }
