package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A LogOf is the log of one of the kernels that share what restricts.
type LogOf struct {
	Name     string
	Verifier string // of its checkpoints
	Log      kernel.Log
	Apart    bool // its latches are not in the rows that are shared
}

// ReadStandings reads the logs of all kernels that share what restricts, and returns what they say together. No log
// says in which order two kernels wrote. So a latch ends by what its own log says later, and otherwise only by an event
// that names it: where that cannot be told, the session stays latched. The error is ErrLog.
func ReadStandings(ctx context.Context, logs []LogOf) (Standing, error) {
	out := Standing{Compactions: map[string]kernel.Compacted{}}
	var read []*standingReader
	ended := map[string]bool{}
	for i := range logs {
		l := &logs[i]
		r, err := readStanding(ctx, l.Log, l.Verifier)
		if err != nil {
			return Standing{}, fmt.Errorf("kernel %s: %w", l.Name, err)
		}
		for _, d := range r.out.Doubts {
			out.Doubts = append(out.Doubts, "kernel "+l.Name+": "+d)
		}
		out.Denied = append(out.Denied, r.out.Denied...)
		if r.out.Newest.After(out.Newest) {
			out.Newest = r.out.Newest
		}
		out.Compactions[l.Name] = r.out.Compacted
		if l.Apart {
			continue
		}
		read = append(read, r)
		for i := range r.held.steps {
			if id := endedBy(&r.held.steps[i].e); id != "" {
				ended[id] = true
			}
		}
	}
	slices.SortStableFunc(out.Denied, func(a, b Denial) int { return a.At.Compare(b.At) })
	out.Latches = together(read, ended)
	return out, nil
}

// endedBy returns the id of the latch that an event says has ended; "" when it names none.
func endedBy(e *phases.Event) string {
	if e.Decision == kernel.DecisionLatched {
		return ""
	}
	id, _ := phases.GetString(e.Output, "/latch")
	return id
}

// together returns the latches that stand by all logs, oldest first.
func together(read []*standingReader, ended map[string]bool) []kernel.Latch {
	var all []kernel.Latch
	for _, r := range read {
		for _, l := range r.out.Latches {
			if l.ID == "" || !ended[l.ID] {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, oldest)
	held := map[wire.Session]kernel.Latch{}
	for i := range all {
		if old, ok := held[all[i].Key()]; !ok || all[i] != old && all[i].Replaces(&old) {
			held[all[i].Key()] = all[i]
		}
	}
	return slices.SortedFunc(maps.Values(held), oldest)
}

func oldest(a, b kernel.Latch) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Runtime, b.Runtime), cmp.Compare(a.Session, b.Session))
}
