package kernel

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/phases"
)

// AcceptApproval approves a pending item without a person, because the operator has
// said so beforehand, and records that. Such an approval never lets an action
// pass: the kernel asks for a reviewer's signature then. Errors are as of DecideApproval.
func (k *Kernel) AcceptApproval(ctx context.Context, id string, d ApprovalDecision) (Approval, error) {
	d = ownDecision(d)
	it, err := k.onFile(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	if it.Kind != approvals.KindProposal {
		return Approval{}, ErrApprovalUnknown
	}
	now := k.o.Clock.Now()
	ch := &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Approved, Decision: &d, At: now}
	next := ch.Apply(*it)
	return next, k.step(ctx, ch, &next, string(approvals.Approved), "")
}

// FinishAccepted is FinishApproval for an item that AcceptApproval has approved.
func (k *Kernel) FinishAccepted(ctx context.Context, id, note string) error {
	it, err := k.onFile(ctx, id)
	if err != nil {
		return err
	}
	if it.Kind != approvals.KindProposal {
		return ErrApprovalUnknown
	}
	return k.step(ctx, &approvals.Change{ID: id, From: approvals.Approved, To: approvals.Consumed, At: k.o.Clock.Now()}, it, string(approvals.Consumed), note)
}

// step commits one step and its event.
func (k *Kernel) step(ctx context.Context, ch *approvals.Change, it *approvals.Item, what, note string) error {
	e := k.approvalEvent(it, what, ch.At, k.Revision())
	if ch.To == approvals.Consumed {
		e.ID = useID(it.ID)
	}
	if note != "" {
		e.Notes = append(e.Notes, phases.SafeText(note, phases.MaxReasonBytes))
	}
	_, err := k.commit(ctx, Batch{Now: ch.At, Approvals: []ApprovalOp{{Change: ch}}, Events: []phases.Event{e}})
	if errors.Is(err, ErrConflict) {
		return ErrApprovalDecided
	}
	return err
}

// DecideApproval takes a person's decision, once, and records it. Errors are
// ErrApprovalUnknown, -Decided, -Expired, -Content, -Signature, -Invalid or
// ErrUnavailable. A decision that is about something else or not signed by a
// reviewer is recorded as an attempt.
func (k *Kernel) DecideApproval(ctx context.Context, id string, d ApprovalDecision) (Approval, error) {
	d = ownDecision(d)
	s := k.snapshot()
	if s == nil {
		return Approval{}, ErrClosed
	}
	defer k.letGo(s)
	it, err := k.onFile(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	now := k.o.Clock.Now()
	err = s.authority.Check(it, &d, now, s.approvals.Timeout)
	if err == nil {
		err = k.speakable(d.Reason)
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrApprovalExpired) && it.State == approvals.Pending:
		op, e := k.expireApproval(it, now, s.revision)
		_, _ = k.commit(ctx, Batch{Now: now, Approvals: []ApprovalOp{op}, Events: []phases.Event{e}})
		return it.At(now), err
	case errors.Is(err, ErrApprovalSignature), errors.Is(err, ErrApprovalContent), errors.Is(err, ErrApprovalHidden):
		e := k.approvalEvent(it, "refused", now, s.revision)
		e.Reason = "a decision was refused: " + err.Error()
		if _, cerr := k.commit(ctx, Batch{Now: now, Events: []phases.Event{e}}); cerr != nil {
			return it.At(now), cerr
		}
		return it.At(now), err
	default:
		return it.At(now), err
	}
	to := approvals.Denied
	if d.Verdict == approvals.Approve {
		to = approvals.Approved
	}
	ch := &approvals.Change{ID: it.ID, From: approvals.Pending, To: to, Decision: &d, At: now}
	next := ch.Apply(*it)
	_, err = k.commit(ctx, Batch{Now: now, Approvals: []ApprovalOp{{Change: ch}}, Events: []phases.Event{k.approvalEvent(&next, string(to), now, s.revision)}})
	if errors.Is(err, ErrConflict) {
		return it.At(now), ErrApprovalDecided
	}
	return next, err
}

// speakable refuses a reason that holds a secret: it is signed as it is, and stored.
func (k *Kernel) speakable(reason string) error {
	if covered, err := k.o.Redactor.Text(reason); err != nil || covered != reason || phases.SafeText(reason, approvals.MaxReason) != reason {
		return errors.Join(ErrApprovalInvalid, errors.New("the reason holds a secret or control characters"))
	}
	return nil
}

// FinishApproval uses up an approved item on behalf of whoever has carried it out,
// and records that. It succeeds once. Errors are as of DecideApproval, or a
// *phases.Fault when the approval on file does not count.
func (k *Kernel) FinishApproval(ctx context.Context, id, note string) error {
	s := k.snapshot()
	if s == nil {
		return ErrClosed
	}
	defer k.letGo(s)
	it, err := k.CheckApproval(ctx, id)
	if err != nil {
		return err
	}
	now := k.o.Clock.Now()
	op, e, err := k.useApproval(ctx, s, it, now)
	if errors.Is(err, ErrConflict) {
		return ErrApprovalDecided
	}
	if err != nil {
		return err
	}
	e.Notes = append(e.Notes, phases.SafeText(note, phases.MaxReasonBytes))
	_, err = k.commit(ctx, Batch{Now: now, Approvals: []ApprovalOp{op}, Events: []phases.Event{e}})
	if errors.Is(err, ErrConflict) {
		return ErrApprovalDecided
	}
	return err
}

// CheckApproval returns an item that is approved, not used yet, and whose
// decision counts. Errors are as of FinishApproval.
func (k *Kernel) CheckApproval(ctx context.Context, id string) (*Approval, error) {
	s := k.snapshot()
	if s == nil {
		return nil, ErrClosed
	}
	defer k.letGo(s)
	it, err := k.onFile(ctx, id)
	if err != nil {
		return nil, err
	}
	now := k.o.Clock.Now()
	switch st := it.At(now).State; st {
	case approvals.Approved:
	case approvals.Expired:
		return nil, ErrApprovalExpired
	default:
		return nil, errors.Join(ErrApprovalDecided, errors.New("it is "+string(st)))
	}
	if _, _, err = k.useApproval(ctx, s, it, now); errors.Is(err, ErrConflict) {
		err = ErrApprovalDecided
	}
	return it, err
}
