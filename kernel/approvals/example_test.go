package approvals_test

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// A reviewer's program answers an item of the queue: it drafts a decision about the item as
// the person saw it, signs it, and hands it in (belay.Belay.Decide, client.Client.Decide).
func Example() {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	it := approvals.Item{ID: "0195f0a0-0000-7000-8000-000000000000", Kind: approvals.KindAsk, State: approvals.Pending,
		Tool: "exec", Reason: "it pushes", Created: now, Expires: now.Add(10 * time.Minute)}

	d, err := approvals.Draft(&it, approvals.Approve, "dev", "release day", now, 5*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := approvals.Sign(&it, &d, key); err != nil {
		fmt.Println(err)
		return
	}
	statement, err := approvals.Statement(&it, &d)
	fmt.Println(d.Verdict, "by", d.By, "until", d.Until.Format(time.TimeOnly))
	fmt.Println("signed:", ed25519.Verify(public, statement, d.Signature), err)

	// Silence is a denial: an item that runs out undecided is expired.
	fmt.Println(it.At(leases.Instant{Wall: now.Add(time.Hour)}).State)
	// Output:
	// approved by dev until 12:05:00
	// signed: true <nil>
	// expired
}
