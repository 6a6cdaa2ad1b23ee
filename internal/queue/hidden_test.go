package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// A person can deny an item that hides a value, but not approve it: no approval counts,
// not even a stored one. The signature covers the flag.
func TestWhatIsHiddenIsNotApproved(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	it := approvals.Item{ID: "1", Kind: approvals.KindAsk, Key: "k", State: approvals.Pending, Created: now,
		Expires: now.Add(time.Minute), Hidden: []string{"/action/args/path"}}
	a := queue.Authority{Unsigned: true}
	for _, v := range []approvals.Verdict{approvals.Approve, approvals.Deny} {
		d, err := approvals.Draft(&it, v, "dev", "", now, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Check(&it, &d, wall(now), time.Hour)
		if hidden := errors.Is(err, approvals.ErrHidden) &&
			strings.Contains(err.Error(), "/action/args/path"); hidden != (v == approvals.Approve) || err != nil && !hidden {
			t.Errorf("%s: %v", v, err)
		}
		if v == approvals.Approve && !errors.Is(a.Verify(&it, &d), approvals.ErrHidden) {
			t.Error("a stored approval counts")
		}
		shown := it
		shown.Hidden = nil
		if err := a.Verify(&shown, &d); !errors.Is(err, approvals.ErrContent) {
			t.Errorf("the flag is not signed: %v", err)
		}
		if err := queue.SameQuestion(&it, &shown); !errors.Is(err, approvals.ErrContent) {
			t.Errorf("the flag is not compared: %v", err)
		}
	}
}
