package alarms

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Reader is where events are read from: a daemon, or an open state directory.
type Reader interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}

// Bounds of a report. It reads the log backwards by its numbers, in windows, and ends at the first
// bound that it meets.
const (
	// MaxEvents is how many numbers of the log a report looks at.
	MaxEvents = 1_000_000

	// GlanceEvents is the same for a glance, such as a line of a status.
	GlanceEvents = 20_000

	window     = 20_000 // numbers of one window
	page       = 1000   // events of one query
	maxTurns   = 50_000 // asks, blocks and failures that are kept
	maxLookups = 200    // asks whose call is looked for in its session
	after      = 20_000 // numbers after an ask in which its call is looked for
)

// turn is what a report keeps of an event.
type turn struct {
	seq                int64
	at                 time.Time
	verdict            bool
	observed           bool
	decision           string
	enforced           phases.Enforced
	hook, tool         string
	reason             string
	rules              []string // that the hook names itself; none in old events
	kind               phases.Kind
	invocation         string
	runtime, sess, use string // of the call: runtime, session, id of the call
	phase              phases.Phase
}

// collected is what was read of the log.
type collected struct {
	turns     []turn
	requested map[string]bool // invocations whose ask was put into the queue of approvals
	approved  map[string]bool // and was approved there
	looked    int64           // numbers of the log that were looked at
	oldest    time.Time       // of them
	complete  bool            // they reach back to the beginning of the time asked for
}

// collect reads the asks, blocks and failures of a time, at most of a number of events, none with
// a number up to gone.
func collect(ctx context.Context, src Reader, since, until time.Time, most, gone int64) (*collected, error) {
	c := &collected{requested: map[string]bool{}, approved: map[string]bool{}}
	newest, err := src.Events(ctx, wire.Query{Newest: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(newest) == 0 {
		c.complete = true
		return c, nil
	}
	last := newest[0].Seq
	for high := last + 1; ; {
		low := max(high-window, last+1-most, gone+1, 1) // the first number of the window
		if low >= high {
			c.complete = gone == 0 && high <= 1
			break
		}
		first, err := src.Events(ctx, wire.Query{After: low - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		full, err := c.window(ctx, src, since, until, low, high)
		if err != nil {
			return nil, err
		}
		c.looked = last + 1 - low
		if len(first) > 0 {
			c.oldest = first[0].Time
		}
		if len(first) > 0 && first[0].Time.Before(since) {
			c.complete = !full
			break
		}
		if full {
			break
		}
		high = low
	}
	return c, c.questions(ctx, src, since, last+1-c.looked)
}

// window reads the numbers low to high-1; full says that more was found than is kept.
func (c *collected) window(ctx context.Context, src Reader, since, until time.Time, low, high int64) (full bool,
	err error) {
	for _, decision := range []string{"ask", "block", "error"} {
		q := wire.Query{After: low - 1, Before: high, Since: since, Until: until, Decision: decision, Newest: true,
			Limit: page}
		full, err := pages(ctx, src, q, maxTurns-len(c.turns), func(e *phases.Event) {
			if e.Type == phases.EventHook || e.Type == phases.EventVerdict || e.Type == phases.EventFailure {
				c.turns = append(c.turns, turnOf(e))
			}
		})
		if full || err != nil {
			return full, err
		}
	}
	return false, nil
}

// questions reads what became of the asks in the queue of approvals.
func (c *collected) questions(ctx context.Context, src Reader, since time.Time, low int64) error {
	for decision, into := range map[string]map[string]bool{"requested": c.requested, "approved": c.approved} {
		q := wire.Query{After: low - 1, Since: since, Type: phases.EventApproval, Decision: decision, Newest: true,
			Limit: page}
		if _, err := pages(ctx, src, q, maxTurns, func(e *phases.Event) { into[e.Invocation] = true }); err != nil {
			return err
		}
	}
	return nil
}

// pages reads what a query for the newest events selects, newest first, at most of a number of
// events; full says that there may be more.
func pages(ctx context.Context, src Reader, q wire.Query, most int, each func(*phases.Event)) (full bool, err error) {
	for n := 0; n < most; {
		events, err := src.Events(ctx, q)
		if err != nil {
			return false, err
		}
		for i := len(events) - 1; i >= 0; i-- {
			each(&events[i])
		}
		if n += len(events); len(events) < q.Limit {
			return false, nil
		}
		q.Before = events[0].Seq
	}
	return true, nil
}

func turnOf(e *phases.Event) turn {
	t := turn{seq: e.Seq, at: e.Time, decision: e.Decision, enforced: e.Enforced, hook: e.DecidedBy, tool: e.Tool,
		reason: e.Reason, kind: e.Kind, invocation: e.Invocation, runtime: e.Runtime, sess: e.Session, phase: e.Phase}
	if e.Type == phases.EventHook {
		t.hook, t.observed, t.rules = e.Binding, e.Mode == phases.Observe, phases.RulesTold(e.Logs)
		return t
	}
	t.verdict = true
	if t.phase == phases.PreTool {
		t.use, _ = phases.GetString(e.Input, "/action/call_id")
	}
	return t
}

// ran reports whether the call of an ask that the runtime puts to the person itself has a result.
func ran(ctx context.Context, src Reader, t *turn) (bool, error) {
	q := wire.Query{After: t.seq, Before: t.seq + after, Runtime: t.runtime, Session: t.sess, Type: phases.EventVerdict,
		Phase: phases.PostTool, Tool: t.tool, Limit: page}
	events, err := src.Events(ctx, q)
	if err != nil {
		return false, err
	}
	for i := range events {
		if use, ok := phases.GetString(events[i].Input, "/action/call_id"); ok && use == t.use {
			return true, nil
		}
	}
	return false, nil
}
