package kernel

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Request implements hostcalls.LeaseLedger: an operator's rule answers it, or a
// person, or a trusted hook that mints a lease for it. The same request (of the
// same hook, for the same holder) is the same question; once it is approved, the next
// call gets the lease, whose time begins then.
func (t *turnLedger) Request(ctx context.Context, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	var doc requestDocument
	err := strictLease(request, &doc)
	if err == nil {
		err = doc.Check(leases.Rule{MaxTTL: leases.MaxLifetime})
	}
	if err == nil && (doc.Reason == "" || doc.ID != "") {
		err = &leases.Error{Class: leases.ErrInvalid, Text: "a request has a reason, and no id"}
	}
	if err != nil {
		return nil, refusal(err)
	}
	if doc.Parent != "" { // another holder's lease is no parent
		who := t.chain.invocation.holder()
		if _, err := t.book.Get(ctx, doc.Parent, &who); err != nil {
			return nil, refusal(err)
		}
	}
	for n := range t.chain.invocation.snap.leaseRules {
		rule := &t.chain.invocation.snap.leaseRules[n]
		if !rule.fits(&doc.Request, t.view.Agent) {
			continue
		}
		switch rule.Decision {
		case LeaseGrant:
			s := leaseChange{what: "minted",
				issuer: leases.Issuer{Kind: leases.ByRule, Hook: t.binding.spec.Name, Digest: t.binding.digest,
					Invocation: t.chain.invocation.inv.ID},
				notes: []string{"granted by " + ruleName(rule.n)}}
			v, err := t.makeWithin(ctx, doc.Request, s, leases.Rule{MaxTTL: rule.MaxTTL})
			return reply(v, err)
		case LeaseDeny:
			t.stage(leaseChange{what: "refused", always: true, lease: t.wanted(&doc.Request),
				issuer: leases.Issuer{Kind: leases.ByRule}, notes: []string{"denied by " + ruleName(rule.n)}})
			return nil, refusal(&leases.Error{Class: leases.ErrWider, Text: "denied by the operator's rules"})
		}
		break
	}
	return t.ask(ctx, &doc)
}

func (t *turnLedger) makeWithin(ctx context.Context, r leases.Request, s leaseChange,
	rule leases.Rule) (*leases.View, error) {
	m, err := t.book.Mint(ctx, r, t.chain.invocation.holder(), s.issuer, rule)
	if err != nil {
		return nil, err
	}
	op := m.Op
	s.op, s.lease = &op, op.Lease
	t.stage(s)
	return leases.ViewOf(&op.Lease, op.At, m.Token), nil
}

// wanted is a request in the form of a lease, for the record.
func (t *turnLedger) wanted(r *leases.Request) leases.Lease {
	return leases.Lease{Holder: t.chain.invocation.holder(), Capability: r.Capability, Scope: *r.Scope,
		MaxTTLS: max(r.TTLS, r.MaxTTLS),
		MaxUses: max(r.MaxUses, 1), Parent: r.Parent}
}

// requestKey files the same request under the same key.
func (t *turnLedger) requestKey(r *leases.Request) (string, error) {
	who := t.chain.invocation.holder()
	norm := *r
	scope := r.Scope.Normalize()
	norm.Scope, norm.MaxUses = &scope, max(r.MaxUses, 1)
	raw, err := json.Marshal(struct {
		Holder leases.Holder  `json:"holder"`
		Hook   string         `json:"hook"`
		Digest string         `json:"digest"`
		Lease  leases.Request `json:"lease"`
	}{who, t.binding.spec.Name, t.binding.digest, norm})
	return t.chain.invocation.kernel.approvalKey("lease\x00"+string(raw), who.Credential), err
}

// ask puts the request into the queue, or returns its outcome.
func (t *turnLedger) ask(ctx context.Context, doc *requestDocument) (jsontext.Value, error) {
	i := t.chain.invocation
	key, err := t.requestKey(&doc.Request)
	if err != nil {
		return nil, err
	}
	for n := range t.done { // asked in this very turn
		for _, q := range t.done[n].question {
			if q.Create != nil && q.Create.Key == key {
				return pending(q.Create)
			}
			if t.done[n].key == key {
				return nil, refusal(&leases.Error{Class: leases.ErrInvalid, Text: "asked for and given in this very turn"})
			}
		}
	}
	item, err := i.kernel.options.Store.ApprovalByKey(ctx, approvals.KindLease, key)
	if err != nil {
		return nil, err
	}
	change := leaseChange{what: "requested", always: true, lease: t.wanted(&doc.Request), issuer: t.issuer()}
	if item != nil && !queue.Over(item, i.at) {
		var q question
		if item, err = i.kernel.orAside(ctx, item, key, &q, i.at, i.snap.revision); err != nil {
			return nil, err
		}
		change.question, change.events = append(change.question, q.ops...), append(change.events, q.events...)
	}
	if item != nil {
		switch st := item.At(i.at); {
		case st.State == approvals.Pending:
			return pending(item)
		case st.State == approvals.Approved:
			return t.approved(ctx, doc, item, key)
		case queue.Holds(&st, i.at):
			if err := i.kernel.vouchedDenial(ctx, i.snap, item); err != nil {
				return nil, err
			}
			return nil, refusal(&leases.Error{Class: leases.ErrWider, Text: "a person has denied it"})
		case st.State == approvals.Expired && item.State != approvals.Expired:
			op, e := i.kernel.expireApproval(item, i.at, i.snap.revision)
			change.question, change.events = append(change.question, op), append(change.events, e)
		}
	}
	u, err := i.kernel.options.Store.ApprovalUsage(ctx, approvals.KindLease, i.requester(), i.at)
	if err != nil {
		return nil, err
	}
	var spoken []approvals.Op
	for _, d := range slices.Concat(t.chain.leaseChanges, t.done) {
		spoken = append(spoken, d.question...)
	}
	ops, events, err := i.kernel.evictForQuota(ctx, approvals.KindLease, i.requester(), u, i.snap.approvals.Quota, i.at,
		i.snap.revision,
		spoken...)
	if err != nil && !errors.Is(err, approvals.ErrQuota) {
		return nil, err
	}
	if err != nil {
		return nil, refusal(&leases.Error{Class: leases.ErrQuota, Text: approvals.ErrQuota.Error()})
	}
	fresh, err := t.question(doc, key)
	if err != nil {
		return nil, err
	}
	change.question, change.events = append(change.question, ops...), append(change.events, events...)
	change.question = append(change.question, approvals.Op{Create: fresh, Quota: i.snap.approvals.Quota, At: i.at})
	change.events = append(change.events, i.kernel.approvalEvent(fresh, "requested", i.at.Wall, i.snap.revision))
	t.stage(change)
	return pending(fresh)
}

func pending(it *approvals.Item) (jsontext.Value, error) {
	doc, err := json.Marshal(pendingReply{Approval: it.ID, Expires: it.Expires})
	if err != nil {
		return nil, err
	}
	return nil, &hostcalls.Refusal{Errno: hostcalls.Pending, Reply: doc}
}

// question shows a person a request: redacted, like all that is stored.
func (t *turnLedger) question(doc *requestDocument, key string) (*approvals.Item, error) {
	i := t.chain.invocation
	raw, err := json.Marshal(&doc.Request)
	if err != nil {
		return nil, err
	}
	terms, masked, err := i.redactor().JSON(raw)
	if err != nil {
		return nil, err
	}
	reason, err := i.redactor().Text(phases.SafeText(doc.Reason, phases.MaxReasonBytes))
	if err != nil {
		return nil, err
	}
	it := &approvals.Item{
		ID: i.kernel.options.NewID(i.at.Wall), Kind: approvals.KindLease, Key: key, State: approvals.Pending,
		By:      i.requester(),
		Created: i.at.Wall.UTC(), Expires: i.at.Wall.Add(i.snap.approvals.Timeout).UTC(), Clock: i.at.Stamp(),
		Invocation: i.inv.ID, Phase: i.inv.Phase, Tool: i.inv.Tool(), Reason: reason, Details: terms,
		Hooks: []approvals.Asking{{Hook: t.binding.spec.Name, Digest: t.binding.digest, Reason: reason}},
	}
	for _, m := range masked {
		it.Notes = append(it.Notes, queue.NoteRedacted("/details"+m))
	}
	return it, nil
}

// approved makes the lease that a person has approved. The approval is used up with it.
func (t *turnLedger) approved(ctx context.Context, doc *requestDocument, item *approvals.Item,
	key string) (jsontext.Value, error) {
	i := t.chain.invocation
	now, err := t.question(doc, key)
	if err != nil {
		return nil, err
	}
	if err := queue.SameQuestion(item, now); err != nil {
		return nil, i.kernel.unsound(ctx, item, "what was approved is not the lease that is wanted", err)
	}
	op, e, err := i.kernel.useApproval(ctx, i.snap, item, i.at)
	if err != nil {
		return nil, err
	}
	s := leaseChange{what: "minted",
		issuer: leases.Issuer{Kind: leases.ByPerson, Person: item.Decision.By, Hook: t.binding.spec.Name,
			Digest:     t.binding.digest,
			Invocation: i.inv.ID},
		key: key, question: []approvals.Op{op}, events: []phases.Event{e}, notes: []string{"approval " + item.ID}}
	return reply(t.makeWithin(ctx, doc.Request, s, leases.Rule{MaxTTL: leases.MaxLifetime}))
}

// waiting lists the requests of the invocation's credential that wait for a decision.
func (t *turnLedger) waiting(ctx context.Context) ([]leaseRequest, error) {
	i := t.chain.invocation
	list, err := i.kernel.options.Store.Approvals(ctx,
		approvals.Query{Kind: approvals.KindLease, State: approvals.Pending, Owner: i.requester().Credential, NotDueAt: i.at})
	if err == nil {
		list, err = i.kernel.soundOnly(ctx, list)
	}
	out := []leaseRequest{}
	for n := range list {
		it := &list[n]
		if it.By.Runtime != i.inv.Runtime || it.By.Session != i.inv.Session {
			continue
		}
		q := leaseRequest{ID: it.ID, Reason: it.Reason, Expires: it.Expires}
		if len(it.Hooks) > 0 {
			q.Hook = it.Hooks[0].Hook
		}
		if json.Unmarshal(it.Details, &q.Lease) == nil { // a document with redactions may not decode
			out = append(out, q)
		}
	}
	return out, err
}

// asked returns a request that waits, and makes its holder the holder.
func (t *turnLedger) asked(ctx context.Context, id string,
	holder *leases.Holder) (*approvals.Item, *leases.Request, error) {
	i := t.chain.invocation
	unknown := &leases.Error{Class: leases.ErrUnknown, Text: "no such request"}
	item, err := i.kernel.storedItem(ctx, id)
	if err != nil && !errors.Is(err, approvals.ErrUnknown) {
		return nil, nil, err
	}
	if item == nil || item.Kind != approvals.KindLease || item.At(i.at).State != approvals.Pending ||
		item.By.Credential != holder.Credential || item.By.Runtime != holder.Runtime || item.By.Session != i.inv.Session {
		return nil, nil, unknown
	}
	var r leases.Request
	if err := json.Unmarshal(item.Details, &r); err != nil || r.Scope == nil {
		return nil, nil, errors.Join(unknown, err)
	}
	holder.Session, holder.Agent = item.By.Session, item.By.Agent
	return item, &r, nil
}

// within says whether a lease that answers a request is contained in it.
func within(r, asked *leases.Request) error {
	have := leases.Lease{Capability: asked.Capability}
	if r.Scope == nil || !have.CoversCapability(r.Capability) || !asked.Scope.Contains(*r.Scope) ||
		max(r.TTLS, r.MaxTTLS) > max(asked.TTLS, asked.MaxTTLS) || max(r.MaxUses, 1) > max(asked.MaxUses, 1) {
		return &leases.Error{Class: leases.ErrWider, Text: "more than was asked for"}
	}
	return nil
}
