package report

import (
	"math"

	"github.com/belay-hooks/belay/phases"
)

// Version names the JSON form.
const Version = "belay-report/v1"

// ModeShadow marks a report about observing hooks.
const ModeShadow = "shadow"

// Limits of one report, for each recording. Counts are of everything.
const (
	MaxItems = 500     // invocations that differ
	MaxCases = 5000    // invocations named in the JUnit form
	MaxValue = 4 << 10 // bytes of one value that is shown
)

// Report is a whole comparison.
type Report struct {
	Version    string      `json:"version"`
	Mode       string      `json:"mode"` // exact, decision, budget, shadow
	Candidate  string      `json:"candidate,omitzero"`
	Recordings []Recording `json:"recordings"`
	Hooks      []Hook      `json:"hooks"`
	Policies   Policies    `json:"policies"`
	Summary    Summary     `json:"summary"`
	Flips      []Flip      `json:"flips"`
	Rewrites   []Item      `json:"rewrites"` // another final action under the same decision
	Others     []Item      `json:"others"`   // everything else that differs
	Budgets    []Budget    `json:"budgets"`

	cases []testCase
}

// Recording names a replayed recording.
type Recording struct {
	Digest      string `json:"digest"`
	Source      string `json:"source"`
	Redacted    bool   `json:"redacted,omitzero"`
	Invocations int    `json:"invocations"`
	Dropped     int    `json:"dropped,omitzero"` // that are missing in the recording
	Cut         bool   `json:"cut,omitzero"`     // it ended before its source did, which may have dropped more
	Shown       int    `json:"shown"`            // of those that differ
}

// Hook is one binding with the modules on both sides; "" where it did not run.
type Hook struct {
	Name string `json:"name"`
	Base string `json:"base,omitzero"` // digest
	Now  string `json:"now,omitzero"`
}

// Changed says whether the modules differ.
func (h Hook) Changed() bool { return h.Base != h.Now }

// Policies are the revisions of the configurations on both sides.
type Policies struct {
	Base []string `json:"base"`
	Now  []string `json:"now"`
}

// Summary counts invocations.
type Summary struct {
	Invocations int `json:"invocations"`
	Same        int `json:"same"`
	Different   int `json:"different"`
	Flips       int `json:"flips"`    // of the decision
	Rewrites    int `json:"rewrites"` // of the action, under the same decision
	Others      int `json:"others"`
	Unknown     int `json:"unknown"` // the candidate made a request that the recording has no answer to
	Turns       int `json:"turns"`
}

func (s *Summary) add(o *Summary) {
	s.Invocations, s.Same, s.Different = s.Invocations+o.Invocations, s.Same+o.Same, s.Different+o.Different
	s.Flips, s.Rewrites, s.Others = s.Flips+o.Flips, s.Rewrites+o.Rewrites, s.Others+o.Others
	s.Unknown, s.Turns = s.Unknown+o.Unknown, s.Turns+o.Turns
}

// Flip is one kind of changed decision, with its invocations.
type Flip struct {
	From  phases.Decision `json:"from"`
	To    phases.Decision `json:"to"`
	Count int             `json:"count"`
	Items []Item          `json:"items"`
}

// Item is one invocation that differs.
type Item struct {
	Recording  string       `json:"recording"` // digest
	Number     int          `json:"number"`    // in the recording, from 1
	Invocation string       `json:"invocation"`
	Phase      phases.Phase `json:"phase"`
	Tool       string       `json:"tool,omitzero"`
	About      string       `json:"about,omitzero"` // the action in a few words
	Base       Side         `json:"base"`
	Now        Side         `json:"now"`
	Changes    []Change     `json:"changes"`
	Unknown    []string     `json:"unknown,omitzero"`
}

// Side is one answer.
type Side struct {
	Decision phases.Decision `json:"decision"`
	By       string          `json:"by,omitzero"`
	Kind     phases.Kind     `json:"kind,omitzero"`
	Reason   string          `json:"reason,omitzero"`
}

// Change is one thing that differs.
type Change struct {
	What  string `json:"what"`
	Where string `json:"where,omitzero"`
	Was   string `json:"was,omitzero"`
	Is    string `json:"is,omitzero"`
}

// Budget sums the fuel and memory of a hook in turns that are on both sides, and apart from these in turns that are on
// one side only: those of a hook that is new, or gone, and those that an earlier block spares.
type Budget struct {
	Hook   string `json:"hook"`
	Turns  int    `json:"turns"`
	Fuel   Pair   `json:"fuel"`     // of all turns
	Most   Pair   `json:"most"`     // fuel of the dearest turn
	Memory Pair   `json:"memory"`   // bytes, the highest peak
	Only   Counts `json:"one_side"` // turns that are on one side only
	Alone  Costs  `json:"one_side_cost,omitzero"`
}

// Costs are what the turns of each side took that the other side does not have.
type Costs struct {
	Fuel   Pair `json:"fuel"`   // of all these turns
	Most   Pair `json:"most"`   // fuel of the dearest of them
	Memory Pair `json:"memory"` // bytes, the highest peak
}

// Words for turns that one side only has.
const (
	RowNew  = "new"       // the hook had no turn in the recording
	RowGone = "gone"      // it has none now
	RowNow  = "only now"  // it has turns on both sides, and these beside them
	RowThen = "only then" // the same of the recording
)

// Row is one line about what a hook costs. A side of which it does not speak has zeros.
type Row struct {
	Hook   string
	Turns  int
	Only   string // RowNew, RowGone, RowNow, RowThen; "" for turns that are on both sides
	Fuel   Pair
	Most   Pair
	Memory Pair
}

// Moved reports whether the row speaks of a change.
func (r Row) Moved() bool {
	return r.Only != "" || r.Fuel.Base != r.Fuel.Now || r.Memory.Base != r.Memory.Now
}

// Rows returns the lines about the hook: first the turns that are on both sides, if any.
func (b Budget) Rows() []Row {
	var out []Row
	if b.Turns > 0 {
		out = append(out, Row{Hook: b.Hook, Turns: b.Turns, Fuel: b.Fuel, Most: b.Most, Memory: b.Memory})
	}
	if b.Only.Now > 0 {
		only := RowNow
		if b.Turns == 0 && b.Only.Base == 0 {
			only = RowNew
		}
		out = append(out, Row{Hook: b.Hook, Turns: b.Only.Now, Only: only, Fuel: Pair{Now: b.Alone.Fuel.Now},
			Most: Pair{Now: b.Alone.Most.Now}, Memory: Pair{Now: b.Alone.Memory.Now}})
	}
	if b.Only.Base > 0 {
		only := RowThen
		if b.Turns == 0 && b.Only.Now == 0 {
			only = RowGone
		}
		out = append(out, Row{Hook: b.Hook, Turns: b.Only.Base, Only: only, Fuel: Pair{Base: b.Alone.Fuel.Base},
			Most: Pair{Base: b.Alone.Most.Base}, Memory: Pair{Base: b.Alone.Memory.Base}})
	}
	return out
}

func (b *Budget) add(o *Budget) {
	b.Turns += o.Turns
	b.Fuel, b.Most, b.Memory = b.Fuel.plus(o.Fuel), b.Most.highest(o.Most), b.Memory.highest(o.Memory)
	b.Only = Counts{b.Only.Base + o.Only.Base, b.Only.Now + o.Only.Now}
	b.Alone = Costs{Fuel: b.Alone.Fuel.plus(o.Alone.Fuel), Most: b.Alone.Most.highest(o.Alone.Most),
		Memory: b.Alone.Memory.highest(o.Alone.Memory)}
}

// Pair is a figure on both sides.
type Pair struct {
	Base int64 `json:"base"`
	Now  int64 `json:"now"`
}

func (p Pair) plus(o Pair) Pair { return Pair{plus(p.Base, o.Base), plus(p.Now, o.Now)} }

func (p Pair) highest(o Pair) Pair { return Pair{max(p.Base, o.Base), max(p.Now, o.Now)} }

// Delta is the change in per mille of the base; false when the base is nothing.
func (p Pair) Delta() (int64, bool) {
	if p.Base == 0 {
		return 0, false
	}
	diff, base := p.Now-p.Base, p.Base
	for diff > math.MaxInt64/1000 || diff < math.MinInt64/1000 { // no hook takes so much
		diff, base = diff/1000, max(base/1000, 1)
	}
	return diff * 1000 / base, true
}

// plus adds figures and stays at the largest one instead of turning negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Counts are numbers on both sides.
type Counts struct {
	Base int `json:"base"`
	Now  int `json:"now"`
}

// Same reports whether nothing differs.
func (r *Report) Same() bool { return r.Summary.Different == 0 }

// testCase is one invocation in the JUnit form.
type testCase struct {
	recording string
	number    int
	name      string
	changes   []Change // none: it passed
}
