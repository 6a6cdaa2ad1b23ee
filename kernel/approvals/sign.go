package approvals

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Reviewer is a person whose decisions count.
type Reviewer struct {
	Name string
	Key  ed25519.PublicKey
}

// KeyID names a key: base64 of the first 12 bytes of its SHA-256.
func KeyID(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Statement returns the bytes that a reviewer signs: the verdict, the item and its exact
// content, the reviewer, the reason, and the time until which the decision holds.
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
