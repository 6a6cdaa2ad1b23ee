package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"

	"github.com/belay-hooks/belay/phases"
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

// UseCall is the use of the digests by which a call is found again when it has run. They stand in rows and
// in no event. A Digester without a key for it digests them by the key of UseInput.
const UseCall Use = "call"

// Uses returns every use of a key that a state directory has for itself.
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

// minDigestKey is the least length of a key, in bytes.
const minDigestKey = 32

// Digest returns hmac-sha256:HEX, or "" when the use has no key: no digest is
// better than one without a key.
func (k Keys) Digest(u Use, original []byte) string {
	if len(k[u]) < minDigestKey {
		return ""
	}
	return (&keyed{hash: hmac.New(sha256.New, k[u])}).digest(original)
}

// keyed is a hash with a key in it, and where it puts its sum.
type keyed struct {
	hash hash.Hash
	sum  [sha256.Size]byte
}

func (k *keyed) digest(original []byte) string {
	k.hash.Write(original)
	const head = "hmac-sha256:"
	var text [len(head) + 2*len(k.sum)]byte
	return string(hex.AppendEncode(append(text[:0], head...), k.hash.Sum(k.sum[:0])))
}

// Hasher is a Digester that says what its Keys say. It uses its hashes again, with the keys in them.
type Hasher struct{ idle map[Use]*sync.Pool } // of *keyed

// NewHasher makes a Hasher of keys that are complete.
func NewHasher(keys Keys) *Hasher {
	h := &Hasher{idle: map[Use]*sync.Pool{}}
	for use, key := range keys {
		if len(key) >= minDigestKey {
			h.idle[use] = &sync.Pool{New: func() any { return &keyed{hash: hmac.New(sha256.New, key)} }}
		}
	}
	return h
}

// Digest is Keys.Digest.
func (h *Hasher) Digest(u Use, original []byte) string {
	idle := h.idle[u]
	if idle == nil {
		return ""
	}
	one, _ := idle.Get().(*keyed) // nothing else is in it
	defer idle.Put(one)
	one.hash.Reset()
	return one.digest(original)
}

// The digests in events are of these documents. With originals and keys a
// program can compute them again, and so find out whether an original belongs
// to an event.

// InputDocument is what the input digest of a verdict's event is of.
func InputDocument(inv *Invocation) ([]byte, error) {
	in := inputOf(inv)
	return in.encoded()
}

// OutputDocument is what the output digest of a verdict's event is of. wrote is the
// metadata that the chain wrote, as it was redacted.
func OutputDocument(v *phases.Verdict, wrote phases.Metadata) ([]byte, error) {
	out := outputOf(v, wrote)
	return out.encoded()
}

// EffectsDocument is what the output digest of a turn's event is of; there is none
// when the turn asked for nothing.
func EffectsDocument(list []phases.Effect) ([]byte, error) { return encoded(effects{list}) }

func inputOf(inv *Invocation) input {
	return input{Action: inv.Action, CWD: inv.CWD, Scopes: inv.Scopes, Metadata: inv.Metadata, Carried: inv.Carried,
		Time: inv.Time, Reported: inv.ReportedTime, strict: inv.Checked.Covers(&inv.Invocation),
		compact: inv.Checked.Compact(inv.Action)}
}

func outputOf(v *phases.Verdict, wrote phases.Metadata) output {
	out := output{Scopes: v.Scopes, Metadata: wrote, Contexts: v.Contexts, Reply: v.Reply, Retry: v.Retry,
		Artifacts: v.Artifacts, Grant: v.Grant}
	if len(v.Changed) > 0 {
		out.Action = v.Action
	}
	return out
}
