package kernel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// The words of the queue, for those who embed the kernel.
type (
	Approval         = approvals.Item
	ApprovalQuery    = approvals.Query
	ApprovalDecision = approvals.Decision
	ApprovalSettings = approvals.Settings
	Reviewer         = approvals.Reviewer
)

// Classes of errors about the queue, for errors.Is.
var (
	ErrApprovalUnknown   = approvals.ErrUnknown
	ErrApprovalDecided   = approvals.ErrDecided
	ErrApprovalExpired   = approvals.ErrExpired
	ErrApprovalContent   = approvals.ErrContent
	ErrApprovalSignature = approvals.ErrSignature
	ErrApprovalQuota     = approvals.ErrQuota
	ErrApprovalInvalid   = approvals.ErrInvalid
)

// question is what the queue has to do with one attempt at an invocation whose
// hooks ask for a person.
type question struct {
	ops    []ApprovalOp
	events []phases.Event
	fresh  *approvals.Item // to be created; what it shows comes from the record
}

// consult looks into the queue for an ask that the runtime does not put to the
// person itself: the verdict becomes an allow (approved, and used up by this), a
// block (denied, or nothing more can be asked), or points at the item that waits.
// With an error, a *phases.Fault, the verdict has become a block; ErrConflict
// means that the attempt has to begin anew.
func (i *invocation) consult(ctx context.Context, c *chain, v *phases.Verdict) (*question, error) {
	if v.Decision != phases.Ask || v.Enforced == phases.EnforcedDelegated {
		return nil, nil
	}
	q, err := i.answer(context.WithoutCancel(ctx), c, v)
	if errors.Is(err, ErrConflict) {
		return nil, err
	}
	if err != nil {
		f := phases.FaultOf(err)
		if f == nil {
			f = phases.NewFault(phases.KindStore, "the queue of approvals could not be read", err)
		}
		blockVerdict(v, f.Kind, kernelName, f.Text)
		i.settle(v)
		return nil, f
	}
	i.settle(v)
	return q, nil
}

func (i *invocation) answer(ctx context.Context, c *chain, v *phases.Verdict) (*question, error) {
	raw, err := c.words.ApprovalKey()
	if err != nil || raw == "" {
		return nil, phases.NewFault(phases.KindProtocol, "what is asked has no canonical form", err)
	}
	by := i.requester()
	key := i.k.approvalKey(raw, by.Credential)
	now := i.k.o.Clock.Now()
	it, err := i.k.o.Store.ApprovalByKey(ctx, approvals.KindAsk, key)
	if err != nil {
		return nil, err
	}
	q := &question{}
	if it != nil {
		switch st := it.At(now); {
		case st.State == approvals.Pending:
			v.Approval = &phases.ApprovalRef{ID: it.ID, Expires: it.Expires}
			return q, nil
		case st.State == approvals.Approved:
			op, e, err := i.k.useApproval(ctx, i.snap, it, now)
			if err != nil {
				return nil, err
			}
			q.ops, q.events = append(q.ops, op), append(q.events, e)
			v.Decision, v.Reason, v.Kind, v.DecidedBy = phases.Allow, "", "", ""
			v.Notes = append(v.Notes, "approved by "+it.Decision.By+" (approval "+it.ID+", used up by this)")
			return q, nil
		case st.Holds(now):
			reason := "denied by " + it.Decision.By
			if it.Decision.Reason != "" {
				reason += ": " + it.Decision.Reason
			}
			blockVerdict(v, phases.KindPolicy, "reviewer", phases.SafeText(reason, phases.MaxReasonBytes))
			v.Notes = append(v.Notes, "approval "+it.ID)
			return q, nil
		case st.State == approvals.Expired && it.State != approvals.Expired:
			op, e := i.k.expireApproval(it, now, i.snap.revision)
			q.ops, q.events = append(q.ops, op), append(q.events, e)
		}
	}
	set := i.snap.approvals
	u, err := i.k.o.Store.ApprovalUsage(ctx, approvals.KindAsk, by, now)
	if err != nil {
		return nil, err
	}
	ops, events, err := i.k.room(ctx, approvals.KindAsk, by, u, set.Quota, now, i.snap.revision)
	if errors.Is(err, ErrApprovalQuota) {
		blockVerdict(v, phases.KindPolicy, kernelName, "a person has to decide, and "+approvals.ErrQuota.Error())
		return &question{}, nil
	}
	if err != nil {
		return nil, err
	}
	q.ops, q.events = append(q.ops, ops...), append(q.events, events...)
	q.fresh = &approvals.Item{
		ID: i.k.o.NewID(now), Kind: approvals.KindAsk, Key: key, State: approvals.Pending, By: by,
		Created: now.UTC().Round(0), Expires: now.Add(set.Timeout).UTC().Round(0),
	}
	for _, a := range c.words.Asking() {
		q.fresh.Hooks = append(q.fresh.Hooks, approvals.Asking{Hook: a.Hook, Digest: a.Digest})
	}
	v.Approval = &phases.ApprovalRef{ID: q.fresh.ID, Expires: q.fresh.Expires}
	if !i.snap.authority.Protected() && !i.snap.authority.Unsigned {
		v.Notes = append(v.Notes, "nobody can approve this: no reviewer has a key yet (`belay reviewer init`)")
	}
	return q, nil
}

// requester says who asks: what the host has seen of the caller, and what the caller says.
func (i *invocation) requester() approvals.Requester {
	return approvals.Requester{
		Credential: cmp.Or(i.o.Credential, "local"), Runtime: i.inv.Runtime, Session: i.inv.Session, Agent: i.inv.Agent,
	}
}

// approvalKey is the key under which a question is filed. It is keyed, since the
// queue is stored and the question holds the action as it was; and it is
// another one for everybody with another credential.
func (k *Kernel) approvalKey(raw, credential string) string {
	return k.o.Digester.Digest(audit.UseApproval, []byte(raw+"\x00"+credential))
}

// into adds what the queue has to do with the invocation to its batch, and shows the
// person what the record shows: nothing else is stored.
func (q *question) into(b *Batch, k *Kernel, i *invocation, v *phases.Verdict, rec *audit.Record) {
	if q == nil || v.Decision == phases.Block {
		return // what was about to be asked, or used, is blocked for another reason meanwhile
	}
	b.Approvals, b.Events = append(b.Approvals, q.ops...), append(b.Events, q.events...)
	it := q.fresh
	if it == nil {
		return
	}
	e := &rec.Verdict
	it.Invocation, it.Phase, it.Tool, it.Reason = e.Invocation, e.Phase, e.Tool, e.Reason
	it.Action, _ = phases.Get(e.Input, "/action")
	if len(v.Changed) > 0 {
		it.Before = it.Action
		it.Action, _ = phases.Get(e.Output, "/action")
	}
	if it.Action == nil {
		it.Notes = append(it.Notes, "the action is too large to be shown")
	}
	scopes := v.Scopes
	it.Scopes = &scopes
	for n := range it.Hooks {
		for h := range rec.Hooks {
			if rec.Hooks[h].Binding == it.Hooks[n].Hook && rec.Hooks[h].Decision == string(phases.HookAsk) {
				it.Hooks[n].Reason = rec.Hooks[h].Reason
			}
		}
	}
	for _, m := range e.Masked {
		it.Notes = append(it.Notes, "covered: "+m)
	}
	b.Approvals = append(b.Approvals, ApprovalOp{Create: it, Quota: i.snap.approvals.Quota})
	b.Events = append(b.Events, k.approvalEvent(it, "requested", b.Now, i.snap.revision))
}

// useApproval makes the step that uses up an approved item, and its event. It
// answers a *phases.Fault when the approval on file does not count: whoever can
// write the database can write "approved", but not a reviewer's signature, and
// not a second use of one.
func (k *Kernel) useApproval(ctx context.Context, s *snapshot, it *approvals.Item, now time.Time) (ApprovalOp, phases.Event, error) {
	fault := func(text string, err error) (ApprovalOp, phases.Event, error) {
		k.o.Logger.LogAttrs(ctx, slog.LevelError, "an approval on file does not count", slog.String("approval", it.ID), slog.String("why", text))
		return ApprovalOp{}, phases.Event{}, phases.NewFault(phases.KindStore, text, err)
	}
	d := it.Decision
	if d == nil || d.Verdict != approvals.Approve {
		return fault("what is on file as approved has no decision", approvals.ErrSignature)
	}
	if err := s.authority.Verify(it, d); err != nil {
		return fault("what is on file as approved was not signed by a reviewer", err)
	}
	e := k.approvalEvent(it, string(approvals.Consumed), now, s.revision)
	e.ID = useID(it.ID)
	used, err := k.o.Store.Events(ctx, EventQuery{ID: e.ID, Limit: 1})
	if err != nil {
		return ApprovalOp{}, phases.Event{}, err
	}
	if len(used) > 0 {
		// It may just have been used, between the two looks at the store.
		if again, err := k.o.Store.Approval(ctx, it.ID); err != nil || again == nil || again.State != it.State {
			return ApprovalOp{}, phases.Event{}, errors.Join(ErrConflict, err)
		}
		return fault("what is on file as approved has been used before", approvals.ErrDecided)
	}
	return ApprovalOp{Change: &approvals.Change{ID: it.ID, From: approvals.Approved, To: approvals.Consumed, At: now}}, e, nil
}

func (k *Kernel) expireApproval(it *approvals.Item, now time.Time, revision string) (ApprovalOp, phases.Event) {
	op := ApprovalOp{Change: &approvals.Change{ID: it.ID, From: it.State, To: approvals.Expired, At: now}}
	return op, k.approvalEvent(it, string(approvals.Expired), now, revision)
}

// RequestApproval puts a question into the queue and records it. When the same
// question (kind and key) is there already and has not run out, or was denied and
// the denial still holds, that item is returned instead. The item's ID, State,
// Created and Expires are set here; everything in it must be redacted. A new item
// supersedes those named, if they are pending. Errors are ErrApprovalQuota or
// ErrUnavailable.
func (k *Kernel) RequestApproval(ctx context.Context, it Approval, supersedes ...string) (Approval, error) {
	s := k.snapshot()
	if s == nil {
		return it, ErrClosed
	}
	defer k.letGo(s)
	for attempt := 1; ; attempt++ {
		now := k.o.Clock.Now()
		b := Batch{Now: now}
		have, err := k.o.Store.ApprovalByKey(ctx, it.Kind, it.Key)
		if err != nil {
			return it, err
		}
		if have != nil {
			st := have.At(now)
			if st.State == approvals.Pending || st.State == approvals.Approved || st.Holds(now) {
				return st, nil
			}
			if st.State == approvals.Expired && have.State != approvals.Expired {
				op, e := k.expireApproval(have, now, s.revision)
				b.Approvals, b.Events = append(b.Approvals, op), append(b.Events, e)
			}
		}
		u, err := k.o.Store.ApprovalUsage(ctx, it.Kind, it.By, now)
		if err != nil {
			return it, err
		}
		gone, err := k.supersede(ctx, &b, supersedes, s.revision)
		if err != nil {
			return it, err
		}
		u.Agent, u.Credential = u.Agent-gone, u.Credential-gone
		ops, events, err := k.room(ctx, it.Kind, it.By, u, s.approvals.Quota, now, s.revision, b.Approvals...)
		if errors.Is(err, ErrConflict) && attempt < maxFilings {
			continue
		}
		if err != nil {
			return it, err
		}
		b.Approvals, b.Events = append(b.Approvals, ops...), append(b.Events, events...)
		it.ID, it.State = k.o.NewID(now), approvals.Pending
		it.Created, it.Expires = now.UTC().Round(0), now.Add(s.approvals.Timeout).UTC().Round(0)
		b.Approvals = append(b.Approvals, ApprovalOp{Create: &it, Quota: s.approvals.Quota})
		b.Events = append(b.Events, k.approvalEvent(&it, "requested", now, s.revision))
		_, err = k.commit(ctx, b)
		if !errors.Is(err, ErrConflict) || attempt == maxFilings {
			return it, err
		}
	}
}

// maxFilings is how often a question is tried to be filed. Where a queue is full,
// everybody who files something wants the place of the same item.
const maxFilings = 4 * maxAttempts

// supersede adds the steps that put pending items aside, and says how many there are.
func (k *Kernel) supersede(ctx context.Context, b *Batch, ids []string, revision string) (n int, err error) {
	for _, id := range ids {
		old, err := k.o.Store.Approval(ctx, id)
		if err != nil {
			return n, err
		}
		if old == nil || old.At(b.Now).State != approvals.Pending {
			continue
		}
		n++
		b.Approvals = append(b.Approvals, ApprovalOp{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Superseded, At: b.Now}})
		b.Events = append(b.Events, k.approvalEvent(old, string(approvals.Superseded), b.Now, revision))
	}
	return n, nil
}

// AcceptApproval approves a pending item without a person, because the operator has
// said so beforehand, and records that. Such an approval never lets an action
// pass: the kernel asks for a reviewer's signature then. Errors are as of DecideApproval.
func (k *Kernel) AcceptApproval(ctx context.Context, id string, d ApprovalDecision) (Approval, error) {
	it, err := k.o.Store.Approval(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	if it == nil || it.Kind != approvals.KindProposal {
		return Approval{}, ErrApprovalUnknown
	}
	now := k.o.Clock.Now()
	ch := &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Approved, Decision: &d, At: now}
	next := ch.Apply(*it)
	return next, k.step(ctx, ch, &next, string(approvals.Approved), "")
}

// FinishAccepted is FinishApproval for an item that AcceptApproval has approved.
func (k *Kernel) FinishAccepted(ctx context.Context, id, note string) error {
	it, err := k.o.Store.Approval(ctx, id)
	if err != nil {
		return err
	}
	if it == nil || it.Kind != approvals.KindProposal {
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
	s := k.snapshot()
	if s == nil {
		return Approval{}, ErrClosed
	}
	defer k.letGo(s)
	it, err := k.o.Store.Approval(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	if it == nil {
		return Approval{}, ErrApprovalUnknown
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
	case errors.Is(err, ErrApprovalSignature), errors.Is(err, ErrApprovalContent):
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
	it, err := k.o.Store.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, ErrApprovalUnknown
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

// Approval returns an item as it stands now. Errors are ErrApprovalUnknown or ErrUnavailable.
func (k *Kernel) Approval(ctx context.Context, id string) (Approval, error) {
	it, err := k.o.Store.Approval(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	if it == nil {
		return Approval{}, ErrApprovalUnknown
	}
	st := it.At(k.o.Clock.Now())
	if st.State != it.State {
		_ = k.SweepApprovals(ctx) // what it says holds all the same
	}
	return st, nil
}

// Approvals returns items as they stand now, newest first, after writing down
// which have run out. The error is ErrUnavailable.
func (k *Kernel) Approvals(ctx context.Context, q ApprovalQuery) ([]Approval, error) {
	if err := k.SweepApprovals(ctx); err != nil && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	list, err := k.o.Store.Approvals(ctx, q)
	now := k.o.Clock.Now()
	for n := range list {
		list[n] = list[n].At(now)
	}
	return list, err
}

// sweep is how many items that have run out are written down in one transaction.
const sweep = 64

// SweepApprovals records which items have run out: nobody has decided about them, or
// nobody has used them. That they count as denied does not depend on it.
func (k *Kernel) SweepApprovals(ctx context.Context) error {
	for {
		now := k.o.Clock.Now()
		due, err := k.o.Store.Approvals(ctx, ApprovalQuery{DueAt: now, Limit: sweep})
		if err != nil || len(due) == 0 {
			return err
		}
		b := Batch{Now: now}
		for n := range due {
			op, e := k.expireApproval(&due[n], now, k.Revision())
			b.Approvals, b.Events = append(b.Approvals, op), append(b.Events, e)
		}
		if _, err := k.o.Store.Commit(ctx, b); err != nil {
			if errors.Is(err, ErrConflict) { // another process was faster
				return nil
			}
			return err
		}
		if len(due) < sweep {
			return nil
		}
	}
}

// Protected reports whether deciding takes a reviewer's key.
func (k *Kernel) Protected() bool {
	s := k.current.Load()
	return s != nil && s.authority.Protected()
}

// letGo releases a configuration that was used for a moment.
func (k *Kernel) letGo(s *snapshot) {
	if err := s.release(); err != nil {
		k.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a hook could not be closed", slog.Any("error", err))
	}
}
