package belay

import (
	"context"
	"os"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/every"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// ownCredential names the user of this process, the only name that a caller in the same
// process has. An agent with a shell has it as well.
func ownCredential() string { return peercred.Credential(os.Getuid()) }

// Events returns logged events, in order. The error is kernel.ErrUnavailable.
func (b *Belay) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return b.kernel.Events(ctx, q)
}

// BeginRecording records that originals are about to be handed out; see
// kernel.Kernel.BeginRecording.
func (b *Belay) BeginRecording(ctx context.Context, r kernel.RecordOrder, o *approvals.Order, text string) error {
	if err := b.conf.reviewersKnown(); err != nil {
		return err
	}
	return b.kernel.BeginRecording(ctx, r, o, text)
}

// Latches returns the sessions that are latched, oldest first.
func (b *Belay) Latches(ctx context.Context) ([]kernel.Latch, error) { return b.kernel.Latches(ctx) }

// ClearLatch lets a latched session go on and records that. Where a reviewer is
// registered it takes an order; see kernel.Kernel.ClearLatch, also for errors.
func (b *Belay) ClearLatch(ctx context.Context, key wire.Session, o *approvals.Order) error {
	if err := b.conf.reviewersKnown(); err != nil {
		return err
	}
	return b.kernel.ClearLatch(ctx, key, ownCredential(), o)
}

// AcceptConfig records that a person has looked at the configuration of that revision;
// see kernel.Kernel.AcceptConfig, also for errors.
func (b *Belay) AcceptConfig(ctx context.Context, revision string, o *approvals.Order) error {
	if err := b.conf.reviewersKnown(); err != nil {
		return err
	}
	return b.kernel.AcceptConfig(ctx, revision, ownCredential(), o)
}

// Reconciled logs what the comparison of a session's log with belay's has come to; see
// kernel.Kernel.Reconciled, also for errors.
func (b *Belay) Reconciled(ctx context.Context, r *wire.Reconciliation) error {
	return b.kernel.Reconciled(ctx, r)
}

// NoteAccess logs who came to a daemon; see kernel.Kernel.NoteAccess, also for errors.
func (b *Belay) NoteAccess(ctx context.Context, a kernel.Access) error {
	return b.kernel.NoteAccess(ctx, a)
}

// NoteMachine logs how the daemon of system mode stands; see kernel.Kernel.NoteMachine, also for errors.
func (b *Belay) NoteMachine(ctx context.Context, decision, reason string, n kernel.MachineNote) error {
	return b.kernel.NoteMachine(ctx, decision, reason, n)
}

// Approval returns an item of the queue as it stands now. Errors are
// approvals.ErrUnknown or kernel.ErrUnavailable.
func (b *Belay) Approval(ctx context.Context, id string) (approvals.Item, error) {
	return b.kernel.Approval(ctx, id)
}

// Approvals returns items of the queue, newest first. The error is kernel.ErrUnavailable.
func (b *Belay) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	return b.kernel.Approvals(ctx, q)
}

// ApprovalCounts counts what waits for a person, by kind; a kind without any is not
// in it. The error is kernel.ErrUnavailable.
func (b *Belay) ApprovalCounts(ctx context.Context) (map[string]int, error) {
	counts, err := b.kernel.ApprovalCounts(ctx)
	out := make(map[string]int, len(counts))
	for k, n := range counts {
		out[string(k)] = n
	}
	return out, err
}

// SweepApprovals records which items have run out. The error is kernel.ErrUnavailable.
func (b *Belay) SweepApprovals(ctx context.Context) error { return b.kernel.SweepApprovals(ctx) }

// Leases returns leases by id, as they stand now. The error is kernel.ErrUnavailable.
func (b *Belay) Leases(ctx context.Context, q leases.Query) ([]leases.View, error) {
	return b.kernel.Leases(ctx, q)
}

// MintLease makes a lease in a person's name; "" means the user of this process. Only the
// answer has the token. Errors are of package leases' classes, or kernel.ErrUnavailable.
func (b *Belay) MintLease(ctx context.Context, r leases.Request, h leases.Holder,
	person string) (*leases.View, error) {
	if person == "" {
		person = ownCredential()
	}
	return b.kernel.MintLease(ctx, r, h, person)
}

// MintApproved makes the lease that a reviewer has approved; see kernel.Kernel.MintApproved.
func (b *Belay) MintApproved(ctx context.Context, id string) (*leases.View, error) {
	return b.kernel.MintApproved(ctx, id)
}

// RevokeLease takes a lease back, with everything below it, or with prefix everything
// at or below an id. Errors are as of MintLease.
func (b *Belay) RevokeLease(ctx context.Context, id string, prefix bool, person string) error {
	if person == "" {
		person = ownCredential()
	}
	return b.kernel.RevokeLease(ctx, id, prefix, person)
}

// CheckLease says whether a lease covers an action; see kernel.Kernel.CheckLease.
func (b *Belay) CheckLease(ctx context.Context, q kernel.LeaseCheck) (*leases.View, error) {
	if q.Holder.Credential == "" {
		q.Holder.Credential = ownCredential()
	}
	return b.kernel.CheckLease(ctx, q)
}

// Stuck is closed when so many hooks were left behind that the process should answer
// what has begun, and end; see kernel.MaxLeftBehind.
func (b *Belay) Stuck() <-chan struct{} { return b.kernel.Stuck() }

// LeftBehind returns the bindings that ignored their deadline and still run. They block
// until that has ended.
func (b *Belay) LeftBehind() []string { return b.kernel.LeftBehind() }

// OverloadEnded tells that callers find room again; see kernel.Kernel.OverloadEnded.
func (b *Belay) OverloadEnded(ctx context.Context) error { return b.kernel.OverloadEnded(ctx) }

// WatchClock looks every second for jumps of the wall clock, until ctx ends. Each jump is
// recorded once, also when other processes look; see kernel.Kernel.WatchClock.
func (b *Belay) WatchClock(ctx context.Context) {
	every.Do(ctx, time.Second, time.Second, func(ctx context.Context) bool {
		b.kernel.WatchClock(ctx)
		return true
	})
}

// ClockWarning says what a person should know of the clock; see kernel.Kernel.ClockWarning.
func (b *Belay) ClockWarning(context.Context) string { return b.kernel.ClockWarning() }

// Propose puts a hook into the queue: its bytes are stored under their digest and
// nothing of it runs. A pending proposal of the same name by the same agent is
// superseded. With single_user.auto_accept a hook that can only restrict is
// installed at once, and changed says that belay.yaml was written. Errors are
// ErrRefused, approvals.ErrQuota, ErrNoConfig or kernel.ErrUnavailable.
func (b *Belay) Propose(ctx context.Context, p approvals.Proposal,
	credential string) (it approvals.Item, changed bool, err error) {
	b.conf.mu.Lock()
	auto := b.conf.now.file.SingleUser.AutoAccept
	b.conf.mu.Unlock()
	return b.proposals.Propose(ctx, p, credential, auto)
}

// Decide takes a person's decision. A proposed hook that is approved is bound;
// changed says that belay.yaml was written and has to be taken into use. When that
// failed after the decision was logged, handing in the same decision again
// carries on from there. Errors are as of kernel.Kernel.DecideApproval, ErrRefused,
// ErrConfig, or ErrUnbound with what failed after the decision.
func (b *Belay) Decide(ctx context.Context, id string,
	d approvals.Decision) (it approvals.Item, changed bool, err error) {
	if it, err = b.kernel.Approval(ctx, id); err == nil && it.Kind == approvals.KindTool {
		it, err = b.pins.Decide(ctx, b.kernel, it, d)
		return it, false, err
	}
	return b.proposals.Decide(ctx, id, d)
}

// Tools lists the tools that hooks can call. It starts the MCP servers; the error
// names those that do not start, and the others' tools are listed all the same.
func (b *Belay) Tools(ctx context.Context) ([]kernel.ToolInfo, error) {
	if x := executor(&b.o, b.tools); x != nil {
		return x.Tools(ctx)
	}
	return nil, nil
}

// Log is the event log of the state directory, open as long as b. Key is the public key that
// verifies its checkpoints, and StoreID the name of the state directory in the orders of
// reviewers; both are "" without the key that signs. Believed compares the whole store with
// its high-water mark and with what the log records; its error is kernel.ErrRollback or
// kernel.ErrTampered.
func (b *Belay) Log() interface {
	Key() string
	StoreID() string
	Believed(ctx context.Context) error
} {
	return b.live
}
