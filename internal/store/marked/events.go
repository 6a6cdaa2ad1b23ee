package marked

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Why a store takes something for used, or takes it back.
const (
	NoCommit  = "its use was noted outside of the database and is not in it: it counts as used"
	Recovered = "the database was recovered: what was lost may have used it up or taken it back"
)

// NewID makes the id of a database that has none.
func NewID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails: the runtime ends the process instead
	return hex.EncodeToString(b)
}

func newEvent(t phases.EventType, now time.Time) phases.Event {
	return phases.Event{ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Type: t, Time: now.UTC(), DecidedBy: "belay"}
}

// Adoption says that a database that holds events already gets a mark.
func Adoption() phases.Event {
	e := newEvent(phases.EventNotice, time.Now())
	e.Reason = "from here on a high-water mark outside of the database says how far it has come"
	return e
}

// ApprovalStep says what has become of an item of the queue.
func ApprovalStep(it *approvals.Item, what approvals.State, why string, now time.Time) phases.Event {
	e := newEvent(phases.EventApproval, now)
	e.Invocation, e.Phase, e.Tool = it.Invocation, it.Phase, it.Tool
	e.Runtime, e.Session, e.Agent = it.By.Runtime, it.By.Session, it.By.Agent
	e.Decision, e.Reason = string(what), why
	e.Output = document("approval", it.ID)
	return e
}

// LeaseStep says what has become of a lease.
func LeaseStep(l *leases.Lease, what, why string, now time.Time) phases.Event {
	e := newEvent(phases.EventLease, now)
	e.Runtime, e.Session, e.Agent = phases.SafeLine(l.Holder.Runtime, phases.MaxRuntimeBytes),
		phases.SafeLine(l.Holder.Session, phases.MaxIDBytes), phases.SafeLine(l.Holder.Agent, phases.MaxIDBytes)
	e.Decision, e.Reason, e.Notes = what, "lease "+l.ID, []string{why}
	e.Output = document("id", l.ID)
	return e
}

// StatementStep says that a reviewer's statement counts as used. event is the id of the event that was to record it.
func StatementStep(id, event string, now time.Time) phases.Event {
	e := newEvent(phases.EventNotice, now)
	e.ID, e.Decision, e.Reason, e.Notes = event, kernel.Ordered, "the reviewer's statement "+id, []string{NoCommit}
	return e
}

func document(name, value string) []byte {
	b, _ := json.Marshal(map[string]string{name: value}) // texts: it cannot fail
	return b
}
