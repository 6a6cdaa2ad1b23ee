package kernel

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// LeasePending says that the lease is made when a reviewer has approved it.
type LeasePending struct{ Approval approvals.Item }

// Error names the approval that is missing.
func (e *LeasePending) Error() string {
	return "a reviewer has to approve it first (approval " + e.Approval.ID + ")"
}

// handDocument shows a person a lease that is to be made by hand.
type handDocument struct {
	leases.Request
	Holder *leases.Holder `json:"holder,omitzero"` // nil: who asked
}

// MintLease makes a lease in a person's name and records that. The token is shown
// here and nowhere else. Where there are reviewers it makes none: the
// agent could call this as well. It puts the lease into the queue, answers a
// *LeasePending, and MintApproved makes the lease once a reviewer has signed. Other
// errors are of package leases' classes, of the queue, or ErrUnavailable.
func (k *Kernel) MintLease(ctx context.Context, request leases.Request, holder leases.Holder,
	person string) (*leases.View, error) {
	request = ownRequest(request)
	if err := errors.Join(checkNames(holder.Session, holder.Agent),
		checkNames(holder.Runtime, holder.Credential)); err != nil ||
		len(holder.Runtime) > phases.MaxRuntimeBytes {
		return nil, errors.Join(&leases.Error{Class: leases.ErrInvalid, Text: "holder: a name is not valid"}, err)
	}
	if err := request.Check(leases.Rule{MaxTTL: leases.MaxLifetime}); err != nil {
		return nil, err
	}
	person = phases.SafeLine(person, phases.MaxIDBytes)
	if k.Protected() {
		return nil, k.askForLease(ctx, handDocument{request, &holder}, person)
	}
	issuer := leases.Issuer{Kind: leases.ByPerson, Person: person}
	return k.mintNow(ctx, request, holder, leaseChange{what: "minted", issuer: issuer})
}

func (k *Kernel) mintNow(ctx context.Context, r leases.Request, h leases.Holder, s leaseChange) (*leases.View, error) {
	book := k.book(k.options.Store)
	var view *leases.View
	err := k.retryOnConflict(func() error {
		minted, err := book.Mint(ctx, r, h, s.issuer, leases.Rule{MaxTTL: leases.MaxLifetime})
		if err != nil {
			return err
		}
		view = leases.ViewOf(&minted.Op.Lease, minted.Op.At, minted.Token)
		s.op, s.lease = &minted.Op, minted.Op.Lease
		return k.change(ctx, s)
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

// askForLease puts a lease by hand into the queue.
func (k *Kernel) askForLease(ctx context.Context, doc handDocument, person string) error {
	raw, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	redacted, masked, err := k.options.Redactor.JSON(raw)
	if err != nil || len(masked) > 0 {
		return &leases.Error{Class: leases.ErrInvalid,
			Text: "its terms look like they hold a secret, which belay may not show to a reviewer"}
	}
	it, err := k.RequestApproval(ctx, approvals.Item{
		Kind: approvals.KindLease, Key: k.handKey(&doc, person), Reason: "a lease by hand, wanted by " + person,
		By: approvals.Requester{Credential: person}, Details: redacted,
	})
	if err != nil {
		return err
	}
	if it.State == approvals.Denied {
		return &leases.Error{Class: leases.ErrWider, Text: "a reviewer has denied it (approval " + it.ID + ")"}
	}
	return &LeasePending{it}
}

// handKey is the key of a lease by hand. Its terms are texts and numbers: encoding them
// cannot fail.
func (k *Kernel) handKey(doc *handDocument, person string) string {
	raw, _ := json.Marshal(*doc, json.Deterministic(true))
	return k.approvalKey("lease by hand\x00"+string(raw), person)
}

// MintApproved makes the lease that a reviewer has approved, once. Errors are of the
// queue (see FinishApproval), of package leases' classes, or ErrUnavailable.
func (k *Kernel) MintApproved(ctx context.Context, id string) (*leases.View, error) {
	snap := k.snapshot()
	if snap == nil {
		return nil, ErrClosed
	}
	defer func() { _ = snap.release() }() // a module that cannot be closed is no reason against a lease
	item, err := k.CheckApproval(ctx, id)
	if err != nil {
		return nil, err
	}
	var doc handDocument
	if item.Kind != approvals.KindLease || json.Unmarshal(item.Details, &doc, json.RejectUnknownMembers(true)) != nil ||
		doc.Scope == nil {
		return nil, &leases.Error{Class: leases.ErrInvalid, Text: "this approval is not about a lease"}
	}
	h := leases.Holder{Runtime: item.By.Runtime, Session: item.By.Session, Agent: item.By.Agent,
		Credential: item.By.Credential}
	if doc.Holder != nil {
		h = *doc.Holder
	}
	op, e, err := k.useApproval(ctx, snap, item, k.at(ctx))
	if err != nil {
		return nil, err
	}
	v, err := k.mintNow(ctx, doc.Request, h,
		leaseChange{what: "minted", issuer: leases.Issuer{Kind: leases.ByPerson, Person: item.Decision.By},
			question: []approvals.Op{op}, events: []phases.Event{e}, notes: []string{"approval " + item.ID}})
	if errors.Is(err, ErrConflict) {
		err = approvals.ErrDecided
	}
	return v, err
}

// RevokeLease takes a lease and everything below it back, or with prefix everything
// at or below an id, in a person's name. Errors are as of MintLease.
func (k *Kernel) RevokeLease(ctx context.Context, id string, prefix bool, person string) error {
	book := k.book(k.options.Store)
	return k.retryOnConflict(func() error {
		op, err := book.Revoke(ctx, id, prefix)
		if err != nil {
			return err
		}
		s := leaseChange{op: &op, what: "revoked", lease: leases.Lease{ID: id},
			issuer: leases.Issuer{Kind: leases.ByPerson, Person: phases.SafeLine(person, phases.MaxIDBytes)}}
		if l, err := k.options.Store.Lease(ctx, id); err == nil && l != nil {
			s.lease = *l
			s.lease.State = leases.Revoked
		}
		return k.change(ctx, s)
	})
}

// retryOnConflict runs f again while the store answers ErrConflict.
func (k *Kernel) retryOnConflict(f func() error) error {
	for attempt := 1; ; attempt++ {
		if err := f(); !errors.Is(err, ErrConflict) || attempt == maxAttempts {
			return err
		}
	}
}

// change commits one change of a lease with its event.
func (k *Kernel) change(ctx context.Context, s leaseChange) error {
	now := k.options.Clock.Now()
	e, err := k.leaseEvent(&s, k.options.Redactor, k.Revision(), now)
	if err != nil {
		return phases.NewFault(phases.KindAudit, "the record could not be redacted", err)
	}
	_, err = k.commit(ctx,
		Batch{Now: now, Leases: []leases.Op{*s.op}, Approvals: s.question, Events: append([]phases.Event{e}, s.events...)})
	return err
}

// LeaseCheck is the question of a caller that runs an action outside of the kernel.
type LeaseCheck struct {
	Holder     leases.Holder
	Token      string // one that names the lease; "" means whichever of the holder's covers it
	Capability string
	Action     *phases.Invocation // the action about to run; its runtime, session and agent must be the holder's
	Claim      bool               // takes one use, and records that
}

// CheckLease looks for a lease that covers an action, and takes one use of it if
// asked to. A token that is unknown, not the holder's, not usable or does not cover
// the action, and no lease at all, are the same leases.ErrUnknown.
func (k *Kernel) CheckLease(ctx context.Context, check LeaseCheck) (*leases.View, error) {
	check = check.owned()
	if err := leases.CheckCapability(check.Capability); err != nil {
		return nil, err
	}
	if check.Action == nil {
		return nil, &leases.Error{Class: leases.ErrInvalid, Text: "no action"}
	}
	if err := check.Action.Validate(); err != nil {
		return nil, &leases.Error{Class: leases.ErrInvalid, Text: "action: " + err.Error()}
	}
	book := k.book(k.options.Store)
	var view *leases.View
	err := k.retryOnConflict(func() error {
		at, err := book.Now(ctx)
		if err != nil {
			return err
		}
		lease, err := k.checked(ctx, book, at, &check)
		if err != nil {
			return err
		}
		if lease == nil {
			_, err := book.Get(ctx, "-", &check.Holder) // the answer for what does not exist
			return err
		}
		view = leases.ViewOf(lease, at, "")
		if !check.Claim {
			return nil
		}
		view.UsesLeft--
		op := book.Claim(at, lease.ID, check.Holder)
		return k.change(ctx,
			leaseChange{op: &op, what: "claimed", lease: *lease, issuer: lease.Issuer,
				notes: []string{"by a check from outside"}})
	})
	if errors.Is(err, ErrConflict) { // others were faster, every time
		return nil, &leases.Error{Class: leases.ErrUnknown, Text: "no such lease, or not yours"}
	}
	if err != nil {
		return nil, err
	}
	return view, nil
}

func (k *Kernel) checked(ctx context.Context, book *leases.Ledger, at leases.Instant,
	q *LeaseCheck) (*leases.Lease, error) {
	if q.Token == "" {
		return k.findLease(ctx, book, q.Holder, at, q.Capability, q.Action)
	}
	named, err := k.options.Store.LeaseByToken(ctx, book.Hash(q.Token))
	if err != nil {
		return nil, err
	}
	list, err := k.options.Store.HeldLeases(ctx, q.Holder, at) // also for an unknown token: the same work
	for n := range list {
		if l := &list[n]; named != nil && l.ID == named.ID && l.CoversCapability(q.Capability) &&
			l.Scope.Covers(*q.Action, k.linkResolver(ctx)) {
			return l, err
		}
	}
	return nil, err
}

// Leases returns leases by id, as they stand now. The error is ErrUnavailable.
func (k *Kernel) Leases(ctx context.Context, q leases.Query) ([]leases.View, error) {
	at, err := k.book(k.options.Store).Now(ctx)
	if err != nil {
		return nil, err
	}
	q.At = at
	q.AsStored = true
	list, err := k.options.Store.Leases(ctx, q)
	out := make([]leases.View, 0, len(list))
	for n := range list {
		out = append(out, *leases.ViewOf(&list[n], at, ""))
	}
	return out, err
}

// Lease returns one lease by its id as it stands now. Errors are leases.ErrUnknown or ErrUnavailable.
func (k *Kernel) Lease(ctx context.Context, id string) (*leases.View, error) {
	book := k.book(k.options.Store)
	at, err := book.Now(ctx)
	if err != nil {
		return nil, err
	}
	l, err := book.Get(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return leases.ViewOf(l, at, ""), nil
}
