package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Classes of errors about leases, for errors.Is.
var (
	ErrLeaseUnknown = leases.ErrUnknown
	ErrLeaseInvalid = leases.ErrInvalid
	ErrLeaseWider   = leases.ErrWider
	ErrLeaseOver    = leases.ErrOver
	ErrLeaseQuota   = leases.ErrQuota
)

// MintLease makes a lease in a person's name and records that. The token is shown
// here and nowhere else. Errors are of package leases' classes, or ErrUnavailable.
func (k *Kernel) MintLease(ctx context.Context, r leases.Request, h LeaseHolder, person string) (*LeaseView, error) {
	if err := checkNames(h.Session, h.Agent); err != nil {
		return nil, err
	}
	if len(h.Runtime) > phases.MaxRuntimeBytes || len(h.Credential) > phases.MaxIDBytes {
		return nil, &leases.Error{Class: leases.ErrInvalid, Text: "holder: a name is too long"}
	}
	issuer := leases.Issuer{Kind: leases.ByPerson, Person: phases.SafeLine(person, phases.MaxIDBytes)}
	book := k.book(k.o.Store)
	var v *LeaseView
	err := k.again(func() error {
		m, err := book.Mint(ctx, r, h, issuer, leases.Rule{MaxTTL: leases.MaxLifetime})
		if err != nil {
			return err
		}
		v = viewLease(&m.Op.Lease, m.Op.At, m.Token)
		return k.change(ctx, staged{op: &m.Op, what: "minted", lease: m.Op.Lease, issuer: issuer})
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// RevokeLease takes a lease and everything below it back, or with prefix everything
// at or below an id, in a person's name. Errors are as of MintLease.
func (k *Kernel) RevokeLease(ctx context.Context, id string, prefix bool, person string) error {
	book := k.book(k.o.Store)
	return k.again(func() error {
		op, err := book.Revoke(ctx, id, prefix)
		if err != nil {
			return err
		}
		s := staged{op: &op, what: "revoked", lease: leases.Lease{ID: id}, issuer: leases.Issuer{Kind: leases.ByPerson, Person: phases.SafeLine(person, phases.MaxIDBytes)}}
		if l, err := k.o.Store.Lease(ctx, id); err == nil && l != nil {
			s.lease = *l
			s.lease.State = leases.Revoked
		}
		return k.change(ctx, s)
	})
}

// again runs f anew while what it rests on changes.
func (k *Kernel) again(f func() error) error {
	for attempt := 1; ; attempt++ {
		if err := f(); !errors.Is(err, ErrConflict) || attempt == maxAttempts {
			return err
		}
	}
}

// change commits one change of a lease with its event.
func (k *Kernel) change(ctx context.Context, s staged) error {
	now := k.o.Clock.Now()
	e, err := k.leaseEvent(&s, k.Revision(), now)
	if err != nil {
		return phases.NewFault(phases.KindAudit, "the record could not be redacted", err)
	}
	_, err = k.commit(ctx, Batch{Now: now, Leases: []leases.Op{*s.op}, Events: []phases.Event{e}})
	return err
}

// LeaseCheck is what somebody who runs an action outside of the kernel asks.
type LeaseCheck struct {
	Holder     LeaseHolder
	Token      string // one that names the lease; "" means whichever of the holder's covers it
	Capability string
	Action     *phases.Invocation // what is about to run; its runtime, session and agent must be the holder's
	Claim      bool               // takes one use, and records that
}

// CheckLease looks for a lease that covers an action, and takes one use of it if
// asked to. A token that is unknown, not the holder's, not usable or does not cover
// the action, and no lease at all, are the same ErrLeaseUnknown.
func (k *Kernel) CheckLease(ctx context.Context, q LeaseCheck) (*LeaseView, error) {
	if err := leases.CheckCapability(q.Capability); err != nil {
		return nil, err
	}
	if q.Action == nil {
		return nil, &leases.Error{Class: leases.ErrInvalid, Text: "no action"}
	}
	if err := q.Action.Validate(); err != nil {
		return nil, &leases.Error{Class: leases.ErrInvalid, Text: "action: " + err.Error()}
	}
	book := k.book(k.o.Store)
	var v *LeaseView
	err := k.again(func() error {
		at, err := book.Now(ctx)
		if err != nil {
			return err
		}
		l, err := k.checked(ctx, book, at, &q)
		if err != nil {
			return err
		}
		if l == nil {
			_, err := book.Get(ctx, "-", &q.Holder) // the answer for what does not exist
			return err
		}
		v = viewLease(l, at, "")
		if !q.Claim {
			return nil
		}
		v.UsesLeft--
		op := book.Claim(at, l.ID, q.Holder)
		return k.change(ctx, staged{op: &op, what: "claimed", lease: *l, issuer: l.Issuer, notes: []string{"by a check from outside"}})
	})
	if errors.Is(err, ErrConflict) { // others were faster, every time
		return nil, &leases.Error{Class: leases.ErrUnknown, Text: "no such lease, or not yours"}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (k *Kernel) checked(ctx context.Context, book *leases.Ledger, at leases.Instant, q *LeaseCheck) (*leases.Lease, error) {
	if q.Token == "" {
		return k.find(ctx, book, q.Holder, at, q.Capability, q.Action)
	}
	named, err := k.o.Store.LeaseByToken(ctx, book.Hash(q.Token))
	if err != nil {
		return nil, err
	}
	list, err := k.o.Store.HeldLeases(ctx, q.Holder, at) // also for a token that nobody has: the same work
	for n := range list {
		if l := &list[n]; named != nil && l.ID == named.ID && l.CoversCapability(q.Capability) && l.Scope.Covers(*q.Action, k.follower(ctx)) {
			return l, err
		}
	}
	return nil, err
}

// Leases returns leases by id, as they stand now. The error is ErrUnavailable.
func (k *Kernel) Leases(ctx context.Context, q LeaseQuery) ([]LeaseView, error) {
	at, err := k.book(k.o.Store).Now(ctx)
	if err != nil {
		return nil, err
	}
	q.At = at
	list, err := k.o.Store.Leases(ctx, q)
	out := make([]LeaseView, 0, len(list))
	for n := range list {
		out = append(out, *viewLease(&list[n], at, ""))
	}
	return out, err
}

// Lease returns one lease by its id as it stands now. Errors are ErrLeaseUnknown or ErrUnavailable.
func (k *Kernel) Lease(ctx context.Context, id string) (*LeaseView, error) {
	book := k.book(k.o.Store)
	at, err := book.Now(ctx)
	if err != nil {
		return nil, err
	}
	l, err := book.Get(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return viewLease(l, at, ""), nil
}

// MaxLeaseTTL is the longest lease that anybody may make.
const MaxLeaseTTL time.Duration = leases.MaxLifetime
