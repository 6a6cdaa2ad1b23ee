package lookup

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Term is the digest of a member's name and a value of it. Two that are equal by chance cost
// a look at an event that does not match.
func Term(member, value string) int64 {
	sum := sha256.Sum256(append(append(make([]byte, 0, 128), member...), "\x00"+value...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// looked are the members of an event, and of a query, that are in the lookup. Those come first
// of which most values are rare.
func looked(q *wire.Query) [10]struct{ member, value string } {
	return [...]struct{ member, value string }{
		{"invocation", q.Invocation}, {"session", q.Session}, {"kind", string(q.Kind)}, {"binding", q.Binding},
		{"agent", q.Agent}, {"tool", q.Tool},
		{"decision", q.Decision}, {"phase", string(q.Phase)}, {"type", string(q.Type)}, {"runtime", q.Runtime},
	}
}

// Terms returns the terms of the members that are not empty.
func Terms(q *wire.Query) []int64 { return new(digested).terms(q) }

// digested are the terms of the event before. Most members of one event say what they said of that.
type digested struct {
	last [10]struct {
		value string
		term  int64
	}
	out [10]int64
}

// terms is Terms for one event after the other; what it returns holds until it is called again.
func (d *digested) terms(q *wire.Query) []int64 {
	out := d.out[:0]
	for i, l := range looked(q) {
		if l.value == "" {
			continue
		}
		if last := &d.last[i]; last.value != l.value {
			last.value, last.term = l.value, Term(l.member, l.value)
		}
		out = append(out, d.last[i].term)
	}
	return out
}

// facts returns the query that asks for everything that is looked up of an event.
func facts(e *phases.Event) wire.Query {
	return wire.Query{Invocation: e.Invocation, Session: e.Session, Kind: e.Kind, Binding: e.Binding, Agent: e.Agent,
		Tool:     e.Tool,
		Decision: e.Decision, Phase: e.Phase, Type: e.Type, Runtime: e.Runtime}
}

// Asks reports whether a query is answered by blocks: not one for a single event, which an
// index finds, and not one that takes all events as they come.
func Asks(q *wire.Query) bool {
	return q.ID == "" && (len(Terms(q)) > 0 || q.Except != "" || !q.Since.IsZero() || !q.Until.IsZero())
}

// Bounds returns a query's times in ns: not before since, before until.
func Bounds(q *wire.Query) (since, until int64) {
	ns := func(t time.Time, none int64) int64 {
		if t.IsZero() {
			return none
		}
		return t.UnixNano()
	}
	return ns(q.Since, -1<<63), ns(q.Until, 1<<63-1)
}
