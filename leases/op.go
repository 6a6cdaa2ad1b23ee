package leases

import (
	"context"
	"time"
)

// OpKind says what an Op does.
type OpKind string

const (
	OpMint         OpKind = "mint"
	OpClaim        OpKind = "claim"
	OpRenew        OpKind = "renew"
	OpRevoke       OpKind = "revoke"        // the lease and everything below it
	OpRevokePrefix OpKind = "revoke_prefix" // everything that has the id or lies below it
)

// Op is one change, to be carried out with others or not at all. A store checks
// what the Op rests on again, in the transaction, and refuses the whole batch
// when it does not hold any more.
type Op struct {
	Kind OpKind
	At   Instant // when; High is ignored, the store has its own

	// Mint: State, Uses and everything else as it is to be stored. It holds only
	// if neither the id nor one below it exists, the lease just above is its
	// parent, every lease above is usable and the parent has that many uses left and lasts
	// as long, and the holder's credential has less than Quota live leases.
	Lease Lease
	Quota int

	// Claim: takes one use of the lease and of every lease above it. Holds only if
	// By may use it and all of them are usable.
	ID string // also of Renew, Revoke, RevokePrefix
	By Holder

	// Owner bounds Revoke and RevokePrefix to leases of this credential, and those
	// of none; "" means all. Runtime counts with it.
	Owner   string
	Runtime string

	// Renew: the new end. Holds only if the lease and its parents are usable, and
	// the parent lasts as long.
	Until     time.Time
	Boot      string
	BootUntil time.Duration
}

// Reaches reports whether a Revoke or RevokePrefix may touch the lease.
func (op *Op) Reaches(l *Lease) bool {
	return op.Owner == "" || l.Holder.Runtime == op.Runtime &&
		(l.Holder.Credential == "" || l.Holder.Credential == op.Owner)
}

// Store shows leases to a Ledger. Implementations are safe for concurrent use.
// What they return is the caller's. Errors are those of the store.
type Store interface {
	// Lease returns the lease, or nil.
	Lease(ctx context.Context, id string) (*Lease, error)
	// LeaseByToken returns the lease with the keyed hash, or nil.
	LeaseByToken(ctx context.Context, hash []byte) (*Lease, error)
	// HeldLeases returns what the holder could claim at that moment, the soonest to
	// end first, then by id.
	HeldLeases(ctx context.Context, h Holder, at Instant) ([]Lease, error)
	// Leases returns leases by id.
	Leases(ctx context.Context, q Query) ([]Lease, error)
	// LeaseClock returns the highest wall time that the store has seen in a
	// commit, up to a second less.
	LeaseClock(ctx context.Context) (time.Time, error)
}

// Query selects leases; zero members select everything.
type Query struct {
	Prefix string // the id itself, and everything below it
	Holder Holder // members that are not "" must be equal
	State  State  // Expired and Active look at At
	At     Instant
	After  string // ids greater than this

	// AsStored selects rows as they are, whether or not the log records them: for people
	// who look at them or compare them. Nothing may be decided on what comes back.
	AsStored bool

	Limit int // 0 means DefaultLimit; at most MaxLimit
}

// Limits of one query.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// EffectiveLimit returns the number of leases that the query asks for at most.
func (q *Query) EffectiveLimit() int {
	if q.Limit <= 0 {
		return DefaultLimit
	}
	return min(q.Limit, MaxLimit)
}

// Match reports whether the lease is selected, apart from Limit.
func (q *Query) Match(l *Lease) bool {
	eq := func(want, got string) bool { return want == "" || want == got }
	return l.ID > q.After && (q.Prefix == "" || l.ID == q.Prefix || Below(q.Prefix, l.ID)) &&
		eq(q.Holder.Runtime, l.Holder.Runtime) && eq(q.Holder.Session, l.Holder.Session) &&
		eq(q.Holder.Agent, l.Holder.Agent) &&
		eq(q.Holder.Credential, l.Holder.Credential) && (q.State == "" || l.StateAt(q.At) == q.State)
}
