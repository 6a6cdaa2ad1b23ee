package approvals

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/leases"
)

// Op is one step of one item, written in the transaction of the event that records
// it. Exactly one of Create and Change is set.
type Op struct {
	Create *Item // pending, or the step has failed: an item of its key is live, or the quota is used up
	// with Create: undecided items of the kind that an agent may have, this one among them; a credential
	// CredentialFactor times as many
	Quota  int
	Change *Change // the step has failed unless the item is in state From

	At leases.Instant // with Create: the queue is counted as it stands then; zero: when the item was created
}

// When returns the moment at which a Create looks at the queue.
func (op *Op) When() leases.Instant {
	if !op.At.IsZero() {
		return op.At
	}
	return leases.Instant{Wall: op.Create.Created, Boot: op.Create.Clock.Boot, Since: time.Duration(op.Create.Clock.Since)}
}

// Change moves one item from a state to another.
type Change struct {
	ID       string
	From, To State
	Decision *Decision      // with To approved or denied
	At       leases.Instant // what has run out then
}

// legal reports whether a step is one that an item can take at all.
func legal(from, to State) bool {
	switch from {
	case Pending:
		return to == Approved || to == Denied || to == Expired || to == Superseded
	case Approved:
		return to == Consumed || to == Expired || to == Superseded
	}
	return false
}

// Applies reports whether the change fits the item: its state, and time. It is
// the meaning of a Change, which stores may compute in their own way.
func (c *Change) Applies(it *Item) bool {
	if it.State != c.From || !legal(c.From, c.To) {
		return false
	}
	over := it.At(c.At).State == Expired
	switch c.To {
	case Expired:
		return over
	case Superseded:
		return true
	}
	return !over && (c.To != Approved && c.To != Denied || c.Decision != nil)
}

// Apply returns the item after the change. Preconditions: Applies.
func (c *Change) Apply(it Item) Item {
	it.State = c.To
	if c.Decision != nil {
		d := *c.Decision
		it.Decision = &d
	}
	if c.To != Approved {
		it.Closed = c.At.Wall.UTC().Round(0)
	}
	return it
}

// Query selects items; zero members select everything.
type Query struct {
	Kind     Kind
	State    State
	By       *Requester     // exactly this one
	Owner    string         // with this credential
	Before   string         // only items with a smaller id: older ones
	Limit    int            // 0 means 100; at most MaxLimit
	DueAt    leases.Instant // only pending or approved items that have run out then
	NotDueAt leases.Instant // none of those
}

// MaxLimit is the most items that one query returns, and defaultLimit the most if its Limit
// is not set.
const (
	MaxLimit     = 1000
	defaultLimit = 100
)

// EffectiveLimit returns the number of items that the query asks for at most.
func (q *Query) EffectiveLimit() int {
	switch {
	case q.Limit <= 0:
		return defaultLimit
	case q.Limit > MaxLimit:
		return MaxLimit
	}
	return q.Limit
}

// Match reports whether the item is selected, apart from Limit.
func (q *Query) Match(it *Item) bool {
	due := func(at leases.Instant) bool {
		return (it.State == Pending || it.State == Approved) && it.At(at).State == Expired
	}
	return (q.Kind == "" || q.Kind == it.Kind) && (q.State == "" || q.State == it.State) &&
		(q.By == nil || *q.By == it.By) && (q.Owner == "" || q.Owner == it.By.Credential) &&
		(q.Before == "" || it.ID < q.Before) &&
		(q.DueAt.IsZero() || due(q.DueAt)) && (q.NotDueAt.IsZero() || !due(q.NotDueAt))
}

// Reader shows the queue. Items come as they are written down; see Item.At.
// Implementations are safe for concurrent use.
type Reader interface {
	// Approval returns the item, or nil.
	Approval(ctx context.Context, id string) (*Item, error)

	// ApprovalByKey returns the newest item of the kind with the key, or nil.
	ApprovalByKey(ctx context.Context, kind Kind, key string) (*Item, error)

	// Approvals returns items, newest first.
	Approvals(ctx context.Context, q Query) ([]Item, error)

	// ApprovalUsage counts the undecided items of the kind at a time: of exactly
	// this requester, and of everybody with its credential.
	ApprovalUsage(ctx context.Context, kind Kind, by Requester, now leases.Instant) (Usage, error)

	// ApprovalHolders returns who with the credential has undecided items of the
	// kind at a time, in no order. There are no more of them than the quota allows.
	ApprovalHolders(ctx context.Context, kind Kind, credential string, now leases.Instant) ([]Holder, error)

	// ApprovalCounts counts the undecided items at a time; a kind without any is not in it.
	ApprovalCounts(ctx context.Context, now leases.Instant) (map[Kind]int, error)
}

// Usage is how many items wait for a person.
type Usage struct {
	Agent, Credential int
}

// Full reports whether another item would be one too many.
func (u Usage) Full(quota int) bool {
	return u.Agent >= quota || u.Credential >= quota*CredentialFactor
}

// KeepClosed is how long an item is kept after its end. Its events stay.
const KeepClosed = 30 * 24 * time.Hour

// Forgettable reports whether the item has ended so long ago that it need not be kept.
func (it *Item) Forgettable(now time.Time) bool {
	return it.State != Pending && it.State != Approved && now.Sub(it.Closed) > KeepClosed
}

// CredentialFactor is how many times the quota of an agent a credential has: agents name
// themselves, so that one can pass for many.
const CredentialFactor = 10

// KeepSuperseded is how many superseded items of one credential and kind are kept, the newest: a flood of
// questions does not fill the disk.
const KeepSuperseded = 200

// Holder is one requester with undecided items. Oldest is the smallest of their ids.
type Holder struct {
	By      Requester
	Pending int
	Oldest  string
}
