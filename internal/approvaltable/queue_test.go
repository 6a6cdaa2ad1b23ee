package approvaltable_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/approvaltable"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// An item that cannot be read takes no step, whatever its state says; one that can takes it once.
func TestStepsOfItems(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	item := approvals.Item{ID: "a", Kind: approvals.KindAsk, Key: "k", State: approvals.Approved, Created: t0,
		Expires:  t0.Add(time.Minute),
		Decision: &approvals.Decision{Verdict: approvals.Approve, At: t0, Until: t0.Add(time.Minute)}}
	use := []approvals.Op{{Change: &approvals.Change{ID: "a", From: approvals.Approved, To: approvals.Consumed,
		At: leases.Instant{Wall: t0}}}}
	table := approvaltable.Table{"a": item}
	for _, want := range []error{nil, kernel.ErrConflict} {
		changed, err := table.After(use)
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		table.Take(changed)
	}
	item.Damaged = true
	if _, err := (approvaltable.Table{"a": item}).After(use); !errors.Is(err, kernel.ErrConflict) {
		t.Errorf("a damaged item: %v", err)
	}
}
