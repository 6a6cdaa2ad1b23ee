package wire

import (
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Query selects events; zero members select everything.
type Query struct {
	After      int64 // only events with a larger sequence number
	Before     int64 // only events with a smaller sequence number; 0 means no bound
	Since      time.Time
	Until      time.Time // exclusive
	ID         string
	Type       phases.EventType
	Except     phases.EventType // all but this type
	Phase      phases.Phase
	Runtime    string
	Session    string
	Agent      string
	Tool       string
	Invocation string
	Binding    string
	Decision   string
	Kind       phases.Kind
	Newest     bool // the last Limit events instead of the first; ascending all the same
	Limit      int  // 0 means DefaultLimit; at most MaxLimit
}

// Limits of one query.
const (
	DefaultLimit = 100
	MaxLimit     = 10_000
)

// EffectiveLimit returns the number of events that the query asks for at most.
func (q *Query) EffectiveLimit() int {
	if q.Limit <= 0 {
		return DefaultLimit
	}
	return min(q.Limit, MaxLimit)
}

// Match reports whether the event is selected, apart from Limit and Newest.
// It is the meaning of the query, which stores may compute in their own way.
func (q *Query) Match(e *phases.Event) bool {
	eq := func(want, got string) bool { return want == "" || want == got }
	return e.Seq > q.After && (q.Before == 0 || e.Seq < q.Before) &&
		(q.Since.IsZero() || !e.Time.Before(q.Since)) &&
		(q.Until.IsZero() || e.Time.Before(q.Until)) &&
		eq(q.ID, e.ID) && eq(string(q.Type), string(e.Type)) && (q.Except == "" || q.Except != e.Type) &&
		eq(string(q.Phase), string(e.Phase)) &&
		eq(q.Runtime, e.Runtime) && eq(q.Session, e.Session) && eq(q.Agent, e.Agent) && eq(q.Tool, e.Tool) &&
		eq(q.Invocation, e.Invocation) && eq(q.Binding, e.Binding) &&
		eq(q.Decision, e.Decision) && eq(string(q.Kind), string(e.Kind))
}
