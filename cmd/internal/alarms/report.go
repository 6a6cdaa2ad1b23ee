package alarms

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// By is what a report has its rows by.
type By string

const (
	ByRule By = "rule" // hook and rule
	ByHook By = "hook"
	ByTool By = "tool"
)

// maxRows bounds the rows of a report: reasons can differ without end.
const maxRows = 500

// Others is the rule of the row that takes what finds no row of its own.
const Others = "all others"

// reviewer decides a block that repeats a person's denial.
const reviewer = "reviewer"

// day is the unit of rates.
const day = 24 * time.Hour

// Counts are numbers of calls.
type Counts struct {
	Asks           int `json:"asks"`
	Blocks         int `json:"blocks"`
	Approved       int `json:"approved"`        // of the asks
	ObservedAsks   int `json:"observed_asks"`   // that hooks in observe mode would have made
	ObservedBlocks int `json:"observed_blocks"` // likewise
}

// Stopped is how many calls waited for a person or were blocked.
func (c Counts) Stopped() int { return c.Asks + c.Blocks }

// Row is one rule, hook or tool.
type Row struct {
	Hook   string  `json:"hook,omitzero"`
	Rule   string  `json:"rule,omitzero"`
	Tool   string  `json:"tool,omitzero"`
	Counts         // each call once
	PerDay float64 `json:"per_day"` // asks and blocks
}

// Day is one day of the local calendar.
type Day struct {
	Day string `json:"day"` // YYYY-MM-DD
	Counts
}

// Report is how many asks and blocks people had.
type Report struct {
	By       By        `json:"by"`
	Since    time.Time `json:"since"`    // what was asked for
	From     time.Time `json:"from"`     // what was read: the later of Since and the oldest event
	Events   int64     `json:"events"`   // of the log that were looked at
	Complete bool      `json:"complete"` // they reach back to Since, or to the first event
	Total    Counts    `json:"total"`    // a call that several rules stop counts once
	Rows     []Row     `json:"rows"`     // most asks and blocks first, then the observed ones
	Days     []Day     `json:"days"`     // newest first; days without any are left out
}

// Options say what a report covers.
type Options struct {
	By     By
	Since  time.Time
	Until  time.Time // exclusive; zero: all that there is
	Now    time.Time
	Events int64 // at most; MaxEvents at most
	Gone   int64 // events up to this number have no contents
}

// key is what a row is about.
type key struct{ hook, rule, tool string }

type counter struct {
	by    By
	total Counts
	rows  map[key]*Counts
	days  map[string]*Counts
	seen  map[string]bool // hook turns of an invocation that were counted
}

// Read makes a report of what src holds. Errors are those of src.
func Read(ctx context.Context, src Reader, o Options) (*Report, error) {
	most := min(cmp.Or(o.Events, MaxEvents), MaxEvents)
	read, err := collect(ctx, src, o.Since, o.Until, most, o.Gone)
	if err != nil {
		return nil, err
	}
	c := &counter{by: o.By, rows: map[key]*Counts{}, days: map[string]*Counts{}, seen: map[string]bool{}}
	asking, blocking := map[string][]*turn{}, map[string][]*turn{}
	for i := range read.turns {
		switch t := &read.turns[i]; {
		case t.verdict || t.observed || t.invocation == "":
		case t.decision == string(phases.HookAsk):
			asking[t.invocation] = append(asking[t.invocation], t)
		case t.decision == string(phases.HookBlock) && len(t.rules) > 0:
			blocking[t.invocation+"\x00"+t.hook] = append(blocking[t.invocation+"\x00"+t.hook], t)
		}
	}
	lookups := 0
	for i := range read.turns {
		t := &read.turns[i]
		switch {
		case t.observed:
			c.observe(t)
		case !t.verdict || t.decision == string(phases.Block) && t.hook == reviewer:
		case t.decision == string(phases.Block):
			turns := blocking[t.invocation+"\x00"+t.hook]
			if len(turns) == 0 || t.kind != "" && t.kind != phases.KindPolicy {
				turns = []*turn{t}
			}
			c.add(turns, t, func(n *Counts) { n.Blocks++ })
		case t.decision == string(phases.Ask):
			delegated := t.enforced == phases.EnforcedDelegated
			if !delegated && !read.requested[t.invocation] {
				continue // the question was in the queue before: no person is asked anew
			}
			approved := read.approved[t.invocation]
			if delegated && t.use != "" && t.sess != "" && lookups < maxLookups {
				lookups++
				if approved, err = ran(ctx, src, t); err != nil {
					return nil, err
				}
			}
			turns := asking[t.invocation]
			if len(turns) == 0 {
				turns = []*turn{t}
			}
			c.add(turns, t, func(n *Counts) {
				n.Asks++
				if approved {
					n.Approved++
				}
			})
		}
	}
	r := &Report{By: o.By, Since: o.Since, From: o.Since, Events: read.looked, Complete: read.complete, Total: c.total}
	if read.oldest.After(r.From) {
		r.From = read.oldest
	}
	c.fill(r, max(1, o.Now.Sub(r.From).Hours()/day.Hours()))
	return r, nil
}

// observe counts a turn of a hook in observe mode once for each invocation and rule.
func (c *counter) observe(t *turn) {
	if id := t.invocation + "\x00" + t.hook; t.invocation != "" && c.seen[id] {
		return // it was called twice: before the action changed, and after
	} else {
		c.seen[id] = true
	}
	c.add([]*turn{t}, t, func(n *Counts) {
		if t.decision == string(phases.HookAsk) {
			n.ObservedAsks++
		} else {
			n.ObservedBlocks++
		}
	})
}

// add counts a call for all the rows that its turns are of, each once.
func (c *counter) add(turns []*turn, call *turn, count func(*Counts)) {
	count(&c.total)
	date := call.at.Local().Format(time.DateOnly)
	if c.days[date] == nil {
		c.days[date] = new(Counts)
	}
	count(c.days[date])
	done := map[*Counts]bool{}
	for _, t := range turns {
		for _, k := range c.keys(t) {
			if row := c.row(k); !done[row] {
				done[row] = true
				count(row)
			}
		}
	}
}

func (c *counter) keys(t *turn) []key {
	switch c.by {
	case ByTool:
		return []key{{tool: cmp.Or(t.tool, string(t.phase), "none")}}
	case ByHook:
		return []key{{hook: t.hook}}
	}
	var keys []key
	rules := t.rules
	if len(rules) == 0 || t.kind != "" && t.kind != phases.KindPolicy {
		rules = rulesOf(t.reason, t.kind)
	}
	for _, rule := range rules[:min(len(rules), maxNamed)] {
		keys = append(keys, key{hook: t.hook, rule: rule})
	}
	return keys
}

func (c *counter) row(k key) *Counts {
	if c.rows[k] == nil && len(c.rows) >= maxRows {
		k = key{rule: Others}
	}
	if c.rows[k] == nil {
		c.rows[k] = new(Counts)
	}
	return c.rows[k]
}

// fill puts what was counted in order.
func (c *counter) fill(r *Report, days float64) {
	r.Rows, r.Days = []Row{}, []Day{}
	for k, n := range c.rows {
		r.Rows = append(r.Rows,
			Row{Hook: k.hook, Rule: k.rule, Tool: k.tool, Counts: *n, PerDay: float64(n.Stopped()) / days})
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Stopped(), a.Stopped()),
			cmp.Compare(b.ObservedAsks+b.ObservedBlocks, a.ObservedAsks+a.ObservedBlocks),
			cmp.Compare(a.Hook, b.Hook), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Tool, b.Tool))
	})
	for d, n := range c.days {
		r.Days = append(r.Days, Day{Day: d, Counts: *n})
	}
	slices.SortFunc(r.Days, func(a, b Day) int { return cmp.Compare(b.Day, a.Day) })
}
