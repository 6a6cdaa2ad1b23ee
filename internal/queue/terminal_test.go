package queue_test

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// A decision at a terminal counts for an ask, with the terminal's own key, while there is no reviewer.
func TestDecisionsAtATerminal(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	other := ed25519.NewKeyFromSeed(append(make([]byte, 31), 1))
	public := key.Public().(ed25519.PublicKey)
	decide := func(kind approvals.Kind, with ed25519.PrivateKey,
		change func(*approvals.Decision)) (approvals.Item, approvals.Decision) {
		item := approvals.Item{ID: "01", Kind: kind, Key: "k", State: approvals.Pending}
		d, err := approvals.Draft(&item, approvals.Approve, "dev", "", time.Now(), time.Minute)
		if err == nil {
			err = approvals.Sign(&item, &d, with)
		}
		if err != nil {
			t.Fatal(err)
		}
		change(&d)
		return item, d
	}
	nothing := func(*approvals.Decision) {}
	terminal := queue.Authority{Terminal: public}
	reviewed := queue.Authority{Terminal: public,
		Reviewers: []approvals.Reviewer{{Name: "anna", Key: other.Public().(ed25519.PublicKey)}}}
	for _, c := range []struct {
		name   string
		who    queue.Authority
		kind   approvals.Kind
		with   ed25519.PrivateKey
		change func(*approvals.Decision)
		counts bool
	}{
		{"an ask", terminal, approvals.KindAsk, key, nothing, true},
		{"a proposal", terminal, approvals.KindProposal, key, nothing, false},
		{"a lease", terminal, approvals.KindLease, key, nothing, false},
		{"tools that changed", terminal, approvals.KindTool, key, nothing, false},
		{"another key", terminal, approvals.KindAsk, other, nothing, false},
		{"another's key id", terminal, approvals.KindAsk, other,
			func(d *approvals.Decision) { d.Key = approvals.KeyID(public) }, false},
		{"no signature", terminal, approvals.KindAsk, key, func(d *approvals.Decision) { d.Signature = nil }, false},
		{"another name", terminal, approvals.KindAsk, key, func(d *approvals.Decision) { d.By = "eve" }, false},
		{"no terminal", queue.Authority{}, approvals.KindAsk, key, nothing, false},
		{"a reviewer is there", reviewed, approvals.KindAsk, key, nothing, false},
		{"a reviewer of that name is there", reviewed, approvals.KindAsk, key,
			func(d *approvals.Decision) { d.By = "anna" }, false},
	} {
		item, d := decide(c.kind, c.with, c.change)
		if err := c.who.Verify(&item, &d); (err == nil) != c.counts || err != nil && !errors.Is(err, approvals.ErrSignature) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
