package kernel

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// AcceptApproval approves a pending item without a person, because the operator has
// said so beforehand, and records that. Such an approval never lets an action
// pass: the kernel asks for a reviewer's signature then. Errors are as of DecideApproval.
func (k *Kernel) AcceptApproval(ctx context.Context, id string, d approvals.Decision) (approvals.Item, error) {
	d = ownDecision(d)
	it, err := k.storedItem(ctx, id)
	if err != nil {
		return approvals.Item{}, err
	}
	if it.Kind != approvals.KindProposal {
		return approvals.Item{}, approvals.ErrUnknown
	}
	at := k.at(ctx)
	d.Clock = at.StampOf(d.At)
	ch := &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Approved, Decision: &d, At: at}
	next := ch.Apply(*it)
	return next, k.step(ctx, ch, &next, string(approvals.Approved), "")
}

// FinishAccepted is FinishApproval for an item that AcceptApproval has approved.
func (k *Kernel) FinishAccepted(ctx context.Context, id, note string) error {
	it, err := k.storedItem(ctx, id)
	if err != nil {
		return err
	}
	if it.Kind != approvals.KindProposal {
		return approvals.ErrUnknown
	}
	return k.step(ctx, &approvals.Change{ID: id, From: approvals.Approved, To: approvals.Consumed, At: k.at(ctx)}, it,
		string(approvals.Consumed), note)
}

// step commits one step and its event.
func (k *Kernel) step(ctx context.Context, ch *approvals.Change, it *approvals.Item, what, note string) error {
	e := k.approvalEvent(it, what, ch.At.Wall, k.Revision())
	if ch.To == approvals.Consumed {
		e.ID = useID(it.ID)
	}
	if note != "" {
		e.Notes = append(e.Notes, phases.SafeText(note, phases.MaxReasonBytes))
	}
	_, err := k.commit(ctx, Batch{Now: ch.At.Wall, Approvals: []approvals.Op{{Change: ch}}, Events: []phases.Event{e}})
	if errors.Is(err, ErrConflict) {
		return approvals.ErrDecided
	}
	return err
}

// DecideApproval takes a person's decision, once, and records it. Errors are
// ErrUnknown, -Decided, -Expired, -Content, -Signature, -Invalid of package approvals, or
// ErrUnavailable. A decision that is about something else or not signed by a
// reviewer is recorded as an attempt.
func (k *Kernel) DecideApproval(ctx context.Context, id string, decision approvals.Decision) (approvals.Item, error) {
	decision = ownDecision(decision)
	snap := k.snapshot()
	if snap == nil {
		return approvals.Item{}, ErrClosed
	}
	defer k.releaseSnapshot(ctx, snap)
	item, err := k.storedItem(ctx, id)
	if err != nil {
		return approvals.Item{}, err
	}
	at := k.at(ctx)
	now := at.Wall
	decision.Clock = at.StampOf(decision.At) // whatever the caller says
	err = snap.authority.Check(item, &decision, at, snap.approvals.Timeout)
	if err == nil {
		err = k.speakable(decision.Reason)
	}
	switch {
	case err == nil:
	case errors.Is(err, approvals.ErrExpired) && item.State == approvals.Pending:
		op, e := k.expireApproval(item, at, snap.revision)
		_, _ = k.commit(ctx, Batch{Now: now, Approvals: []approvals.Op{op}, Events: []phases.Event{e}})
		return item.At(at), err
	case errors.Is(err, approvals.ErrSignature), errors.Is(err, approvals.ErrContent), errors.Is(err, approvals.ErrHidden):
		e := k.approvalEvent(item, "refused", now, snap.revision)
		e.Reason = "a decision was refused: " + err.Error()
		if _, cerr := k.commit(ctx, Batch{Now: now, Events: []phases.Event{e}}); cerr != nil {
			return item.At(at), cerr
		}
		return item.At(at), err
	default:
		return item.At(at), err
	}
	to := approvals.Denied
	if decision.Verdict == approvals.Approve {
		to = approvals.Approved
	}
	ch := &approvals.Change{ID: item.ID, From: approvals.Pending, To: to, Decision: &decision, At: at}
	next := ch.Apply(*item)
	_, err = k.commit(ctx,
		Batch{Now: now, Approvals: []approvals.Op{{Change: ch}},
			Events: []phases.Event{k.approvalEvent(&next, string(to), now, snap.revision)}})
	if errors.Is(err, ErrConflict) {
		return item.At(at), approvals.ErrDecided
	}
	return next, err
}

// speakable refuses a reason that holds a secret: it is signed as it is, and stored.
func (k *Kernel) speakable(reason string) error {
	if redacted, err := k.options.Redactor.Text(reason); err != nil || redacted != reason ||
		phases.SafeText(reason, phases.MaxReasonBytes) != reason {
		return errors.Join(approvals.ErrInvalid, errors.New("the reason holds a secret or control characters"))
	}
	return nil
}

// FinishApproval uses up an approved item on behalf of the process that has carried it out,
// and records that. It succeeds once. Errors are as of DecideApproval, or a
// *phases.Fault when the stored approval does not count.
func (k *Kernel) FinishApproval(ctx context.Context, id, note string) error {
	s := k.snapshot()
	if s == nil {
		return ErrClosed
	}
	defer k.releaseSnapshot(ctx, s)
	it, err := k.CheckApproval(ctx, id)
	if err != nil {
		return err
	}
	at := k.at(ctx)
	op, e, err := k.useApproval(ctx, s, it, at)
	if errors.Is(err, ErrConflict) {
		return approvals.ErrDecided
	}
	if err != nil {
		return err
	}
	e.Notes = append(e.Notes, phases.SafeText(note, phases.MaxReasonBytes))
	_, err = k.commit(ctx, Batch{Now: at.Wall, Approvals: []approvals.Op{op}, Events: []phases.Event{e}})
	if errors.Is(err, ErrConflict) {
		return approvals.ErrDecided
	}
	return err
}

// CheckApproval returns an item that is approved, not used yet, and whose
// decision counts. Errors are as of FinishApproval.
func (k *Kernel) CheckApproval(ctx context.Context, id string) (*approvals.Item, error) {
	snap := k.snapshot()
	if snap == nil {
		return nil, ErrClosed
	}
	defer k.releaseSnapshot(ctx, snap)
	item, err := k.storedItem(ctx, id)
	if err != nil {
		return nil, err
	}
	at := k.at(ctx)
	switch st := item.At(at).State; st {
	case approvals.Approved:
	case approvals.Expired:
		return nil, approvals.ErrExpired
	default:
		return nil, errors.Join(approvals.ErrDecided, errors.New("it is "+string(st)))
	}
	if _, _, err = k.useApproval(ctx, snap, item, at); errors.Is(err, ErrConflict) {
		err = approvals.ErrDecided
	}
	return item, err
}
