package fuzz

import (
	"cmp"
	"slices"

	"github.com/belay-hooks/belay/phases"
)

// Severity says how bad a finding is.
type Severity string

const (
	Critical Severity = "critical" // belay itself has broken a promise
	High     Severity = "high"     // an input that the hook stops gets past it in another form
	Medium   Severity = "medium"   // the hook fails on inputs that are valid: they are blocked
	Low      Severity = "low"      // worth knowing; not counted as a finding
)

func (s Severity) rank() int { return slices.Index([]Severity{Critical, High, Medium, Low}, s) }

// Classes of findings.
const (
	ClassPanic      = "panic"          // the host panicked
	ClassFailOpen   = "fail-open"      // a failure, or a budget that ended, let something through
	ClassUnrecorded = "unrecorded"     // a verdict without its event
	ClassUnstable   = "nondeterminism" // the same run had two results
	ClassEngines    = "engines"        // compiler and interpreter differ
	ClassFrontDoor  = "front-door"     // an input that is not valid was not refused as it should
	ClassEvasion    = "evasion"        // a longer form of a stopped input is let through
	ClassFlip       = "flip"           // another way to write the same JSON is decided otherwise
	ClassTrap       = "trap"           // the module traps on valid input
	ClassFuel       = "fuel-ceiling"   // valid input uses up the fuel
	ClassMemory     = "memory-ceiling" // valid input needs more memory than there may be
	ClassOutput     = "output"         // the hook asks for an effect that it may not have
	ClassHostcall   = "hostcall"       // a bad pointer, or a call that is not allowed
	ClassProtocol   = "protocol"       // a request of the hook breaks a rule of the chain
	ClassGivesUp    = "gives-up"       // the hook itself reports a failure on valid input
)

func severityOf(class string) Severity {
	switch class {
	case ClassPanic, ClassUnrecorded, ClassUnstable, ClassEngines, ClassFrontDoor:
		return Critical
	case ClassFailOpen, ClassEvasion, ClassFlip:
		return High
	case ClassGivesUp:
		return Low
	}
	return Medium
}

// Finding is one thing that cannot be defended, made small.
type Finding struct {
	Class    string       `json:"class"`
	Severity Severity     `json:"severity"`
	Phase    phases.Phase `json:"phase,omitzero"`
	Text     string       `json:"text"`               // in one line
	How      string       `json:"how,omitzero"`       // the change to the input or to the run
	Input    string       `json:"input,omitzero"`     // the action, shrunk; cut
	Bytes    int          `json:"bytes,omitzero"`     // of the shrunk input
	Seen     int          `json:"seen"`               // how often it came up
	Run      int          `json:"run"`                // at which run it came up first
	File     string       `json:"recording,omitzero"` // name of the recording
	Replays  bool         `json:"replays"`            // the recording was replayed exactly

	// Recording is the file; nil when the finding has none: a replay cannot repeat a fault of
	// a store or a decoder.
	Recording []byte `json:"-"`

	key   string
	repro *repro
}

// Counts reports whether the finding is more than a note.
func (f *Finding) Counts() bool { return f.Severity != Low }

// repro is how a finding is made again.
type repro struct {
	base *plan
	// makes the second run of a pair; nil when there is only one. Its answer is nil when it cannot.
	vary  func(*plan, int) *plan
	param int // of vary; smaller is simpler
	holds func(base, varied *result) bool
}

// Result is the result of a fuzz run.
type Result struct {
	Hook     string       `json:"hook"`
	Version  string       `json:"version,omitzero"`
	Digest   string       `json:"digest"`
	Seed     uint64       `json:"seed"`
	Runs     int          `json:"runs"`
	Inputs   int          `json:"inputs"`  // in the corpus: they did something new
	Refused  int          `json:"refused"` // that did not decode, and were blocked
	Configs  int          `json:"configs"`
	Stopped  bool         `json:"stopped,omitzero"` // the caller ended it early: another time it would have gone on
	Counts   []Count      `json:"decisions"`
	Findings []Finding    `json:"findings"` // the worst first
	Phases   []PhaseStats `json:"phases"`
}

// Count is how many runs came to a decision.
type Count struct {
	Decision phases.Decision `json:"decision"`
	Kind     phases.Kind     `json:"kind,omitzero"`
	Runs     int             `json:"runs"`
}

// PhaseStats are the maxima of a phase's turns on valid input with complete budgets.
type PhaseStats struct {
	Phase  phases.Phase `json:"phase"`
	Runs   int          `json:"runs"`
	Fuel   int64        `json:"max_fuel"`
	Memory int64        `json:"max_memory"` // bytes
	Calls  int          `json:"max_hostcalls"`
}

// Found counts the findings that are more than notes.
func (r *Result) Found() int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Counts() {
			n++
		}
	}
	return n
}

func sortFindings(list []*Finding) {
	slices.SortStableFunc(list, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Run, b.Run))
	})
}
