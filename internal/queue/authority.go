package queue

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Authority says whose decisions count.
type Authority struct {
	Reviewers []approvals.Reviewer
	Unsigned  bool // without a signature, too; only while there is no reviewer

	// Terminal is the key of decisions about asks that were made at a terminal. It counts only while there
	// is no reviewer, and says nothing about who sat there. Nil: none counts.
	Terminal ed25519.PublicKey
}

// Protected reports whether a decision takes a key that an agent does not hold.
func (a *Authority) Protected() bool { return len(a.Reviewers) > 0 }

// Changed says in words who counts in another authority and not in this one, and
// the other way round; "" when nothing has changed.
func (a *Authority) Changed(now *Authority) string {
	who := func(of, without *Authority) (names []string) {
		for _, r := range of.Reviewers {
			if !slices.ContainsFunc(without.Reviewers, func(o approvals.Reviewer) bool {
				return o.Name == r.Name && o.Key.Equal(r.Key)
			}) {
				names = append(names, r.Name+" ("+approvals.KeyID(r.Key)+")")
			}
		}
		return names
	}
	text := ""
	if added := who(now, a); len(added) > 0 {
		text += "; reviewers added: " + strings.Join(added, ", ")
	}
	if gone := who(a, now); len(gone) > 0 {
		text += "; reviewers removed: " + strings.Join(gone, ", ")
	}
	if a.Unsigned != now.Unsigned {
		text += fmt.Sprintf("; decisions without a signature: %v", now.Unsigned)
	}
	return text
}

// Verify reports whether the decision about the item counts: it is about exactly
// this content, signed by a reviewer, and approves nothing that could not be read.
// Errors are ErrContent, ErrHidden and ErrSignature.
func (a *Authority) Verify(item *approvals.Item, decision *approvals.Decision) error {
	content, err := item.Content()
	if err != nil {
		return err
	}
	if decision.Content != content {
		return approvals.ErrContent
	}
	if decision.Verdict == approvals.Approve && len(item.Hidden) > 0 {
		return fmt.Errorf("%w (%s)", approvals.ErrHidden, strings.Join(item.Hidden, ", "))
	}
	if !a.Protected() {
		if a.Unsigned {
			return nil
		}
		if a.atTerminal(item, decision) {
			return nil
		}
		return fmt.Errorf("%w: no reviewer has a key yet", approvals.ErrSignature)
	}
	for _, r := range a.Reviewers {
		if r.Name != decision.By || approvals.KeyID(r.Key) != decision.Key {
			continue
		}
		b, err := approvals.Statement(item, decision)
		if err != nil {
			return err
		}
		if ed25519.Verify(r.Key, b, decision.Signature) {
			return nil
		}
	}
	return approvals.ErrSignature
}

// atTerminal reports whether a decision about an ask was signed by the command that asks at a terminal.
// Proposals, leases and a person's verbs are not decided so.
func (a *Authority) atTerminal(item *approvals.Item, decision *approvals.Decision) bool {
	if a.Terminal == nil || item.Kind != approvals.KindAsk || decision.Key != approvals.KeyID(a.Terminal) {
		return false
	}
	statement, err := approvals.Statement(item, decision)
	return err == nil && ed25519.Verify(a.Terminal, statement, decision.Signature)
}

// skew is how far a reviewer's clock may be ahead or behind.
const skew = 2 * time.Minute

// Check reports whether a decision that comes in at a time can be taken: the
// item waits for one, the times are plausible, and it counts by Verify. Errors are those of this package.
func (a *Authority) Check(item *approvals.Item, decision *approvals.Decision, at leases.Instant,
	most time.Duration) error {
	now := at.Wall
	switch st := item.At(at).State; {
	case st == approvals.Expired:
		return approvals.ErrExpired
	case st != approvals.Pending:
		return fmt.Errorf("%w: %s", approvals.ErrDecided, st)
	case decision.Verdict != approvals.Approve && decision.Verdict != approvals.Deny:
		return fmt.Errorf("%w: it is neither approved nor denied", approvals.ErrInvalid)
	case len(decision.Reason) > phases.MaxReasonBytes:
		return fmt.Errorf("%w: a reason of more than %d bytes", approvals.ErrInvalid, phases.MaxReasonBytes)
	case decision.At.Before(now.Add(-skew)) || decision.At.After(now.Add(skew)):
		return fmt.Errorf("%w: it was made at %s, and now it is %s", approvals.ErrInvalid,
			decision.At.UTC().Format(time.RFC3339),
			now.UTC().Format(time.RFC3339))
	case !decision.Until.After(decision.At) || decision.Until.Sub(decision.At) > most:
		return fmt.Errorf("%w: it would hold for %v, and at most %v is allowed", approvals.ErrInvalid,
			decision.Until.Sub(decision.At),
			most)
	}
	return a.Verify(item, decision)
}
