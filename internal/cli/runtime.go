package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// runtimes returns the adapters by the name that --runtime takes.
func runtimes() map[string]adapters.Adapter {
	return map[string]adapters.Adapter{claudecode.Runtime: claudecode.Adapter{}}
}

func adapterFor(name string) (adapters.Adapter, error) {
	ad, ok := runtimes()[name]
	if !ok {
		return nil, usageError(fmt.Sprintf("--runtime: %q is not known", safe(name)), "Known: "+strings.Join(runtimeNames(), ", ")+".")
	}
	return ad, nil
}

func runtimeNames() []string {
	var names []string
	for n := range runtimes() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// runtimeOf looks for `eval … --runtime NAME` before any flag is parsed, since a
// flag that does not parse must be answered in that runtime's form, too. With
// --verdict the answer is in belay's own form, and so are its failures.
func runtimeOf(args []string) string {
	if !slices.Contains(args, "eval") || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return ""
	}
	if slices.Contains(args, "--verdict") || slices.Contains(args, "--verdict=true") {
		return ""
	}
	return valueOf(args, "--runtime")
}

// valueOf finds a flag's value by hand, for when flags may not parse.
func valueOf(args []string, flag string) string {
	value := ""
	for i, s := range args {
		if v, ok := strings.CutPrefix(s, flag+"="); ok {
			value = v
		} else if s == flag && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// runtimeCall is what happened in `eval --runtime`, kept so that a failure at any
// point can still be answered in the event's own form.
type runtimeCall struct {
	payload []byte
	opts    adapters.Options
	answer  *adapters.Answer
}

// mainRuntime answers an agent runtime: a decision is complete JSON with exit 0,
// every failure is the event's block form, and the exit status is 0 or 2.
func (a *App) mainRuntime(ctx context.Context, name string, args []string) (code int) {
	ad, err := adapterFor(name)
	if err != nil {
		a.report(err)
		return ExitUsage // 2 with text on standard error is what most runtimes take for a block
	}
	call := &runtimeCall{opts: adapters.Options{Event: valueOf(args, "--for")}}
	defer func() {
		if p := recover(); p != nil {
			cause := phases.NewFault(phases.KindProtocol, "belay failed", fmt.Errorf("panic: %v", p))
			fmt.Fprintf(a.Err, "belay: internal error: %v\n", p)
			code = a.writeAnswer(ad.Failure(call.payload, call.opts, cause))
		}
	}()
	// The answer is all that may stand on standard output; whatever else a command
	// would print there (help, say) goes to standard error.
	out := a.Out
	a.Out = a.Err
	err = a.execute(context.WithValue(ctx, callKey{}, call), args)
	a.Out = out
	if err == nil && call.answer != nil {
		return a.writeAnswer(*call.answer)
	}
	if err == nil {
		err = phases.NewFault(phases.KindLoad, "belay was not asked to decide anything", nil)
	}
	fmt.Fprintf(a.Err, "belay: %s\n", safe(err.Error()))
	if call.payload == nil {
		call.payload = a.salvage(args)
	}
	if phases.FaultOf(err) == nil {
		err = phases.NewFault(phases.KindLoad, "belay could not be started", err)
	}
	return a.writeAnswer(ad.Failure(call.payload, call.opts, err))
}

type callKey struct{}

// salvage reads the payload for a failure that came before it was read: the
// event's name in it picks the form of the answer.
func (a *App) salvage(args []string) []byte {
	in, closeIn, err := a.open(valueOf(args, "--event"))
	if err != nil {
		return nil
	}
	defer closeIn()
	if f, ok := in.(*os.File); ok && isTerminal(f) {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput))
	if err != nil {
		return nil
	}
	return b
}

// writeAnswer gives the runtime its answer. If even that fails the exit status
// must not read as a decision.
func (a *App) writeAnswer(ans adapters.Answer) int {
	if ans.Stderr != "" {
		fmt.Fprintln(a.Err, strings.TrimRight(ans.Stderr, "\n"))
	}
	if len(ans.Stdout) > 0 {
		if _, err := a.Out.Write(append(bytes.TrimRight(ans.Stdout, "\n"), '\n')); err != nil {
			fmt.Fprintln(a.Err, "belay: the answer could not be written")
			return ExitUsage
		}
	}
	return ans.Exit
}

// evalRuntime answers one payload of a runtime.
func (a *App) evalRuntime(ctx context.Context, o evalOptions) error {
	ad, err := adapterFor(o.runtime)
	if err != nil {
		return err
	}
	call, _ := ctx.Value(callKey{}).(*runtimeCall)
	if call == nil {
		call = &runtimeCall{}
	}
	file := o.event
	if file == "" {
		file = o.file
	}
	if call.payload, err = a.readInput(file); err != nil {
		return err
	}
	host, err := a.openAsker(ctx, o)
	if err != nil {
		return err
	}
	defer host.Close()
	opts := adapters.Options{User: a.Getenv("USER"), Event: o.forEvent}
	call.opts = opts
	out := host.Runtime(ctx, ad, call.payload, opts)
	for _, n := range out.Answer.Notes {
		fmt.Fprintf(a.Err, "belay: note: %s\n", safe(n))
	}
	if !o.verdict {
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
