package activity

import (
	"slices"
	"time"
)

// Decisions are numbers of verdicts. A verdict that changed its action counts as changed, not as allowed.
type Decisions struct {
	Allow   int `json:"allow"`
	Changed int `json:"changed"`
	Ask     int `json:"ask"`
	Block   int `json:"block"`
}

// All is how many verdicts there are.
func (d Decisions) All() int { return d.Allow + d.Changed + d.Ask + d.Block }

// Span is a stretch of time, an hour, a day or a week of the local calendar, as far as it lies in the report.
type Span struct {
	From time.Time `json:"from"`
	Decisions
}

// Answers say what became of questions to a person.
type Answers struct {
	Queued     int `json:"queued"` // questions that were put into the queue of approvals
	Approved   int `json:"approved"`
	Denied     int `json:"denied"`
	Expired    int `json:"expired"`    // not decided in time
	Superseded int `json:"superseded"` // another question took their place
	Waiting    int `json:"waiting"`    // no answer among the events of the report

	// AnswerMS is how long approvals and denials took, in milliseconds from the question.
	AnswerMS Spread `json:"answer_ms"`

	Prompted int `json:"prompted"` // questions that runtimes put to the person themselves
	Ran      int `json:"ran"`      // of them: the result of the call came
	NoResult int `json:"no_result"`
}

// Spread says how numbers lie: each percentile is one of them, by its rank.
type Spread struct {
	N     int   `json:"n"`
	Total int64 `json:"total"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	Max   int64 `json:"max"`
}

// SpreadOf sorts the numbers.
func SpreadOf(list []int64) Spread {
	slices.Sort(list)
	s := Spread{N: len(list), P50: rank(list, 50), P90: rank(list, 90), P99: rank(list, 99), Max: rank(list, 100)}
	for _, n := range list {
		s.Total += n
	}
	return s
}

// rank returns the smallest number that some per cent of a sorted list do not exceed; 0 of none.
func rank(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

// Hook is what the turns of one hook took.
type Hook struct {
	Hook    string `json:"hook"`
	Latency Spread `json:"latency_us"` // microseconds
	Fuel    Spread `json:"fuel"`
}

// Report is what the events of a time say.
type Report struct {
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Zone     string    `json:"zone"`     // of the spans, such as "CET, UTC+01:00"
	From     time.Time `json:"from"`     // what was read: the later of Since and the oldest event
	Events   int64     `json:"events"`   // that were read
	Complete bool      `json:"complete"` // they reach back to Since, or to the first event

	Decisions Decisions `json:"decisions"`
	Failures  int       `json:"failures"` // blocks that no policy decided; they are among the blocks
	Step      string    `json:"step"`     // of OverTime: hour, day or week
	OverTime  []Span    `json:"over_time"`
	Answers   Answers   `json:"answers"`

	// Latency is what the hooks of one verdict took together, in microseconds. What belay itself took is not recorded.
	Latency Spread `json:"latency_us"`
	Fuel    Spread `json:"fuel"`  // likewise, of one verdict
	Hooks   []Hook `json:"hooks"` // sorted by name
}
