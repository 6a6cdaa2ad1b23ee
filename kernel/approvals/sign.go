package approvals

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/leases/clock"
	"github.com/belay-hooks/belay/phases"
)

// Reviewer is somebody whose decisions count.
type Reviewer struct {
	Name string
	Key  ed25519.PublicKey
}

const keyPrefix = "ed25519:"

// ParseReviewerKey reads ed25519:BASE64, as belay.yaml holds it.
func ParseReviewerKey(s string) (ed25519.PublicKey, error) {
	enc, ok := strings.CutPrefix(s, keyPrefix)
	if !ok {
		return nil, errors.New("a reviewer's key has the form ed25519:BASE64")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(enc)
	if err != nil || len(b) != ed25519.PublicKeySize || FormatReviewerKey(b) != s { // the decoder skips line ends
		return nil, errors.New("a reviewer's key is the base64 of 32 bytes")
	}
	return ed25519.PublicKey(b), nil
}

// FormatReviewerKey is the inverse of ParseReviewerKey.
func FormatReviewerKey(k ed25519.PublicKey) string {
	return keyPrefix + base64.StdEncoding.EncodeToString(k)
}

// KeyID names a key: base64 of the first 12 bytes of its SHA-256.
func KeyID(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Statement returns the bytes that a reviewer signs: what is decided, about which
// item with exactly which content, by whom, why, and until when it holds.
func Statement(it *Item, d *Decision) ([]byte, error) {
	doc := struct {
		Item    string    `json:"item"`
		Kind    Kind      `json:"kind"`
		Key     string    `json:"key"`
		Content string    `json:"content"`
		Verdict Verdict   `json:"verdict"`
		By      string    `json:"by"`
		KeyID   string    `json:"key_id"`
		Reason  string    `json:"reason"`
		At      time.Time `json:"at"`
		Until   time.Time `json:"until"`
	}{it.ID, it.Kind, it.Key, d.Content, d.Verdict, d.By, d.Key, d.Reason, d.At.UTC(), d.Until.UTC()}
	b, err := json.Marshal(&doc)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	c, err := phases.Canonical(b)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return append([]byte("belay approval decision v1\n"), c...), nil
}

// Draft makes a decision about the item as it is, not signed yet.
func Draft(it *Item, v Verdict, by, reason string, now time.Time, holds time.Duration) (Decision, error) {
	content, err := it.Content()
	if err != nil {
		return Decision{}, err
	}
	now = now.UTC().Truncate(time.Millisecond)
	return Decision{Verdict: v, By: by, Reason: reason, At: now, Until: now.Add(holds), Content: content}, nil
}

// Sign signs the decision with a reviewer's key.
func Sign(it *Item, d *Decision, key ed25519.PrivateKey) error {
	d.Key = KeyID(key.Public().(ed25519.PublicKey))
	b, err := Statement(it, d)
	if err != nil {
		return err
	}
	d.Signature = ed25519.Sign(key, b)
	return nil
}

// Authority says whose decisions count.
type Authority struct {
	Reviewers []Reviewer
	Unsigned  bool // without a signature, too; only while there is no reviewer
}

// Protected reports whether a decision takes a key that an agent does not hold.
func (a *Authority) Protected() bool { return len(a.Reviewers) > 0 }

// Changed says in words who counts in another authority and not in this one, and
// the other way round; "" when nothing has changed.
func (a *Authority) Changed(now *Authority) string {
	who := func(of, without *Authority) (names []string) {
		for _, r := range of.Reviewers {
			if !slices.ContainsFunc(without.Reviewers, func(o Reviewer) bool { return o.Name == r.Name && o.Key.Equal(r.Key) }) {
				names = append(names, r.Name+" ("+KeyID(r.Key)+")")
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
func (a *Authority) Verify(it *Item, d *Decision) error {
	content, err := it.Content()
	if err != nil {
		return err
	}
	if d.Content != content {
		return ErrContent
	}
	if d.Verdict == Approve && len(it.Hidden) > 0 {
		return fmt.Errorf("%w (%s)", ErrHidden, strings.Join(it.Hidden, ", "))
	}
	if !a.Protected() {
		if a.Unsigned {
			return nil
		}
		return fmt.Errorf("%w: no reviewer has a key yet", ErrSignature)
	}
	for _, r := range a.Reviewers {
		if r.Name != d.By || KeyID(r.Key) != d.Key {
			continue
		}
		b, err := Statement(it, d)
		if err != nil {
			return err
		}
		if ed25519.Verify(r.Key, b, d.Signature) {
			return nil
		}
	}
	return ErrSignature
}

// skew is how far a reviewer's clock may be ahead or behind.
const skew = 2 * time.Minute

// Check reports whether a decision that comes in at a time can be taken: the
// item waits for one, the times are plausible, and it counts by Verify. Errors are those of this package.
func (a *Authority) Check(it *Item, d *Decision, at clock.Instant, most time.Duration) error {
	now := at.Wall
	switch st := it.At(at).State; {
	case st == Expired:
		return ErrExpired
	case st != Pending:
		return fmt.Errorf("%w: %s", ErrDecided, st)
	case d.Verdict != Approve && d.Verdict != Deny:
		return fmt.Errorf("%w: it is neither approved nor denied", ErrInvalid)
	case len(d.Reason) > MaxReason:
		return fmt.Errorf("%w: a reason of more than %d bytes", ErrInvalid, MaxReason)
	case d.At.Before(now.Add(-skew)) || d.At.After(now.Add(skew)):
		return fmt.Errorf("%w: it was made at %s, and now it is %s", ErrInvalid, d.At.UTC().Format(time.RFC3339),
			now.UTC().Format(time.RFC3339))
	case !d.Until.After(d.At) || d.Until.Sub(d.At) > most:
		return fmt.Errorf("%w: it would hold for %v, and at most %v is allowed", ErrInvalid, d.Until.Sub(d.At), most)
	}
	return a.Verify(it, d)
}
