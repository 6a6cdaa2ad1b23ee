package kernel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases/clock"
	"github.com/belay-hooks/belay/phases"
)

// question is what the queue has to do with one attempt at an invocation whose
// hooks ask for a person.
type question struct {
	ops    []approvals.Op
	events []phases.Event
	at     clock.Instant   // when the queue was looked at
	fresh  *approvals.Item // to be created; what it shows comes from the record
	used   *approvals.Item // to be used up, if it shows what the record shows now
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
			f = storeFault("the queue of approvals could not be read", err)
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
	at := i.k.at(ctx)
	now := at.Wall
	it, err := i.k.o.Store.ApprovalByKey(ctx, approvals.KindAsk, key)
	if err != nil {
		return nil, err
	}
	q := &question{at: at}
	if it != nil && !it.Over(at) {
		if it, err = i.k.orAside(ctx, it, key, q, at, i.snap.revision); err != nil {
			return nil, err
		}
	}
	if it != nil {
		switch st := it.At(at); {
		case st.State == approvals.Pending:
			v.Approval = &phases.ApprovalRef{ID: it.ID, Expires: it.Expires}
			noteHidden(v, it)
			return q, nil
		case st.State == approvals.Approved:
			op, e, err := i.k.useApproval(ctx, i.snap, it, at)
			if err != nil {
				return nil, err
			}
			q.ops, q.events, q.used = append(q.ops, op), append(q.events, e), it
			v.Decision, v.Reason, v.Kind, v.DecidedBy = phases.Allow, "", "", ""
			v.Notes = append(v.Notes, "approved by "+it.Decision.By+" (approval "+it.ID+", used up by this)")
			return q, nil
		case st.Holds(at):
			if err := i.k.vouchedDenial(ctx, i.snap, it); err != nil {
				return nil, err
			}
			reason := "denied by " + it.Decision.By
			if it.Decision.Reason != "" {
				reason += ": " + it.Decision.Reason
			}
			blockVerdict(v, phases.KindPolicy, "reviewer", phases.SafeText(reason, phases.MaxReasonBytes))
			v.Notes = append(v.Notes, "approval "+it.ID)
			return q, nil
		case st.State == approvals.Expired && it.State != approvals.Expired:
			op, e := i.k.expireApproval(it, at, i.snap.revision)
			q.ops, q.events = append(q.ops, op), append(q.events, e)
		}
	}
	set := i.snap.approvals
	u, err := i.k.o.Store.ApprovalUsage(ctx, approvals.KindAsk, by, at)
	if err != nil {
		return nil, err
	}
	ops, events, err := i.k.room(ctx, approvals.KindAsk, by, u, set.Quota, at, i.snap.revision)
	if errors.Is(err, approvals.ErrQuota) {
		blockVerdict(v, phases.KindPolicy, kernelName, "a person has to decide, and "+approvals.ErrQuota.Error())
		return &question{}, nil
	}
	if err != nil {
		return nil, err
	}
	q.ops, q.events = append(q.ops, ops...), append(q.events, events...)
	q.fresh = &approvals.Item{
		ID: i.k.o.NewID(now), Kind: approvals.KindAsk, Key: key, State: approvals.Pending, By: by,
		Created: now.UTC(), Expires: now.Add(set.Timeout).UTC(), Clock: at.Stamp(),
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

// into adds what the queue has to do with the invocation to its batch. An approval
// that was signed for something else than what the record shows now is not used: the
// error is a *phases.Fault, and nothing of the batch may be committed.
func (q *question) into(b *Batch, i *invocation, c *chain, v *phases.Verdict, rec *audit.Record) error {
	if q == nil || v.Decision == phases.Block {
		return nil // what was about to be asked, or used, is blocked for another reason meanwhile
	}
	if q.used != nil {
		now := approvals.Item{Kind: approvals.KindAsk, Key: q.used.Key, By: i.requester()}
		show(&now, c, v, rec)
		if err := approvals.SameQuestion(q.used, &now); err != nil {
			return i.k.unsound(context.Background(), q.used, "what was approved is not what would run", err)
		}
	}
	b.Approvals, b.Events = append(b.Approvals, q.ops...), append(b.Events, q.events...)
	if q.fresh == nil {
		return nil
	}
	show(q.fresh, c, v, rec)
	noteHidden(v, q.fresh)
	b.Approvals = append(b.Approvals, approvals.Op{Create: q.fresh, Quota: i.snap.approvals.Quota, At: q.at})
	b.Events = append(b.Events, i.k.approvalEvent(q.fresh, "requested", b.Now, i.snap.revision))
	return nil
}

// show fills in what a person is shown of an ask: what the record shows and nothing
// else, and nothing that would differ for the same question. What is signed can be
// made anew from the action when the approval is used.
func show(it *approvals.Item, c *chain, v *phases.Verdict, rec *audit.Record) {
	e := &rec.Verdict
	it.Invocation, it.Phase, it.Tool = e.Invocation, e.Phase, e.Tool
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
	c.i.hide(it, v)
	for _, a := range c.words.Asking() {
		asking := approvals.Asking{Hook: a.Hook, Digest: a.Digest}
		for h := range rec.Hooks {
			if rec.Hooks[h].Binding == a.Hook && rec.Hooks[h].Decision == string(phases.HookAsk) {
				asking.Reason = rec.Hooks[h].Reason
			}
		}
		it.Hooks = append(it.Hooks, asking)
	}
	it.Reason = it.Hooks[0].Reason // of the hook that decided; the verdict that uses an approval has none
	for _, m := range e.Masked {
		if approvals.ShownPointer(m) {
			it.Notes = append(it.Notes, approvals.NoteRedacted(m))
		}
	}
}

// useApproval makes the step that uses up an approved item, and its event. It
// answers a *phases.Fault when the approval on file does not count: whoever can
// write the database can write "approved", but not a reviewer's signature, and
// not a second use of one.
func (k *Kernel) useApproval(ctx context.Context, s *snapshot, it *approvals.Item,
	at clock.Instant) (approvals.Op, phases.Event, error) {
	fault := func(text string, err error) (approvals.Op, phases.Event, error) {
		k.o.Logger.LogAttrs(ctx, slog.LevelError, "an approval on file does not count", slog.String("approval", it.ID),
			slog.String("why", text))
		return approvals.Op{}, phases.Event{}, storeFault(text, err)
	}
	d := it.Decision
	if d == nil || d.Verdict != approvals.Approve {
		return fault("what is on file as approved has no decision", approvals.ErrSignature)
	}
	if err := s.authority.Verify(it, d); err != nil {
		return fault("what is on file as approved was not signed by a reviewer", err)
	}
	e := k.approvalEvent(it, string(approvals.Consumed), at.Wall, s.revision)
	e.ID = useID(it.ID)
	used, err := k.o.Store.Events(ctx, wire.Query{ID: e.ID})
	if err != nil {
		return approvals.Op{}, phases.Event{}, err
	}
	if len(used) > 0 {
		// It may just have been used, between the two looks at the store.
		if again, err := k.o.Store.Approval(ctx, it.ID); err != nil || again == nil || again.State != it.State {
			return approvals.Op{}, phases.Event{}, errors.Join(ErrConflict, err)
		}
		return fault("what is on file as approved has been used before", approvals.ErrDecided)
	}
	return approvals.Op{Change: &approvals.Change{ID: it.ID, From: approvals.Approved, To: approvals.Consumed, At: at}}, e,
		nil
}

// letGo releases a configuration that was used for a moment.
func (k *Kernel) letGo(s *snapshot) {
	if err := s.release(); err != nil {
		k.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a hook could not be closed", slog.Any("error", err))
	}
}
