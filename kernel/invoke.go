package kernel

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// This file follows one invocation from the caller to its verdict: InvokeWith copies it,
// invokeOn receives it under one configuration, decide tries until its record is written,
// and attempt runs the hooks. The second half of an attempt, from the hooks' verdict to
// the released one, is finish.go.

// maxAttempts bounds the attempts of an invocation whose reads others keep changing.
const maxAttempts = 4

// kernelName stands for the kernel itself in DecidedBy.
const kernelName = "belay"

// invocation is one invocation on its way through the kernel. One goroutine uses it, apart
// from the hooks that run ahead (chain.ahead).
type invocation struct {
	kernel      *Kernel
	snap        *snapshot // the configuration, from the first attempt to the last
	options     InvokeOptions
	observation observation
	recorder    recording
	inv         phases.Invocation // as received
	checked     phases.Checked    // what is known of inv
	seed        [32]byte
	at          leases.Instant // the kernel's clocks at the beginning
	session     wire.Session
	carries     bool // the session has a name, so that metadata is stored for its run
	queued      bool // of the attempt: a hook asks whose questions are not for the caller to put

	parentBudget parentBudget     // of the hook that asked for the invocation
	call         *toolCall        // the hook's tool call that a pre_tool invocation decides; nil for events of a runtime
	memory       memory           // replies to the calls of its hooks, for the next attempt
	secrets      Redactor         // for everything that is stored of it; nil until it is first needed
	builder      audit.Builder    // of its record, with secrets; see audit
	input        *audit.Input     // of the attempt
	inputOf      audit.Invocation // of the attempt, as its record says it
	inputRoom    audit.Input
	claim        *claim   // to go first, from the second attempt on
	told         toldCall // of the attempt: what was said about the call before
	mismatch     mismatch // of the attempt: what is wrong with calls that have run
	awaiting     awaiting // of the attempt: which results did not come
}

// Invoke decides one invocation; see InvokeWith.
func (k *Kernel) Invoke(ctx context.Context, inv phases.Invocation) (phases.Verdict, error) {
	return k.InvokeWith(ctx, inv, InvokeOptions{})
}

// InvokeWith decides one invocation and returns when the answer is recorded.
//
// The verdict is always complete, and a caller acts on the verdict alone. A non-nil error
// comes only with a block, when something failed. It is a *phases.Fault for errors.As. For
// errors.Is it is ErrUnavailable or ErrConflict when the store failed, and ErrClosed after
// Close.
//
// If ctx ends before the answer is written, the answer is a block, and the record says so.
// A batch that the store already has cannot be taken back: its verdict is the answer.
//
// InvokeWith copies its arguments first. The verdict shares no memory with them or with the
// kernel: Verdict.Action is the action that was decided on, even if the caller reuses its
// buffer.
func (k *Kernel) InvokeWith(ctx context.Context, inv phases.Invocation, o InvokeOptions) (phases.Verdict, error) {
	inv, o = own(inv, o)
	ctx, observation := k.observe(ctx, inv)
	verdict, err := k.invoke(ctx, inv, o, observation)
	observation.decided(&verdict, err)
	return verdict, err
}

// invoke refuses a caller that speaks for a hook: only the kernel itself does that.
func (k *Kernel) invoke(ctx context.Context, inv phases.Invocation, o InvokeOptions,
	observation observation) (phases.Verdict, error) {
	o.Unblockable = o.Unblockable || inv.Phase == phases.Audit // the event has happened, even if it is not valid
	if _, ok := inv.Metadata[CallerKey]; ok && !o.OnBehalf {
		err := errors.New("the metadata key " + CallerKey + " is the kernel's own")
		return k.refuse(ctx, Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.latches(), Unread: true,
			Fault: phases.NewFault(phases.KindProtocol, err.Error(), err)})
	}
	return k.invokeOn(ctx, inv, o, observation, nil)
}

// invokeOn decides an invocation under the configuration of the moment. A panic of the
// kernel becomes a block. call, if not nil, is the tool call that waits for the verdict.
func (k *Kernel) invokeOn(ctx context.Context, inv phases.Invocation, options InvokeOptions, observation observation,
	call *toolCall) (verdict phases.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			fault := phases.NewFault(phases.KindProtocol, "the kernel failed", fmt.Errorf("panic: %v", p))
			k.options.Logger.LogAttrs(ctx, slog.LevelError, "panic in the kernel", slog.Any("panic", p),
				slog.String("stack", string(debug.Stack())))
			verdict, err = k.refuseAfterPanic(ctx,
				Refusal{Invocation: inv, Raw: inv.Action, Fault: fault, Unblockable: options.latches()})
		}
	}()
	parent := budgetOf(ctx, k)
	snap := k.snapshotFor(parent)
	if snap == nil {
		fault := phases.NewFault(phases.KindLoad, "the kernel is closed", ErrClosed)
		return k.unrecorded(ctx, Refusal{Invocation: inv, Fault: fault, Unblockable: options.latches()})
	}
	defer k.releaseSnapshot(ctx, snap)
	i := &invocation{kernel: k, snap: snap, options: options, observation: observation, at: k.at(ctx),
		parentBudget: parent, call: call}
	if refusal := i.receive(&inv); refusal != nil {
		return k.refuse(ctx, *refusal)
	}
	return i.decide(ctx)
}

// receive takes in what the caller sent, and completes it in place: a refusal after a panic
// has the same id and names. A refusal says why the invocation cannot be decided.
func (i *invocation) receive(inv *phases.Invocation) *Refusal {
	k := i.kernel
	checked, err := inv.Check()
	if err := errors.Join(err, i.options.checkClock()); err != nil {
		return &Refusal{Invocation: *inv, Raw: inv.Action, Unblockable: i.options.latches(), Unread: true,
			Fault: phases.NewFault(phases.KindProtocol, "the invocation is not valid: "+err.Error(), err)}
	}
	if err := k.redactNames(inv); err != nil {
		return &Refusal{Invocation: *inv, Raw: inv.Action, Unblockable: i.options.latches(), Fault: phases.FaultOf(err)}
	}
	if inv.ID == "" {
		inv.ID = k.options.NewID(i.at.Wall)
	}
	i.setClock(inv)
	if i.options.Seed != nil {
		i.seed = *i.options.Seed
	} else {
		rand.Read(i.seed[:]) // never fails: the runtime ends the process instead
	}
	i.inv, i.checked = *inv, checked
	i.recorder = k.startRecording(&i.inv)
	i.session = wire.Session{Runtime: inv.Runtime, Session: inv.Session}
	i.carries = inv.Session != ""
	return nil
}

// decide tries until the record of the invocation is written. An attempt that rests on
// something that has changed begins anew.
func (i *invocation) decide(ctx context.Context) (phases.Verdict, error) {
	defer func() { i.kernel.claims.end(i.claim) }()
	defer i.kernel.retained.abandon(i.inv.ID)
	i.kernel.tellClock(ctx, i.kernel.watch.Look(i.at))
	i.judgeFirst(ctx)
	for attempt := 1; ; attempt++ {
		verdict, err := i.attempt(ctx, attempt)
		if err == nil || !errors.Is(err, ErrConflict) {
			return verdict, err
		}
		if attempt == maxAttempts {
			return i.refuse(ctx, storeFault("what the decision rests on kept changing", err))
		}
	}
}

// attempt reads the state of the run, asks the hooks and commits the verdict. ErrConflict
// means that the attempt wrote nothing and that its verdict may not be released.
func (i *invocation) attempt(ctx context.Context, n int) (phases.Verdict, error) {
	if n == 2 && !insideTurn(ctx, i.kernel) {
		i.claim = i.kernel.claims.stake(ctx)
	}
	if fault := gaveUp(ctx); fault != nil {
		return i.refuse(ctx, fault)
	}
	if err := i.kernel.recoverGap(ctx, i.snap.revision); errors.Is(err, ErrConflict) {
		return phases.Verdict{}, err // the refusal after the last attempt leaves one note
	} else if err != nil {
		return i.unrecorded(ctx, storeFault("the store cannot write", err))
	}
	whole := context.WithoutCancel(ctx)
	run, latch, err := i.read(whole)
	if err == nil {
		latch, err = i.kernel.liftEnded(ctx, i.session, latch)
	}
	if errors.Is(err, ErrConflict) {
		return phases.Verdict{}, err
	}
	if err != nil {
		return i.refuse(ctx, storeFault("the store could not be read", err))
	}
	i.recorder.restart()
	i.inputOf = audit.Invocation{Invocation: i.inv, Checked: i.checked, Tool: i.checked.Tool(&i.inv),
		PolicyRevision: i.snap.revision, Carried: run.Metadata}
	i.input = &i.inputRoom
	i.input.Begin(&i.inputOf)
	chain, err := i.newChain(run.Metadata)
	if err != nil {
		return i.refuse(ctx, phases.NewFault(phases.KindProtocol, "the invocation is not valid", err))
	}
	if latch != nil && !i.options.Unblockable {
		chain.latched = latch
	} else {
		chain.run(ctx)
	}
	return i.finish(ctx, whole, chain, run, latch)
}

// read fetches the stored state that the verdict depends on: the session's latch and the
// metadata of the run.
func (i *invocation) read(ctx context.Context) (RunState, *Latch, error) {
	var run RunState
	store := i.kernel.options.Store
	latch, err := store.Latch(ctx, i.session)
	if err == nil && i.carries {
		run, err = store.RunState(ctx, i.inv.RunKey(), i.calmTime())
	}
	if err == nil {
		err = run.Metadata.Validate()
	}
	if err == nil {
		err = i.readCall(ctx)
	}
	if err == nil {
		err = i.readAwaited(ctx)
	}
	return run, latch, err
}

// gaveUp returns a fault if the caller's context has ended, else nil. Such a caller gets
// nothing but a block.
func gaveUp(ctx context.Context) *phases.Fault {
	if err := ctx.Err(); err != nil {
		return phases.NewFault(phases.KindDeadline, "the caller gave up before the action was decided", err)
	}
	return nil
}

// refuse records that the invocation could not be decided, and answers a block.
func (i *invocation) refuse(ctx context.Context, fault *phases.Fault) (phases.Verdict, error) {
	return i.kernel.refuse(ctx,
		Refusal{Invocation: i.inv, Raw: i.inv.Action, Fault: fault, Unblockable: i.options.latches()})
}

// unrecorded answers a block although no record can be written.
func (i *invocation) unrecorded(ctx context.Context, fault *phases.Fault) (phases.Verdict, error) {
	return i.kernel.unrecorded(ctx, Refusal{Invocation: i.inv, Fault: fault, Unblockable: i.options.latches()})
}
