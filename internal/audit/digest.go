package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Use says what a keyed digest is for. Each use has a key of its own, so that
// equal values in different places cannot be told from the log.
type Use = string

// The uses of keyed digests in events.
const (
	UseInput  Use = "event-input"
	UseOutput Use = "event-output"

	UseApproval Use = "approval-key" // of questions to a person: the same question, the same key

	UseApprovalItem Use = "approval-item" // of items in the queue and their decisions, as they were recorded
)

// Uses returns every use.
func Uses() []Use { return []Use{UseInput, UseOutput, UseApproval, UseApprovalItem} }

// Digester makes keyed digests of originals: equal values of one use have equal
// digests, and finding the value by trying takes the key. It is safe for
// concurrent use.
type Digester interface {
	Digest(u Use, original []byte) string
}

// Keys is a Digester by HMAC-SHA-256, with one key of at least 32 bytes for each
// use. It must not be changed once it is in use.
type Keys map[Use][]byte

// Digest returns hmac-sha256:HEX, or "" when the use has no key: no digest is
// better than one without a key.
func (k Keys) Digest(u Use, original []byte) string {
	if len(k[u]) < 32 {
		return ""
	}
	h := hmac.New(sha256.New, k[u])
	h.Write(original)
	return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
}
