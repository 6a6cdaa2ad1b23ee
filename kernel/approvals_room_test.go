package kernel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// fullQueue is a queue in which one other requester has all the items.
type fullQueue struct {
	Store
	oldest approvals.Item
	err    error
}

func (q *fullQueue) ApprovalHolders(context.Context, approvals.Kind, string,
	leases.Instant) ([]approvals.Holder, error) {
	return []approvals.Holder{{By: q.oldest.By, Pending: 10, Oldest: q.oldest.ID}}, nil
}

func (q *fullQueue) Approval(context.Context, string) (*approvals.Item, error) {
	return &q.oldest, q.err
}

// In a full queue the oldest item of another requester gives way, but not twice: a step that is about that
// item already is an end of it, and steps about other items are none.
func TestRoomIsMadeOnce(t *testing.T) {
	at := leases.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	broken := errors.New("the store is down")
	change := func(id string) approvals.Op { return approvals.Op{Change: &approvals.Change{ID: id}} }
	for name, c := range map[string]struct {
		spoken []approvals.Op
		broken error
		want   error
	}{
		"nothing is planned":   {nil, nil, nil},
		"an item is made":      {[]approvals.Op{{Create: &approvals.Item{ID: "new"}}}, nil, nil},
		"another gives way":    {[]approvals.Op{change("other")}, nil, nil},
		"it gives way already": {[]approvals.Op{change("other"), change("old")}, nil, approvals.ErrQuota},
		"it cannot be read":    {nil, broken, broken},
	} {
		q := &fullQueue{err: c.broken, oldest: approvals.Item{
			ID: "old", State: approvals.Pending, By: approvals.Requester{Credential: "c", Session: "s-1"},
			Expires: at.Wall.Add(time.Hour),
		}}
		k := &Kernel{options: Options{Store: q, NewID: func(time.Time) string { return "id" }}}
		usage := approvals.Usage{Credential: approvals.CredentialFactor}
		ops, _, err := k.evictForQuota(t.Context(), approvals.KindAsk, approvals.Requester{Credential: "c", Session: "s-2"},
			usage, 1,
			at, "r", c.spoken...)
		if !errors.Is(err, c.want) || (len(ops) == 1) != (c.want == nil) || len(ops) == 1 && ops[0].Change.ID != "old" {
			t.Errorf("%s: %d steps, %v", name, len(ops), err)
		}
	}
}
