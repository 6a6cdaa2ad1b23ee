package postgres

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Whatever the body of an approval is, the item counts as its columns say: under its name, its question and its owner.
// One that is not damaged is written as it was read.
func FuzzApprovalRow(f *testing.F) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	it := approvals.Item{ID: "q", Kind: approvals.KindAsk, Key: "k", State: approvals.Pending, Created: t0,
		By:      approvals.Requester{Credential: "uid 1000", Runtime: "r", Session: "s", Agent: "a"},
		Expires: t0.Add(time.Hour), Clock: leases.Stamp{Boot: "boot", Since: 1}}
	valid, err := newApprovalRow(&it)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid.body, valid.ends)
	f.Add(valid.body[:len(valid.body)/2], valid.ends)
	f.Add([]byte(`{"expires":"9999-12-31T23:59:59Z"}`), int64(-1))
	f.Fuzz(func(t *testing.T, body []byte, ends int64) {
		r := *valid
		r.body, r.ends = body, ends
		got := r.item()
		if got.ID != it.ID || got.Kind != it.Kind || got.Key != it.Key || got.State != it.State || got.By != it.By {
			t.Fatalf("%s: %+v", body, got)
		}
		if got.Damaged {
			if !got.Expires.Equal(time.Unix(0, ends)) || !r.ranOut(&got, leases.Instant{Wall: time.Unix(0, ends)}) {
				t.Fatalf("%s: %+v ends at %v", body, got, got.Ends())
			}
			return
		}
		again, err := newApprovalRow(&got)
		if err != nil || again.ends != ends {
			t.Fatalf("%s: %+v, %v", body, again, err)
		}
		if next := again.item(); next.Damaged {
			t.Fatalf("%s: written anew as %s it is damaged", body, again.body)
		}
	})
}

// Whatever the body of a lease is, its uses, its end and its state are those of the columns, and a write retains them.
func FuzzLeaseRow(f *testing.F) {
	l := leases.Lease{ID: "l", State: leases.Active, MaxUses: 3, Uses: 1, NotBefore: time.Unix(1, 0).UTC(),
		ExpiresAt: time.Unix(9, 0).UTC(), Holder: leases.Holder{Runtime: "r", Session: "s"}}
	valid, err := newLeaseRow(&l, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid.body, int64(1), int64(9e9))
	f.Add([]byte(`{"uses":-1,"state":"revoked"}`), int64(3), int64(0))
	f.Fuzz(func(t *testing.T, body []byte, uses, expires int64) {
		r := *valid
		r.body, r.uses, r.expires = body, uses, expires
		got, err := r.lease()
		if err != nil {
			return
		}
		if got.Uses != uses || got.State != l.State || !got.ExpiresAt.Equal(time.Unix(0, expires)) {
			t.Fatalf("%s: %+v", body, got)
		}
		next, err := newLeaseRow(&got, &r)
		if err != nil || next.uses != uses || next.expires != expires || string(next.body) != string(body) {
			t.Fatalf("%s: %+v, %v", body, next, err)
		}
		var a, b restrict.Hasher
		if again, err := next.lease(); err != nil || next.content(&a) != next.content(&b) || again.Uses != uses {
			t.Fatalf("%s: %+v, %v", body, again, err)
		}
	})
}
