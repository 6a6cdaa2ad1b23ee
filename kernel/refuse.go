package kernel

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// commitTimeout bounds a commit, whatever the caller's context says: a decision
// that was taken is recorded also when its caller has gone.
const commitTimeout = 15 * time.Second

// Refusal is an action that is blocked before any hook could be asked.
type Refusal struct {
	Invocation  phases.Invocation // as far as it is known; nothing in it needs to be valid
	Raw         []byte            // what came in; recorded as a keyed digest only
	Fault       *phases.Fault     // why
	Unblockable bool              // see InvokeOptions

	// Unread: Invocation was gathered from bytes that could not be read. Unblockable then
	// latches the session that they name. Bytes that name none latch nothing: garbage of
	// one process never holds every session of a runtime.
	Unread bool

	// Why is the kind of the latch; "" goes by the fault. Of holds the refused invocations, as far
	// as they were decoded: by them, a latch of belay's own making ends with its cause if no
	// enforcing hook would have judged them. Nil means Invocation, unless Unread.
	Why phases.LatchKind
	Of  []phases.Invocation
}

// latches reports whether the refusal has to hold a session, or where Invocation is valid
// and names none, what names none of its runtime. A session whose name would be recorded as another one
// is not held: the latch would be that other one's.
func (r *Refusal) latches() bool {
	s := r.Invocation.Session
	switch {
	case !r.Unblockable:
		return false
	case s != "":
		return phases.SafeLine(s, phases.MaxIDBytes) == s
	}
	return !r.Unread && r.Invocation.Validate() == nil
}

// Refuse records that an action was blocked because it could not be decided,
// such as a payload that does not decode, and answers the block. The error is
// the fault, or the one with which the store failed.
func (k *Kernel) Refuse(ctx context.Context, r Refusal) (phases.Verdict, error) {
	r = r.owned()
	ctx, seen := k.observe(ctx, r.Invocation)
	v, err := k.refuse(ctx, r)
	seen.decided(&v, err)
	return v, err
}

func (k *Kernel) refuse(ctx context.Context, refusal Refusal) (phases.Verdict, error) {
	ctx = context.WithoutCancel(ctx) // a caller that has gone changes no record
	refusal.Fault = orFault(refusal.Fault)
	refusal.Unblockable = refusal.Unblockable || refusal.Invocation.Phase == phases.Audit
	now := k.options.Clock.Now()
	inv := k.namesOnly(refusal.Invocation, now)
	if refusal.Invocation.ID == "" {
		refusal.Invocation.ID = inv.ID // of the note, too, if there is no record
	}
	if refusal.why() == phases.LatchOverload {
		return k.refuseSoon(ctx, inv, refusal, now)
	}
	v, f := k.recordRefusal(ctx, inv, refusal, now)
	if f != nil {
		return k.unrecorded(ctx, refusal.because(f))
	}
	return v, refusal.Fault
}

// recordRefusal commits the block that a refusal is answered with, and the latch that it
// asks for. inv has the names as they are recorded. A fault says that nothing was recorded.
func (k *Kernel) recordRefusal(ctx context.Context, inv phases.Invocation, r Refusal,
	now time.Time) (phases.Verdict, *phases.Fault) {
	verdict := k.blocked(inv, r)
	event := k.audit.Failure(&audit.Invocation{Invocation: inv, PolicyRevision: k.Revision()}, &verdict, r.Raw,
		k.options.NewID(now),
		now)
	b := Batch{Now: now, Events: []phases.Event{event}}
	if r.latches() {
		why, ends := k.latchFor(&inv, &r)
		ends = k.alone(ctx, &inv, ends)
		if why == phases.LatchOverload {
			k.overloaded.Store(true)
		}
		k.latch(&b, &event, why, ends)
	}
	if err := k.recoverGap(ctx, event.PolicyRevision); err != nil {
		return verdict, storeFault("the store cannot write", err)
	}
	receipt, err := k.commit(ctx, b)
	if err != nil {
		return verdict, storeFault("the record could not be written", err)
	}
	k.retained.markReady(inv.ID)
	verdict.Event = &phases.EventRef{Seq: receipt.First, ID: event.ID}
	return verdict, nil
}

func orFault(f *phases.Fault) *phases.Fault {
	switch {
	case f == nil:
		return phases.NewFault(phases.KindProtocol, "the action could not be decided", nil)
	case f.Kind == "" || f.Kind == phases.KindPolicy: // a failure never passes for a decision
		return phases.NewFault(phases.KindProtocol, f.Text, f)
	}
	return f
}

// refuseAfterPanic is Refuse for a kernel that has just failed: if that fails,
// too, there is still a block.
func (k *Kernel) refuseAfterPanic(ctx context.Context, r Refusal) (v phases.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = k.blocked(r.Invocation, r), r.Fault
		}
	}()
	return k.refuse(ctx, r)
}

// unrecorded answers a block without a record: the store is down. The block goes
// to the log and to the spool instead, from which a gap event is made later.
func (k *Kernel) unrecorded(ctx context.Context, refusal Refusal) (phases.Verdict, error) {
	inv := k.namesOnly(refusal.Invocation, k.options.Clock.Now())
	v := k.blocked(inv, refusal)
	k.options.Logger.LogAttrs(ctx, slog.LevelError, "blocked without a record",
		slog.String("invocation", v.ID), slog.String("phase", string(inv.Phase)), slog.String("runtime", inv.Runtime),
		slog.String("session", inv.Session), slog.String("reason", refusal.Fault.Text),
		slog.Any("cause", refusal.Fault.Cause))
	told := phases.NewFault(refusal.Fault.Kind, k.redactText(refusal.Fault.Text), nil)
	if !errors.Is(refusal.Fault, ErrClosed) {
		k.unhealthy.Store(&Health{Reason: told.Text})
	}
	inv.ID = v.ID
	k.spool.add(k.noteOf(inv, told, &refusal))
	k.retained.markReady(inv.ID)
	return v, refusal.Fault
}

// namesOnly keeps the names of an invocation, made safe: it may not have been valid.
func (k *Kernel) namesOnly(inv phases.Invocation, now time.Time) phases.Invocation {
	name := func(s string, max int) string { return phases.SafeLine(s, max) }
	out := phases.Invocation{
		ID: name(inv.ID, 36), Runtime: name(inv.Runtime, phases.MaxRuntimeBytes),
		Session: name(inv.Session, phases.MaxIDBytes),
		Agent:   name(inv.Agent, phases.MaxIDBytes), Run: name(inv.Run, phases.MaxIDBytes),
		User: name(inv.User, phases.MaxIDBytes),
	}
	if err := k.redactNames(&out); err != nil {
		out = phases.Invocation{ID: out.ID} // better no names than secrets
	}
	if inv.Phase.Valid() {
		out.Phase = inv.Phase
	}
	if len(out.ID) != 36 || strings.Trim(out.ID, "0123456789abcdef-") != "" {
		out.ID = k.options.NewID(now)
	}
	return out
}

// blocked returns a complete verdict that says no.
func (k *Kernel) blocked(inv phases.Invocation, r Refusal) phases.Verdict {
	v := phases.Verdict{
		ID: inv.ID, Phase: inv.Phase, Decision: phases.Block, Reason: phases.SafeText(r.Fault.Text, phases.MaxReasonBytes),
		Kind: r.Fault.Kind, DecidedBy: kernelName, Changed: []string{}, Metadata: phases.Metadata{}, Contexts: []string{},
		Artifacts: []phases.Artifact{}, Masked: []string{}, Hooks: []phases.HookReport{},
		PolicyRevision: k.Revision(), Enforced: phases.EnforcedDirect,
	}
	switch {
	case r.latches():
		v.Enforced = phases.EnforcedLatched
	case r.Unblockable:
		v.Enforced = phases.EnforcedNone // it has happened, and nothing says which session to hold
	}
	return v
}

// commit writes the batch and keeps the kernel's health.
func (k *Kernel) commit(ctx context.Context, b Batch) (Receipt, error) {
	patience := newPatience(ctx, commitTimeout)
	defer patience.end(context.Canceled)
	ctx = patience
	calm, ok := k.watch.Calm(k.Now())
	due := ok && len(b.Events) > 0 && k.pruneDue(b.Now)
	b.Calm = calm
	b.Prune = due
	receipt, err := k.options.Store.Commit(ctx, b)
	if due && err != nil {
		k.pruned.Store(nil) // with the next one
	}
	switch {
	case err == nil:
		k.unhealthy.Store(nil)
		if due {
			k.sweep(ctx)
		}
	case !errors.Is(err, ErrConflict) && !errors.Is(err, ErrUnavailable):
		err = errors.Join(ErrUnavailable, err)
	}
	return receipt, err
}

// pruneEvery is how often contents of runs that have expired are dropped, with a batch that is
// written anyway: its events cover the rows that remain. Expired runs are not shown in any case.
const pruneEvery = time.Hour

func (k *Kernel) pruneDue(now time.Time) bool {
	last := k.pruned.Load()
	if last != nil && now.Sub(*last) < pruneEvery {
		return false
	}
	next := now
	return k.pruned.CompareAndSwap(last, &next)
}

func (k *Kernel) sweep(ctx context.Context) {
	if err := k.SweepApprovals(ctx); err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "approvals that have run out could not be written down",
			slog.Any("error", err))
	}
}

// Latches returns the sessions that are latched, oldest first. The error is ErrUnavailable.
func (k *Kernel) Latches(ctx context.Context) ([]Latch, error) { return k.options.Store.Latches(ctx) }

// Events returns recorded events. The error is ErrUnavailable.
func (k *Kernel) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return k.options.Store.Events(ctx, q)
}
