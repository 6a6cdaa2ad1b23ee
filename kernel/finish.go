package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// ending is the second half of an attempt: from the verdict of the hooks to the released
// one. finish calls its steps in order.
type ending struct {
	invocation *invocation
	chain      *chain
	run        RunState // as it was read
	latch      *Latch   // as it was read; nil: the session is not held

	verdict  phases.Verdict
	chained  phases.Verdict // of the hooks alone; set only for a recorder
	failure  error          // a *phases.Fault that made the verdict a block; nil when nothing failed
	question *question      // for the queue of approvals; nil: nothing to ask
	leases   leaseChanges
	metadata phases.Metadata // to store, redacted; nil: nothing to store
	record   audit.Record
	events   []phases.Event // of the record
	at       time.Time      // of the record
}

// finish turns a chain that has ended into a verdict whose record is durable.
//
// The order is the guarantee. People and leases are asked before the record is made, because
// their answers change the verdict. Audit hooks see the record before it is staged. One batch
// holds everything that counts only together with the verdict, and its commit comes last: a
// verdict is released only after its record is durable.
//
// whole is ctx without its end.
func (i *invocation) finish(ctx, whole context.Context, chain *chain, run RunState,
	latch *Latch) (phases.Verdict, error) {
	end := &ending{invocation: i, chain: chain, run: run, latch: latch}
	if err := end.conclude(ctx, whole); err != nil {
		return end.verdict, err // ErrConflict: the next attempt begins anew
	}
	end.makeRecord(ctx)
	batch, err := end.stage(ctx)
	if err != nil {
		return i.refuse(ctx, phases.FaultOf(err))
	}
	if !insideTurn(ctx, i.kernel) { // an invocation of a hook does not wait: the one it belongs to does
		i.kernel.claims.yield(ctx, i.claim)
	}
	if fault := gaveUp(ctx); fault != nil && end.verdict.Decision != phases.Block { // the last look, after the audit hooks
		return i.refuse(ctx, fault)
	}
	if i.call != nil && end.verdict.Decision == phases.Allow {
		intent, err := i.call.allowed(&end.record, end.at)
		if err != nil {
			return i.unrecorded(ctx, phases.FaultOf(err))
		}
		batch.Events = append(batch.Events, intent)
	}
	return end.commit(ctx, batch)
}

// conclude turns the verdict of the hooks into the final one: the queue of approvals, the
// leases and the caller's context each have a say. The only error is ErrConflict; any other
// failure makes the verdict a block.
func (e *ending) conclude(ctx, whole context.Context) error {
	i, verdict := e.invocation, &e.verdict
	*verdict, e.failure = e.chain.verdict(e.run)
	if i.recorder.on() {
		e.chained = chainedVerdict(verdict)
	}
	e.chain.noteScopes(verdict)
	i.queued = e.chain.queued()
	i.applyEnforcement(verdict)

	question, err := i.askApproval(ctx, e.chain, verdict)
	if errors.Is(err, ErrConflict) {
		return err
	}
	if err != nil {
		e.failure = err
	}
	changes, err := i.planLeases(whole, e.chain, verdict)
	if errors.Is(err, ErrConflict) {
		return err
	}
	if err != nil {
		e.failure = err
	}
	e.withhold()
	e.question, e.leases = question, changes
	if fault := gaveUp(ctx); fault != nil && verdict.Decision != phases.Block {
		e.fail(fault)
	}
	return nil
}

// fail makes the verdict a block by the kernel.
func (e *ending) fail(fault *phases.Fault) {
	blockVerdict(&e.verdict, fault.Kind, kernelName, fault.Text)
	e.invocation.applyEnforcement(&e.verdict)
	e.failure = fault
}

// makeRecord redacts what the hooks wrote, builds the events, and shows them to the audit
// hooks. A failure makes the verdict a block whose events hold digests only.
func (e *ending) makeRecord(ctx context.Context) {
	i := e.invocation
	changed, err := i.changedMetadata(e.run, &e.verdict, e.chain)
	if err != nil {
		e.fail(phases.NewFault(phases.KindAudit, "the metadata could not be redacted", err))
	}
	e.at = i.kernel.options.Clock.Now()
	e.metadata, e.events, err = i.record(ctx, &e.record, e.chain, e.run, &e.verdict, changed, e.at)
	switch {
	case err != nil:
		e.failure = err
	case e.chain.late != nil:
		e.failure = e.chain.late
	}
	if i.mismatch.what != "" {
		e.events = append(e.events, e.mismatchEvent())
	}
}

// stage collects everything that counts only together with the verdict. With an error, a
// *phases.Fault, nothing of the batch may be committed.
func (e *ending) stage(ctx context.Context) (Batch, error) {
	i := e.invocation
	batch := Batch{Now: e.at, Events: e.events, StateReads: e.chain.stateReads, StateWrites: e.chain.stateWrites}
	e.stageRun(&batch)
	if err := e.stageCall(&batch); err != nil {
		return batch, phases.NewFault(phases.KindProtocol, "the arguments of the call could not be carried to its result", err)
	}
	if err := e.question.stage(&batch, i, e.chain, &e.verdict, &e.record); err != nil {
		return batch, err
	}
	if err := e.leases.stage(&batch, i, &e.verdict); err != nil {
		return batch, phases.NewFault(phases.KindAudit, "what is done with leases could not be redacted", err)
	}
	e.stageLatch(ctx, &batch)
	return batch, nil
}

// stageRun adds what the run carries along. A run without changes is only marked as used.
func (e *ending) stageRun(batch *Batch) {
	if !e.invocation.carries {
		return
	}
	switch {
	case e.metadata != nil:
		batch.Run = &RunWrite{Key: e.invocation.inv.RunKey(), Version: e.run.Version, Metadata: e.verdict.Metadata,
			Retries: e.chain.retries}
	case e.run.Version > 0:
		key := e.invocation.inv.RunKey()
		batch.TouchRun = &key
	}
}

// stageLatch adds a latch for a block that comes too late to stop the event. An event that
// can be blocked rests on the session not being held.
func (e *ending) stageLatch(ctx context.Context, batch *Batch) {
	i := e.invocation
	if !i.options.Unblockable && e.chain.latched == nil {
		batch.Unlatched = &i.session
	}
	switch {
	case i.options.after != nil:
		i.options.after.stage(batch, i, &e.record.Verdict, latchKind(e.chain, e.failure), e.latch)
	case i.options.Unblockable && e.verdict.Decision == phases.Block:
		why, ends := i.latchFor(ctx, e.chain, e.failure)
		i.kernel.latch(batch, &e.record.Verdict, why, ends)
	case i.latchesCall():
		i.kernel.latch(batch, &e.record.Verdict, phases.LatchDecision, phases.EndsByPerson)
	}
}

// commit writes the batch and releases the verdict. ErrConflict means that the store wrote
// nothing. Any other failure of the store leaves a note in the spool, and answers a block.
func (e *ending) commit(ctx context.Context, batch Batch) (phases.Verdict, error) {
	i := e.invocation
	receipt, err := i.kernel.commit(ctx, batch)
	if err != nil && i.call != nil {
		i.call.effort.drop()
	}
	if errors.Is(err, ErrConflict) {
		return e.verdict, err
	}
	if err != nil {
		return i.kernel.unrecorded(ctx, e.notWritten(err))
	}
	i.kernel.retained.markReady(i.inv.ID)
	if a := i.options.after; a != nil {
		a.decided = a.staged
	}
	e.verdict.Event = &phases.EventRef{Seq: receipt.First + int64(len(e.record.Hooks)), ID: e.record.Verdict.ID}
	i.recorder.done(i, e.run, e.latch, e.chained, &e.verdict)
	return released(e.verdict), e.failure
}

// notWritten describes the refusal that takes the place of a verdict without a record.
func (e *ending) notWritten(err error) Refusal {
	i := e.invocation
	refusal := Refusal{Invocation: i.inv, Fault: storeFault("the record could not be written", err),
		Unblockable: i.options.latches()}
	if refusal.Unblockable && e.verdict.Decision == phases.Block {
		refusal.Why = latchKind(e.chain, e.failure) // the decision that the note stands for
		if !refusal.Why.OwnMaking() {
			refusal.Fault = storeFault("the record of a block by "+e.verdict.DecidedBy+" could not be written", err)
		}
	}
	return refusal
}

// applyEnforcement says how the verdict takes effect. A decision that cannot be carried out
// where the event happened becomes a block.
func (i *invocation) applyEnforcement(verdict *phases.Verdict) {
	if i.options.Unblockable && verdict.Decision == phases.Ask {
		blockVerdict(verdict, verdict.Kind, verdict.DecidedBy, verdict.Reason)
		verdict.Notes = append(verdict.Notes, "no person can be asked about this event: treated as a block")
	}
	if i.options.after != nil {
		i.options.after.limit(verdict)
	}
	switch {
	case verdict.Enforced == phases.EnforcedLatched:
	case verdict.Decision == phases.Block && i.options.Unblockable:
		verdict.Enforced = phases.EnforcedLatched
	case i.inv.Phase == phases.Audit, i.options.after != nil:
		verdict.Enforced = phases.EnforcedNone
	case verdict.Decision == phases.Ask && i.options.Delegated && !i.queued:
		verdict.Enforced = phases.EnforcedDelegated
	default:
		verdict.Enforced = phases.EnforcedDirect
	}
}

// blockVerdict makes the verdict a block. It keeps no part of an earlier decision that a
// caller could act on.
func blockVerdict(verdict *phases.Verdict, kind phases.Kind, by, reason string) {
	verdict.Decision, verdict.Kind, verdict.DecidedBy, verdict.Reason = phases.Block, kind, by, reason
	verdict.Reply, verdict.Retry, verdict.Grant, verdict.Approval = nil, nil, nil, nil
}
