package approvals

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/leases"
)

// Verb names an act that belongs to a person and is not about an item of the queue. It is
// what the command line calls the act: "latch clear", "events compact", "record", "recover" or
// "config accept".
type Verb string

// Order is a statement by which a reviewer has one verb carried out, once, on one
// state directory, with exactly these arguments. It needs no item in the queue.
type Order struct {
	ID      string         `json:"id"` // UUIDv7; the event that records its use has an id made from it
	Verb    Verb           `json:"verb"`
	Store   string         `json:"store"` // of the state directory; no other one takes the order
	Args    jsontext.Value `json:"args"`  // an object, by verb
	By      string         `json:"by"`    // the reviewer's name in belay.yaml
	Key     string         `json:"key_id"`
	At      time.Time      `json:"at"`
	Expires time.Time      `json:"expires"`
	// of At, where it was written; it counts there until the next boot
	Clock     leases.Stamp `json:"clock,omitzero"`
	Signature []byte       `json:"signature,omitzero"` // Ed25519, over all other members
}
