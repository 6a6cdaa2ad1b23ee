package approvals

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Kind says what an item is about.
type Kind string

const (
	KindAsk      Kind = "ask"      // hooks want a person to be asked about an action
	KindProposal Kind = "proposal" // an agent or a program proposes a hook
	KindLease    Kind = "lease"    // a lease that only a person can lend is wanted, by a hook or by hand
	KindTool     Kind = "tool"     // an MCP server says something else of its tools than what was accepted
)

// State is where an item stands.
type State string

const (
	Pending    State = "pending"
	Approved   State = "approved"   // and not used yet
	Denied     State = "denied"     // by a person
	Expired    State = "expired"    // not decided in time, or not used in time
	Superseded State = "superseded" // another item took its place
	Consumed   State = "consumed"   // approved and used, once
)

// Requester is who asked. Credential is what the host has seen for itself; the
// other members are the caller's word.
type Requester struct {
	Credential string `json:"credential"`
	Runtime    string `json:"runtime,omitzero"`
	Session    string `json:"session,omitzero"`
	Agent      string `json:"agent,omitzero"`
}

// Asking is a hook that wants a person to be asked.
type Asking struct {
	Hook   string `json:"hook"`
	Digest string `json:"digest,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Item is one question to a person. Everything in it is redacted already.
type Item struct {
	ID         string         `json:"id"` // UUIDv7
	Kind       Kind           `json:"kind"`
	Key        string         `json:"key"` // digest of the question: the same question has the same key
	State      State          `json:"state"`
	By         Requester      `json:"by"`
	Created    time.Time      `json:"created"`
	Expires    time.Time      `json:"expires"`        // for deciding; an undecided item is denied then
	Clock      leases.Stamp   `json:"clock,omitzero"` // of Created: how long it waits counts by the boot clock
	Invocation string         `json:"invocation,omitzero"`
	Phase      phases.Phase   `json:"phase,omitzero"`
	Tool       string         `json:"tool,omitzero"`
	Action     jsontext.Value `json:"action,omitzero"` // as it would run
	Before     jsontext.Value `json:"before,omitzero"` // as it was asked about, when hooks have changed it
	Scopes     *phases.Scopes `json:"scopes,omitzero"`
	Reason     string         `json:"reason,omitzero"`
	Hooks      []Asking       `json:"hooks,omitzero"`
	Details    jsontext.Value `json:"details,omitzero"` // by kind: a proposal's binding, a lease's terms
	Notes      []string       `json:"notes,omitzero"`
	// JSON Pointers: what one would decide by and cannot read; such an item is never approved
	Hidden   []string  `json:"hidden,omitzero"`
	Decision *Decision `json:"decision,omitzero"`
	Closed   time.Time `json:"closed,omitzero"` // when it was decided against, used, or ran out

	// Damaged is set by a store that cannot read the item, or whose columns beside the
	// item, by which it is found, do not agree with it.
	Damaged bool `json:"-"`
}

// Verdict is a person's answer.
type Verdict string

const (
	Approve Verdict = "approved"
	Deny    Verdict = "denied"
)

// Decision is a person's answer to one item. Until bounds what follows from it: an
// approval can be used, and a denial answers the same question, before then.
type Decision struct {
	Verdict   Verdict   `json:"verdict"`
	By        string    `json:"by"` // the reviewer's name in belay.yaml
	Reason    string    `json:"reason,omitzero"`
	At        time.Time `json:"at"`
	Until     time.Time `json:"until"`
	Content   string    `json:"content"`            // Item.Content as the person saw it
	Key       string    `json:"key_id,omitzero"`    // of the reviewer's key; "" when it is not signed
	Signature []byte    `json:"signature,omitzero"` // Ed25519, over Statement

	// Clock is of At, on the boot clock of the host that took the decision, which sets it
	// and seals it in the log. It is no part of what a reviewer signs, who may be elsewhere.
	Clock leases.Stamp `json:"clock,omitzero"`
}

// Settings bound the  The zero value means the defaults.
type Settings struct {
	Timeout  time.Duration // how long an item waits, and an approval can be used: 10 minutes, at most 24 hours
	Quota    int           // undecided items of one agent: 20, at most 1000
	Unsigned bool          // decisions count without a reviewer's signature
}

// Classes of errors, for errors.Is.
var (
	ErrUnknown   = errors.New("there is no such approval")
	ErrDecided   = errors.New("it is decided already")
	ErrExpired   = errors.New("it has expired, which counts as denied")
	ErrContent   = errors.New("the decision is about something else than what is in the queue")
	ErrSignature = errors.New("the decision is not signed by a reviewer")
	ErrQuota     = errors.New("too many questions of this agent wait for a person already")
	ErrInvalid   = errors.New("the decision is not valid")
	ErrHidden    = errors.New("argument hidden: what a person would decide by is redacted, so this can only be denied")
	ErrUnsound   = errors.New("the stored item is not what was asked")
)

// At returns the item as it stands at a time: one whose time has run out is
// expired, also before a store has recorded that.
func (it Item) At(now leases.Instant) Item {
	if (it.State == Pending || it.State == Approved && it.Decision != nil) && it.Left(now) <= 0 {
		it.State, it.Closed = Expired, it.Ends()
	}
	return it
}

// Left returns how long a pending item still waits, or its decision still holds; not more
// than 0 when that is over.
func (it *Item) Left(now leases.Instant) time.Duration {
	if d := it.Decision; d != nil && it.State != Pending {
		return d.Clock.Left(now, d.At, d.Until)
	}
	return it.Clock.Left(now, it.Created, it.Expires)
}

// Content returns the digest of everything in the item that does not change:
// what a person saw, and signs for.
func (it Item) Content() (string, error) {
	it.State, it.Decision, it.Closed = "", nil, time.Time{}
	it.Created, it.Expires = it.Created.UTC().Round(0), it.Expires.UTC().Round(0)
	b, err := json.Marshal(&it, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("approvals: %w", err)
	}
	return phases.Digest(b)
}

// Clone returns a copy that shares nothing with the item.
func (it Item) Clone() Item {
	it.Action, it.Before, it.Details = slices.Clone(it.Action), slices.Clone(it.Before), slices.Clone(it.Details)
	it.Hooks, it.Notes, it.Hidden = slices.Clone(it.Hooks), slices.Clone(it.Notes), slices.Clone(it.Hidden)
	if it.Scopes != nil {
		s := it.Scopes.Clone()
		it.Scopes = &s
	}
	if it.Decision != nil {
		d := *it.Decision
		d.Signature = slices.Clone(d.Signature)
		it.Decision = &d
	}
	return it
}
