package kernel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/leases/clock"
	"github.com/belay-hooks/belay/phases"
)

// maxAttempts is how often an invocation runs when what it had read was changed meanwhile.
const maxAttempts = 4

// kernelName stands for the kernel itself in DecidedBy.
const kernelName = "belay"

// invocation is one invocation on its way through the kernel. It is used by one
// goroutine, apart from what passes.go says.
type invocation struct {
	k       *Kernel
	snap    *snapshot
	o       InvokeOptions
	seen    observed
	tape    recording
	inv     phases.Invocation // as it came in
	seed    [32]byte
	at      clock.Instant // the kernel's clocks at the beginning
	session SessionKey
	carries bool // metadata is kept: the session has a name

	purse   purse        // of the hook on whose behalf it is made
	call    *toolCall    // that a pre_tool invocation lets pass or stops; nil for events of a runtime
	memory  memory       // of the calls that its hooks have made
	secrets Redactor     // for all that is stored of it; nil before the first of that
	input   *audit.Input // of the attempt
	claim   *claim       // to go first, from the second attempt on
}

// Invoke decides one invocation; see InvokeWith.
func (k *Kernel) Invoke(ctx context.Context, inv phases.Invocation) (phases.Verdict, error) {
	return k.InvokeWith(ctx, inv, InvokeOptions{})
}

// InvokeWith decides one invocation and returns when the answer is on record.
//
// The verdict is always complete and is all that a caller has to act on. A
// non-nil error stands only beside a block, when something failed: it is a
// *phases.Fault for errors.As, ErrUnavailable or ErrConflict for errors.Is when
// the store was the reason, ErrClosed after Close.
//
// A context that has ended by the time the answer is about to be written is answered
// with a block, and so it is on record. What is handed to the store before that stays
// what is on record and is answered: it cannot be taken back.
//
// What the caller hands over is copied first, and the verdict shares no memory with
// it or with the kernel: Verdict.Action is what was decided, whatever the caller does
// with its buffer meanwhile.
func (k *Kernel) InvokeWith(ctx context.Context, inv phases.Invocation, o InvokeOptions) (phases.Verdict, error) {
	inv, o = own(inv, o)
	ctx, seen := k.observe(ctx, inv)
	v, err := k.invoke(ctx, inv, o, seen)
	seen.decided(&v, err)
	return v, err
}

func (k *Kernel) invoke(ctx context.Context, inv phases.Invocation, o InvokeOptions,
	seen observed) (v phases.Verdict, err error) {
	o.Unblockable = o.Unblockable || inv.Phase == phases.Audit // it has happened already, also when it is not valid
	if _, ok := inv.Metadata[CallerKey]; ok && !o.OnBehalf {
		err := errors.New("the metadata key " + CallerKey + " is the kernel's own")
		return k.refuse(ctx,
			Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.latches(), Unread: true,
				Fault: phases.NewFault(phases.KindProtocol, err.Error(), err)})
	}
	return k.invokeOn(ctx, inv, o, seen, nil)
}

// invokeOn decides an invocation; call is told when the tool call that it stands for may run.
func (k *Kernel) invokeOn(ctx context.Context, inv phases.Invocation, o InvokeOptions, seen observed,
	call *toolCall) (v phases.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			fault := phases.NewFault(phases.KindProtocol, "the kernel failed", fmt.Errorf("panic: %v", p))
			k.o.Logger.LogAttrs(ctx, slog.LevelError, "panic in the kernel", slog.Any("panic", p),
				slog.String("stack", string(debug.Stack())))
			v, err = k.refuseAfterPanic(ctx, Refusal{Invocation: inv, Raw: inv.Action, Fault: fault, Unblockable: o.latches()})
		}
	}()
	p := purseOf(ctx, k)
	snap := k.snapshotFor(p)
	if snap == nil {
		fault := phases.NewFault(phases.KindLoad, "the kernel is closed", ErrClosed)
		return k.unrecorded(ctx, Refusal{Invocation: inv, Fault: fault, Unblockable: o.latches()})
	}
	defer func() {
		if err := snap.release(); err != nil { // the last user of a configuration that was replaced
			k.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a hook could not be closed", slog.Any("error", err))
		}
	}()
	i := &invocation{k: k, snap: snap, o: o, seen: seen, at: k.at(ctx), purse: p, call: call}
	if err := errors.Join(inv.Validate(), o.checkClock()); err != nil {
		return k.refuse(ctx, Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.latches(), Unread: true,
			Fault: phases.NewFault(phases.KindProtocol, "the invocation is not valid: "+err.Error(), err)})
	}
	if err := k.coverNames(&inv); err != nil {
		return k.refuse(ctx, Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.latches(), Fault: phases.FaultOf(err)})
	}
	if inv.ID == "" {
		inv.ID = k.o.NewID(i.at.Wall)
	}
	i.setClock(&inv)
	if o.Seed != nil {
		i.seed = *o.Seed
	} else {
		rand.Read(i.seed[:]) // never fails: the runtime ends the process instead
	}
	i.inv = inv
	i.tape = k.startRecording(&i.inv)
	i.session = SessionKey{Runtime: inv.Runtime, Session: inv.Session}
	i.carries = inv.Session != ""
	return i.decide(ctx)
}

// decide runs the invocation until its record is written.
func (i *invocation) decide(ctx context.Context) (phases.Verdict, error) {
	defer func() { i.k.claims.end(i.claim) }()
	defer i.k.retained.abandon(i.inv.ID)
	i.k.WatchClock(ctx)
	i.judgeFirst(ctx)
	for attempt := 1; ; attempt++ {
		v, err := i.attempt(ctx, attempt)
		if err == nil || !errors.Is(err, ErrConflict) {
			return v, err
		}
		if attempt == maxAttempts {
			return i.refuse(ctx, storeFault("what the decision rests on kept changing", err))
		}
	}
}

// attempt runs the chain once and commits what came of it. ErrConflict means
// that nothing was written and nothing may be released.
func (i *invocation) attempt(ctx context.Context, n int) (phases.Verdict, error) {
	if n == 2 && !insideTurn(ctx, i.k) {
		i.claim = i.k.claims.stake(ctx)
	}
	if f := gaveUp(ctx); f != nil {
		return i.refuse(ctx, f)
	}
	if err := i.k.recoverGap(ctx, i.snap.revision); errors.Is(err, ErrConflict) {
		return phases.Verdict{}, err // noted once, by the refusal after the last attempt
	} else if err != nil {
		return i.unrecorded(ctx, storeFault("the store cannot write", err))
	}
	run, latch, err := i.read(context.WithoutCancel(ctx))
	if err == nil {
		latch, err = i.k.liftEnded(ctx, i.session, latch)
	}
	if errors.Is(err, ErrConflict) {
		return phases.Verdict{}, err
	}
	if err != nil {
		return i.refuse(ctx, storeFault("the store could not be read", err))
	}
	i.tape.again()
	i.input = audit.NewInput(&audit.Invocation{Invocation: i.inv, Tool: i.inv.Tool(), PolicyRevision: i.snap.revision,
		Carried: run.Metadata})
	c, err := i.newChain(run.Metadata)
	if err != nil {
		return i.refuse(ctx, phases.NewFault(phases.KindProtocol, "the invocation is not valid", err))
	}
	if latch != nil && !i.o.Unblockable {
		c.latched = latch
	} else {
		c.run(ctx)
	}
	return i.finish(ctx, c, run, latch)
}

// read fetches what the chain depends on.
func (i *invocation) read(ctx context.Context) (RunState, *Latch, error) {
	var run RunState
	latch, err := i.k.o.Store.Latch(ctx, i.session)
	if err == nil && i.carries {
		run, err = i.k.o.Store.RunState(ctx, i.inv.RunKey(), i.k.CalmTime())
	}
	if err == nil {
		err = run.Metadata.Validate()
	}
	return run, latch, err
}

// finish turns a chain that has ended into a verdict that is on record.
func (i *invocation) finish(ctx context.Context, c *chain, run RunState, latch *Latch) (phases.Verdict, error) {
	v, rf := c.verdict(run)
	var chained phases.Verdict
	if i.tape.on() {
		chained = chainedVerdict(&v)
	}
	c.noteScopes(&v)
	i.settle(&v)
	q, err := i.consult(ctx, c, &v)
	if errors.Is(err, ErrConflict) {
		return v, err
	}
	if err != nil {
		rf = err
	}
	lent, err := i.lend(context.WithoutCancel(ctx), c, &v)
	if errors.Is(err, ErrConflict) {
		return v, err
	}
	if err != nil {
		rf = err
	}
	if f := gaveUp(ctx); f != nil && v.Decision != phases.Block {
		blockVerdict(&v, f.Kind, kernelName, f.Text)
		i.settle(&v)
		rf = f
	}
	w, err := i.wrote(run, &v, c)
	if err != nil {
		blockVerdict(&v, phases.KindAudit, kernelName, "the metadata could not be redacted")
		i.settle(&v)
		rf = phases.NewFault(phases.KindAudit, v.Reason, err)
	}
	at := i.k.o.Clock.Now()
	rec, w, events, auditErr := i.record(ctx, c, run, &v, w, at)
	switch {
	case auditErr != nil:
		rf = auditErr
	case c.late != nil:
		rf = c.late
	}
	b := Batch{Now: at, Events: events, StateReads: c.stateReads, StateWrites: c.stateWrites}
	if i.carries {
		key := i.inv.RunKey()
		switch {
		case w != nil:
			b.Run = &RunWrite{Key: key, Version: run.Version, Metadata: v.Metadata, Retries: c.retries}
		case run.Version > 0:
			b.TouchRun = &key
		}
	}
	if err := q.into(&b, i, c, &v, &rec); err != nil {
		return i.refuse(ctx, phases.FaultOf(err))
	}
	if err := lent.into(&b, i, &v); err != nil {
		return i.refuse(ctx, phases.NewFault(phases.KindAudit, "what is done with leases could not be redacted", err))
	}
	if !i.o.Unblockable && c.latched == nil {
		b.Unlatched = &i.session
	}
	switch {
	case i.o.after != nil:
		i.o.after.stage(&b, i, &rec.Verdict, latchKind(c, rf), latch)
	case i.o.Unblockable && v.Decision == phases.Block:
		why, ends := i.latchFor(ctx, c, rf)
		i.k.latch(&b, &rec.Verdict, why, ends)
	}
	if !insideTurn(ctx, i.k) { // what a hook asks for is part of what it belongs to
		i.k.claims.yield(ctx, i.claim)
	}
	if f := gaveUp(ctx); f != nil && v.Decision != phases.Block { // the last look: audit hooks have run meanwhile
		return i.refuse(ctx, f)
	}
	if i.call != nil && v.Decision == phases.Allow {
		e, err := i.call.allowed(&rec, at)
		if err != nil {
			return i.unrecorded(ctx, phases.FaultOf(err))
		}
		b.Events = append(b.Events, e)
	}
	receipt, err := i.k.commit(ctx, b)
	if err != nil && i.call != nil {
		i.call.effort.drop()
	}
	if errors.Is(err, ErrConflict) {
		return v, err
	}
	if err != nil {
		r := Refusal{Invocation: i.inv, Fault: storeFault("the record could not be written", err), Unblockable: i.o.latches()}
		if r.Unblockable && v.Decision == phases.Block {
			r.Why = latchKind(c, rf) // the decision that the note stands for
			if !r.Why.OwnMaking() {
				r.Fault = storeFault("the record of a block by "+v.DecidedBy+" could not be written", err)
			}
		}
		return i.k.unrecorded(ctx, r)
	}
	i.k.retained.settle(i.inv.ID)
	if a := i.o.after; a != nil {
		a.decided = a.staged
	}
	v.Event = &phases.EventRef{Seq: receipt.First + int64(len(rec.Hooks)), ID: rec.Verdict.ID}
	i.tape.done(i, run, latch, chained, &v)
	if rf != nil {
		return released(v), rf
	}
	return released(v), nil
}

// gaveUp returns why nothing but a block may be answered to a caller whose context has
// ended, or nil while it has not.
func gaveUp(ctx context.Context) *phases.Fault {
	if err := ctx.Err(); err != nil {
		return phases.NewFault(phases.KindDeadline, "the caller gave up before the action was decided", err)
	}
	return nil
}

// settle says how the verdict takes effect, and makes a block of a decision that
// cannot be carried out where the event happened.
func (i *invocation) settle(v *phases.Verdict) {
	if i.o.Unblockable && v.Decision == phases.Ask {
		blockVerdict(v, v.Kind, v.DecidedBy, v.Reason)
		v.Notes = append(v.Notes, "nobody can be asked about this event: treated as a block")
	}
	if i.o.after != nil {
		i.o.after.settle(v)
	}
	switch {
	case v.Enforced == phases.EnforcedLatched:
	case v.Decision == phases.Block && i.o.Unblockable:
		v.Enforced = phases.EnforcedLatched
	case i.inv.Phase == phases.Audit, i.o.after != nil:
		v.Enforced = phases.EnforcedNone
	case v.Decision == phases.Ask && i.o.Delegated:
		v.Enforced = phases.EnforcedDelegated
	default:
		v.Enforced = phases.EnforcedDirect
	}
}

// wrote returns the metadata that the chain wrote, covered as it will be stored,
// or nil when there is nothing to store. The verdict's metadata becomes the
// covered one: what the run carries from now on.
func (i *invocation) wrote(run RunState, v *phases.Verdict, c *chain) (phases.Metadata, error) {
	wrote := phases.Metadata{}
	for key, e := range v.Metadata {
		old, ok := run.Metadata[key]
		if ok && string(old.Value) == string(e.Value) && old.Hook == e.Hook && old.Tier == e.Tier {
			continue
		}
		covered, masked, err := i.redactor().JSON(e.Value)
		if err != nil {
			v.Metadata = cloneMetadata(run.Metadata)
			return nil, err
		}
		if len(masked) > 0 {
			e.Value = covered
			v.Metadata[key] = e
			if note := "metadata " + key + NoteCovered; !slices.Contains(v.Notes, note) {
				v.Notes = append(v.Notes, note)
			}
		}
		wrote[key] = e
	}
	if len(wrote) == 0 && !c.retried {
		return nil, nil
	}
	if note := "metadata is not carried along: the invocation names no session"; !i.carries &&
		!slices.Contains(v.Notes, note) {
		v.Notes = append(v.Notes, note)
	}
	return wrote, nil
}

// record builds the events and lets the audit hooks cover more. With a fault the
// verdict has become a block, and the events hold digests only.
func (i *invocation) record(ctx context.Context, c *chain, run RunState, v *phases.Verdict, wrote phases.Metadata,
	at time.Time) (audit.Record, phases.Metadata, []phases.Event, error) {
	name := func() string { // the verdict's event is named after those of the turns
		for n := range c.turns {
			c.turns[n].ID = i.k.o.NewID(at)
		}
		return i.k.o.NewID(at)
	}
	b := i.audit()
	rec, wrote, err := i.build(c, run, v, wrote, name, at)
	var turns []audit.Turn
	if err == nil {
		turns, err = c.auditPass(ctx, v, &rec)
	} else { // what could not be covered is not stored
		v.Metadata, wrote, c.stateWrites = cloneMetadata(run.Metadata), nil, nil
	}
	if err != nil {
		// The record says from here on that it was blocked, and holds digests only.
		f := phases.FaultOf(err)
		if f == nil || f.Kind != phases.KindAudit {
			f = phases.NewFault(phases.KindAudit, "the audit phase failed", err)
		}
		blockVerdict(v, phases.KindAudit, auditor(turns), f.Text)
		i.settle(v)
		i.k.o.Logger.LogAttrs(ctx, slog.LevelError, "audit failed: the action is blocked",
			slog.String("invocation", i.inv.ID), slog.String("phase", string(i.inv.Phase)))
		rec = b.Digests(i.input, v, wrote, c.turns, name(), at)
		rec.Verdict.Reason = f.Text // fixed text
		err = f
	}
	v.Masked = slices.Clone(rec.Verdict.Masked)
	if v.Masked == nil {
		v.Masked = []string{}
	}
	rec.Verdict.Seed = hex.EncodeToString(i.seed[:])
	events := rec.Events()
	for n := range turns {
		turns[n].ID = i.k.o.NewID(at)
		e, terr := b.Turn(i.input.Invocation(), &turns[n], at)
		_ = terr // the event holds digests only then
		events = append(events, e)
		v.Hooks = append(v.Hooks, turns[n].Report)
	}
	return rec, wrote, events, err
}

// refuse records that the invocation could not be decided.
func (i *invocation) refuse(ctx context.Context, f *phases.Fault) (phases.Verdict, error) {
	return i.k.refuse(ctx, Refusal{Invocation: i.inv, Raw: i.inv.Action, Fault: f, Unblockable: i.o.latches()})
}

// unrecorded answers when there is no record.
func (i *invocation) unrecorded(ctx context.Context, f *phases.Fault) (phases.Verdict, error) {
	return i.k.unrecorded(ctx, Refusal{Invocation: i.inv, Fault: f, Unblockable: i.o.latches()})
}

// auditor names the audit hook that failed.
func auditor(turns []audit.Turn) string {
	for _, t := range turns {
		if t.Report.Decision == phases.HookError {
			return t.Report.Hook
		}
	}
	return kernelName
}

// blockVerdict makes a block of the verdict; nobody may act on a leftover.
func blockVerdict(v *phases.Verdict, kind phases.Kind, by, reason string) {
	v.Decision, v.Kind, v.DecidedBy, v.Reason = phases.Block, kind, by, reason
	v.Reply, v.Retry, v.Grant, v.Approval = nil, nil, nil, nil
}
