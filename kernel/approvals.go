package kernel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// question holds the steps of the queue for one attempt at an invocation whose
// hooks ask for a person.
type question struct {
	ops    []approvals.Op
	events []phases.Event
	at     leases.Instant  // when the queue was looked at
	fresh  *approvals.Item // to be created; show fills it in from the record
	used   *approvals.Item // to be used up, if it shows what the record shows now
}

// askApproval looks into the queue for an ask that the runtime does not put to the
// person itself: the verdict becomes an allow (approved, and used up by this), a
// block (denied, or nothing more can be asked), or points at the item that waits.
// With an error, a *phases.Fault, the verdict has become a block; ErrConflict
// means that the attempt has to begin anew.
func (i *invocation) askApproval(ctx context.Context, c *chain, verdict *phases.Verdict) (*question, error) {
	if verdict.Decision != phases.Ask || verdict.Enforced == phases.EnforcedDelegated {
		return nil, nil
	}
	question, err := i.lookUpApproval(context.WithoutCancel(ctx), c, verdict)
	if errors.Is(err, ErrConflict) {
		return nil, err
	}
	if err != nil {
		f := phases.FaultOf(err)
		if f == nil {
			f = storeFault("the queue of approvals could not be read", err)
		}
		blockVerdict(verdict, f.Kind, kernelName, f.Text)
		i.applyEnforcement(verdict)
		return nil, f
	}
	i.applyEnforcement(verdict)
	return question, nil
}

func (i *invocation) lookUpApproval(ctx context.Context, c *chain, verdict *phases.Verdict) (*question, error) {
	raw, err := c.words.ApprovalKey()
	if err != nil || raw == "" {
		return nil, phases.NewFault(phases.KindProtocol, "what is asked has no canonical form", err)
	}
	by := i.requester()
	key := i.kernel.approvalKey(raw, by.Credential)
	at := i.kernel.at(ctx)
	now := at.Wall
	item, err := i.kernel.options.Store.ApprovalByKey(ctx, approvals.KindAsk, key)
	if err != nil {
		return nil, err
	}
	pending := &question{at: at}
	if item != nil && !queue.Over(item, at) {
		if item, err = i.kernel.orAside(ctx, item, key, pending, at, i.snap.revision); err != nil {
			return nil, err
		}
	}
	if item != nil {
		switch st := item.At(at); {
		case st.State == approvals.Pending:
			verdict.Approval = &phases.ApprovalRef{ID: item.ID, Expires: item.Expires}
			noteHidden(verdict, item)
			return pending, nil
		case st.State == approvals.Approved:
			op, e, err := i.kernel.useApproval(ctx, i.snap, item, at)
			if err != nil {
				return nil, err
			}
			pending.ops, pending.events, pending.used = append(pending.ops, op), append(pending.events, e), item
			verdict.Decision, verdict.Reason, verdict.Kind, verdict.DecidedBy = phases.Allow, "", "", ""
			verdict.Notes = append(verdict.Notes, "approved by "+item.Decision.By+" (approval "+item.ID+", used up by this)")
			return pending, nil
		case queue.Holds(&st, at):
			if err := i.kernel.vouchedDenial(ctx, i.snap, item); err != nil {
				return nil, err
			}
			reason := "denied by " + item.Decision.By
			if item.Decision.Reason != "" {
				reason += ": " + item.Decision.Reason
			}
			blockVerdict(verdict, phases.KindPolicy, "reviewer", phases.SafeText(reason, phases.MaxReasonBytes))
			verdict.Notes = append(verdict.Notes, "approval "+item.ID)
			return pending, nil
		case st.State == approvals.Expired && item.State != approvals.Expired:
			op, e := i.kernel.expireApproval(item, at, i.snap.revision)
			pending.ops, pending.events = append(pending.ops, op), append(pending.events, e)
		}
	}
	settings := i.snap.approvals
	usage, err := i.kernel.options.Store.ApprovalUsage(ctx, approvals.KindAsk, by, at)
	if err != nil {
		return nil, err
	}
	ops, events, err := i.kernel.evictForQuota(ctx, approvals.KindAsk, by, usage, settings.Quota, at, i.snap.revision)
	if errors.Is(err, approvals.ErrQuota) {
		blockVerdict(verdict, phases.KindPolicy, kernelName, "a person has to decide, and "+approvals.ErrQuota.Error())
		return &question{}, nil
	}
	if err != nil {
		return nil, err
	}
	pending.ops, pending.events = append(pending.ops, ops...), append(pending.events, events...)
	pending.fresh = &approvals.Item{
		ID: i.kernel.options.NewID(now), Kind: approvals.KindAsk, Key: key, State: approvals.Pending, By: by,
		Created: now.UTC(), Expires: now.Add(settings.Timeout).UTC(), Clock: at.Stamp(),
	}
	verdict.Approval = &phases.ApprovalRef{ID: pending.fresh.ID, Expires: pending.fresh.Expires}
	if !i.snap.authority.Protected() && !i.snap.authority.Unsigned {
		note := "no reviewer can approve this yet: none has a key (`belay reviewer init`)"
		if i.snap.authority.Terminal != nil {
			note += "; until then a person decides at a terminal"
		}
		verdict.Notes = append(verdict.Notes, note)
	}
	return pending, nil
}

// requester names the caller: by the credential that the host has seen, and by its own claims.
func (i *invocation) requester() approvals.Requester {
	return approvals.Requester{
		Credential: cmp.Or(i.options.Credential, "local"), Runtime: i.inv.Runtime, Session: i.inv.Session, Agent: i.inv.Agent,
	}
}

// approvalKey is the key under which a question is filed. It is keyed, since the
// queue is stored and the question holds the action as it was; and it is
// another one for everybody with another credential.
func (k *Kernel) approvalKey(raw, credential string) string {
	return k.options.Digester.Digest(audit.UseApproval, []byte(raw+"\x00"+credential))
}

// stage adds the steps of the queue to the batch. An approval
// that was signed for something else than what the record shows now is not used: the
// error is a *phases.Fault, and nothing of the batch may be committed.
func (q *question) stage(batch *Batch, i *invocation, chain *chain, verdict *phases.Verdict, rec *audit.Record) error {
	if q == nil || verdict.Decision == phases.Block {
		return nil // another reason blocks the invocation: nothing is asked or used
	}
	if q.used != nil {
		now := approvals.Item{Kind: approvals.KindAsk, Key: q.used.Key, By: i.requester()}
		show(&now, chain, verdict, rec)
		if err := queue.SameQuestion(q.used, &now); err != nil {
			return i.kernel.unsound(context.Background(), q.used, "what was approved is not what would run", err)
		}
	}
	batch.Approvals, batch.Events = append(batch.Approvals, q.ops...), append(batch.Events, q.events...)
	if q.fresh == nil {
		return nil
	}
	show(q.fresh, chain, verdict, rec)
	noteHidden(verdict, q.fresh)
	batch.Approvals = append(batch.Approvals, approvals.Op{Create: q.fresh, Quota: i.snap.approvals.Quota, At: q.at})
	batch.Events = append(batch.Events, i.kernel.approvalEvent(q.fresh, "requested", batch.Now, i.snap.revision))
	return nil
}

// show fills in an ask's item from the record alone, with nothing that would differ for the same
// question. When the approval is used, the kernel makes the signed content anew from the action.
func show(item *approvals.Item, chain *chain, verdict *phases.Verdict, rec *audit.Record) {
	event := &rec.Verdict
	item.Invocation, item.Phase, item.Tool = event.Invocation, event.Phase, event.Tool
	item.Action, _ = phases.Get(event.Input, "/action")
	if len(verdict.Changed) > 0 {
		item.Before = item.Action
		item.Action, _ = phases.Get(event.Output, "/action")
	}
	if item.Action == nil {
		item.Notes = append(item.Notes, "the action is too large to be shown")
	}
	scopes := verdict.Scopes
	item.Scopes = &scopes
	chain.invocation.hide(item, verdict)
	for _, a := range chain.words.Asking() {
		asking := approvals.Asking{Hook: a.Hook, Digest: a.Digest}
		if a.Digest == "" && a.Hook == kernelName {
			asking.Reason = a.Reason // of decideRest: a sentence of the kernel's own
		}
		for h := range rec.Hooks {
			if rec.Hooks[h].Binding == a.Hook && rec.Hooks[h].Decision == string(phases.HookAsk) {
				asking.Reason = rec.Hooks[h].Reason
			}
		}
		item.Hooks = append(item.Hooks, asking)
	}
	item.Reason = item.Hooks[0].Reason // of the hook that decided; the verdict that uses an approval has none
	for _, m := range event.Masked {
		if queue.ShownPointer(m) {
			item.Notes = append(item.Notes, queue.NoteRedacted(m))
		}
	}
}

// useApproval makes the step that uses up an approved item, and its event. It
// answers a *phases.Fault when the stored approval does not count: any process that can
// write the database can write "approved", but not a reviewer's signature, and
// not a second use of one.
func (k *Kernel) useApproval(ctx context.Context, snap *snapshot, item *approvals.Item,
	at leases.Instant) (approvals.Op, phases.Event, error) {
	fault := func(text string, err error) (approvals.Op, phases.Event, error) {
		k.options.Logger.LogAttrs(ctx, slog.LevelError, "a stored approval does not count",
			slog.String("approval", item.ID),
			slog.String("why", text))
		return approvals.Op{}, phases.Event{}, storeFault(text, err)
	}
	d := item.Decision
	if d == nil || d.Verdict != approvals.Approve {
		return fault("what is stored as approved has no decision", approvals.ErrSignature)
	}
	if err := snap.authority.Verify(item, d); err != nil {
		return fault("what is stored as approved was not signed by a reviewer", err)
	}
	event := k.approvalEvent(item, string(approvals.Consumed), at.Wall, snap.revision)
	event.ID = useID(item.ID)
	used, err := k.options.Store.Events(ctx, wire.Query{ID: event.ID})
	if err != nil {
		return approvals.Op{}, phases.Event{}, err
	}
	other, err := k.elsewhere(ctx, event.ID)
	if err != nil {
		return approvals.Op{}, phases.Event{}, err
	}
	if len(used) > 0 || other != nil {
		// It may just have been used, between the two looks at the store.
		if again, err := k.options.Store.Approval(ctx, item.ID); err != nil || again == nil || again.State != item.State {
			return approvals.Op{}, phases.Event{}, errors.Join(ErrConflict, err)
		}
		return fault("what is stored as approved has been used before", approvals.ErrDecided)
	}
	return approvals.Op{Change: &approvals.Change{ID: item.ID, From: approvals.Approved, To: approvals.Consumed, At: at}},
		event,
		nil
}
