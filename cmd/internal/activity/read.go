package activity

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Reader is where events are read from: a daemon, or an open state directory.
type Reader interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}

// Bounds of a report.
const (
	// MaxEvents is how many numbers of the log a report looks at, the newest.
	MaxEvents = 1_000_000

	page     = 2000 // events of one query
	maxHooks = 200
	maxCalls = 50_000 // questions of runtimes whose results are looked for
)

// Others is the hook that takes what finds no place of its own.
const Others = "all others"

// Options say what a report covers.
type Options struct {
	Since, Until time.Time
	Gone         int64          // events up to this number have no contents
	Location     *time.Location // of the spans
}

// costs are the numbers of one hook's turns.
type costs struct{ us, fuel []int64 }

// question is one item of the queue of approvals.
type question struct {
	asked time.Time
	state string
}

type counter struct {
	report    *Report
	us, fuel  []int64
	hooks     map[string]*costs
	questions map[string]*question
	answers   []int64
	calls     map[string]bool // of questions of runtimes: whether their result came
}

// Read makes a report of what src holds. It asks for events of that time alone, so that a store finds them
// by its index. Errors are those of src.
func Read(ctx context.Context, src Reader, o Options) (*Report, error) {
	r := &Report{Since: o.Since, Until: o.Until, From: o.Since, Zone: zoneText(o.Until.In(o.Location)),
		Step: stepFor(o.Since, o.Until), Complete: true}
	r.OverTime = spans(o.Since, o.Until, r.Step, o.Location)
	c := &counter{report: r, hooks: map[string]*costs{}, questions: map[string]*question{}, calls: map[string]bool{}}
	newest, err := src.Events(ctx, wire.Query{Newest: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(newest) > 0 {
		after := max(o.Gone, newest[0].Seq-MaxEvents, 0)
		if after > 0 {
			if err := r.begins(ctx, src, after); err != nil {
				return nil, err
			}
		}
		if err := c.read(ctx, src, after, newest[0].Seq); err != nil {
			return nil, err
		}
	}
	c.finish()
	return r, nil
}

// begins finds out how far back a log goes of which the oldest events are not read.
func (r *Report) begins(ctx context.Context, src Reader, after int64) error {
	first, err := src.Events(ctx, wire.Query{After: after, Limit: 1})
	if err == nil && len(first) > 0 && first[0].Time.After(r.Since) {
		r.From, r.Complete = first[0].Time, false
	}
	return err
}

func (c *counter) read(ctx context.Context, src Reader, after, last int64) error {
	q := wire.Query{After: after, Before: last + 1, Since: c.report.Since, Until: c.report.Until, Limit: page}
	for {
		events, err := src.Events(ctx, q)
		if err != nil {
			return err
		}
		for i := range events {
			c.add(&events[i])
		}
		if len(events) < page {
			return nil
		}
		q.After = events[len(events)-1].Seq
	}
}

func (c *counter) add(e *phases.Event) {
	c.report.Events++
	switch e.Type {
	case phases.EventVerdict:
		c.us, c.fuel = append(c.us, e.DurationUS), append(c.fuel, e.Fuel)
		c.decided(e)
		c.prompted(e)
	case phases.EventFailure:
		c.decided(e)
	case phases.EventHook:
		hook := c.hook(e.Binding)
		hook.us, hook.fuel = append(hook.us, e.DurationUS), append(hook.fuel, e.Fuel)
	case phases.EventApproval:
		c.answered(e)
	}
}

// decided counts a verdict. A failure counts as a block.
func (c *counter) decided(e *phases.Event) {
	for _, d := range []*Decisions{&c.report.Decisions, &spanAt(c.report.OverTime, e.Time).Decisions} {
		switch {
		case e.Type == phases.EventFailure || e.Decision == string(phases.Block):
			d.Block++
		case e.Decision == string(phases.Ask):
			d.Ask++
		case len(e.Changed) > 0:
			d.Changed++
		default:
			d.Allow++
		}
	}
	if e.Type == phases.EventFailure ||
		e.Decision == string(phases.Block) && e.Kind != "" && e.Kind != phases.KindPolicy {
		c.report.Failures++
	}
}

// prompted counts the questions that a runtime puts to the person, and those whose call has a result.
func (c *counter) prompted(e *phases.Event) {
	asks := e.Decision == string(phases.Ask) && e.Enforced == phases.EnforcedDelegated
	if !asks && (e.Phase != phases.PostTool || len(c.calls) == 0) {
		return
	}
	id, _ := phases.GetString(e.Input, "/action/call_id")
	call := e.Runtime + "\x00" + e.Session + "\x00" + id
	if asks {
		c.report.Answers.Prompted++
		if id != "" && e.Phase == phases.PreTool && len(c.calls) < maxCalls {
			c.calls[call] = false
		}
	} else if ran, known := c.calls[call]; known && !ran {
		c.calls[call] = true
		c.report.Answers.Ran++
	}
}

// answered follows one question of the queue.
func (c *counter) answered(e *phases.Event) {
	id, _ := phases.GetString(e.Output, "/approval")
	if kind, _ := phases.GetString(e.Output, "/kind"); kind != "ask" || id == "" {
		return
	}
	if e.Decision == "requested" {
		c.questions[id] = &question{asked: e.Time}
		return
	}
	q := c.questions[id]
	if q == nil {
		return // it was asked before the report begins
	}
	switch e.Decision {
	case "approved", "denied":
		q.state = e.Decision
		c.answers = append(c.answers, max(0, e.Time.Sub(q.asked).Milliseconds()))
	case "expired", "superseded":
		if q.state == "" { // an approval that was not used in time was answered
			q.state = e.Decision
		}
	}
}

func (c *counter) hook(name string) *costs {
	if c.hooks[name] == nil && len(c.hooks) >= maxHooks {
		name = Others
	}
	if c.hooks[name] == nil {
		c.hooks[name] = new(costs)
	}
	return c.hooks[name]
}

func (c *counter) finish() {
	r := c.report
	r.Latency, r.Fuel = SpreadOf(c.us), SpreadOf(c.fuel)
	r.Hooks = []Hook{}
	for name, hook := range c.hooks {
		r.Hooks = append(r.Hooks, Hook{Hook: name, Latency: SpreadOf(hook.us), Fuel: SpreadOf(hook.fuel)})
	}
	slices.SortFunc(r.Hooks, func(a, b Hook) int { return cmp.Compare(a.Hook, b.Hook) })
	a := &r.Answers
	a.NoResult = a.Prompted - a.Ran
	for _, q := range c.questions {
		a.Queued++
		switch q.state {
		case "approved":
			a.Approved++
		case "denied":
			a.Denied++
		case "expired":
			a.Expired++
		case "superseded":
			a.Superseded++
		default:
			a.Waiting++
		}
	}
	a.AnswerMS = SpreadOf(c.answers)
}
