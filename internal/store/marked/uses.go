package marked

import (
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// What a commit uses up is read off its batch, so that no caller can forget to say it.

// Rows are the rows that a batch changes, as they are in the transaction that writes it.
type Rows interface {
	// Item returns an item of the queue, or nil.
	Item(id string) (*approvals.Item, error)

	// Chain returns a lease and those above it.
	Chain(id string) ([]leases.Lease, error)

	// Raise makes the uses of a lease at least count, and says whether they were fewer.
	Raise(id string, count int64) (bool, error)
}

// Spent refuses a batch that uses up an approval or a reviewer's statement whose use is noted
// outside of the database: the error is kernel.ErrRollback. It raises the use counts of leases to those noted there.
// It has written nothing when it refuses. undone reports that a use has turned up that the database does not have.
func Spent(st *highwater.State, b *kernel.Batch, rows Rows) (undone bool, err error) {
	if st == nil || len(st.Uses) == 0 {
		return false, nil
	}
	for i := range b.Approvals {
		id := consumes(&b.Approvals[i])
		if _, used := st.Uses[highwater.Approval+id]; id != "" && used {
			it, err := rows.Item(id)
			if err != nil {
				return false, err
			}
			if it != nil && it.State == approvals.Consumed {
				continue // the database knows it as well: a conflict, as of any two that use it
			}
			return true, Behind("approval %s was used before", id)
		}
	}
	for i := range b.Events {
		if o := ordered(&b.Events[i]); o != nil && st.Uses[highwater.Statement+o.ID].ID != "" {
			return true, Behind("the reviewer's statement %s was used before", o.ID)
		}
	}
	for i := range b.Leases {
		op := &b.Leases[i]
		if op.Kind != leases.OpClaim {
			continue
		}
		for _, id := range append(leases.Prefixes(op.ID), op.ID) {
			if u, ok := st.Uses[highwater.Lease+id]; ok {
				raised, err := rows.Raise(id, u.Count)
				if err != nil {
					return undone, err
				}
				undone = undone || raised
			}
		}
	}
	return undone, nil
}

// Uses returns what a batch that was just written has used up.
func Uses(b *kernel.Batch, rows Rows) ([]highwater.Use, error) {
	var out []highwater.Use
	for i := range b.Approvals {
		id := consumes(&b.Approvals[i])
		if id == "" {
			continue
		}
		it, err := rows.Item(id)
		if err != nil {
			return nil, err
		}
		u := highwater.Use{ID: highwater.Approval + id, Event: useEvent(b, id), Until: b.Now.Add(queue.MaxTimeout).Unix()}
		if it != nil && it.Decision != nil {
			u.Until = max(u.Until, it.Decision.Until.Unix())
		}
		out = append(out, u)
	}
	for i := range b.Events {
		if o := ordered(&b.Events[i]); o != nil {
			out = append(out, highwater.Use{ID: highwater.Statement + o.ID, Event: b.Events[i].ID, Until: o.Expires.Unix()})
		}
	}
	for i := range b.Leases {
		if b.Leases[i].Kind != leases.OpClaim {
			continue
		}
		chain, err := rows.Chain(b.Leases[i].ID)
		if err != nil {
			return nil, err
		}
		for _, l := range chain {
			end := l.NotBefore.Add(time.Duration(l.MaxTTLS) * time.Second) // with all renewals
			if l.ExpiresAt.After(end) {
				end = l.ExpiresAt
			}
			out = append(out, highwater.Use{ID: highwater.Lease + l.ID, Count: l.Uses, Until: end.Unix()})
		}
	}
	return out, nil
}

func consumes(op *approvals.Op) string {
	if op.Change != nil && op.Change.To == approvals.Consumed {
		return op.Change.ID
	}
	return ""
}

// ordered returns the reviewer's statement that an event records the use of, or nil.
func ordered(e *phases.Event) *approvals.Order {
	if e.Type != phases.EventNotice || e.Decision != kernel.Ordered {
		return nil
	}
	o, err := queue.DecodeOrder(e.Output)
	if err != nil {
		return nil // no statement, or none that could be used again
	}
	return &o
}

// Orders reports whether a batch uses up a reviewer's statement.
func Orders(b *kernel.Batch) bool {
	for i := range b.Events {
		if ordered(&b.Events[i]) != nil {
			return true
		}
	}
	return false
}

// useEvent returns the id of the event that records the use of an approval.
func useEvent(b *kernel.Batch, id string) string {
	for i := range b.Events {
		e := &b.Events[i]
		if e.Type != phases.EventApproval || e.Decision != string(approvals.Consumed) {
			continue
		}
		if got, ok := phases.GetString(e.Output, "/approval"); ok && got == id {
			return e.ID
		}
	}
	return ""
}
