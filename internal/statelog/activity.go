package statelog

import (
	"sync"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Activity is what came into the log lately, and from which agents. It knows what this process has written. Safe for
// concurrent use.
type Activity struct {
	mu     sync.Mutex
	seen   map[agent]time.Time
	last   int64
	newest time.Time
}

type agent struct{ runtime, session, name string }

// Bounds of Activity. More agents than that are not counted.
const (
	agentCounts = 15 * time.Minute // without an event
	maxAgents   = 1024
)

// note takes in events that were written.
func (a *Activity) note(events []phases.Event, first int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[agent]time.Time{}
	}
	for i := range events {
		e := &events[i]
		if e.Time.After(a.newest) {
			a.newest = e.Time
		}
		a.last = max(a.last, first+int64(i))
		if e.Runtime == "" {
			continue
		}
		who := agent{e.Runtime, e.Session, e.Agent}
		if _, ok := a.seen[who]; !ok && len(a.seen) >= maxAgents {
			a.forget(e.Time)
			if len(a.seen) >= maxAgents {
				continue
			}
		}
		a.seen[who] = e.Time
	}
}

// forget drops agents of which nothing was heard for a while. Preconditions: a.mu is held.
func (a *Activity) forget(now time.Time) {
	for who, at := range a.seen {
		if now.Sub(at) > agentCounts {
			delete(a.seen, who)
		}
	}
}

// Newest returns the number and the time of the last event that this process has written; 0 when there is none.
func (a *Activity) Newest() (seq int64, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, a.newest
}

// Agents counts, by runtime, the agents that asked within the last quarter of an hour.
func (a *Activity) Agents(now time.Time) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	out := map[string]int{}
	for who := range a.seen {
		out[who.runtime]++
	}
	return out
}
