package adapters

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Table is what an adapter tells about its runtime, so that one place decides how verdicts read as
// an answer (Next, Weigh) and how long a caller may take. The adapter itself writes the runtime's
// own JSON and nothing else.
//
// What an event's row does not name, the event cannot express, and a verdict that needs it is a
// block. A row for each of the six runtimes fits: one that rewrites only along with a permission
// (Codex), one that carries scopes (Step.CarriesScopes), one that has no question for the person
// (Asks), one whose events end without an answer (Blocks).
type Table struct {
	Runtime string // the name that reasons give the runtime, such as "Claude Code"
	Events  map[string]Expresses
	// Spawn builds the spawn step of a tool call from the call's arguments as pre_tool left them, so
	// that it judges what will run. Nil: spawn steps stay as Decode made them.
	Spawn func(spawn Step, args jsontext.Value) (Step, error)
	// Answers are the forms in which the runtime reads an answer; nil: FormExit alone.
	Answers []Form
	// Timeout is how long the runtime waits for each answer, as belay is registered there; 0: 30 s.
	Timeout time.Duration
	// MaxBytes is the largest payload in bytes that is judged; 0: 2 MiB. A larger one is refused.
	MaxBytes int
	// Scans are top-level members beside Adapter.SessionMember whose texts Failure needs of a payload that
	// is too large to keep, such as the tool's name: they are found wherever they stand.
	Scans []string
	// Headless reports from the environment of the command that the runtime starts whether the
	// session has no person who could answer a question. Nil: the runtime does not tell.
	Headless func(getenv func(string) string) bool
}

// Expresses says what one event of a runtime can carry.
type Expresses struct {
	// Blocks says that an answer can keep the runtime from going on. Where it is false a block
	// latches the session.
	Blocks bool
	// Asks says that the runtime itself can put a question to the person, where there is one. Where
	// it is false an ask waits in belay's queue, or is a block.
	Asks bool
	// Carries has for each step the pointer at or below which a changed action reaches the
	// runtime; "" or no entry means that no change does.
	Carries []string
	// CarriesMore are further such pointers of the first step, for a runtime that takes several parts
	// of an action back, each on its own.
	CarriesMore []string
	// Records are pointers at or below which a change is for the record alone: the runtime goes on
	// without it, and Outcome.Changed does not name it. "" means the whole action.
	Records []string
	// RewriteNeedsGrant says that the runtime takes a changed action only along with a permission.
	RewriteNeedsGrant bool
	// Context says that text for the model reaches it.
	Context bool
	// Timeout is how long the runtime waits for the answer to this event; 0: Table.Timeout.
	Timeout time.Duration
}

// Carried reports whether a change at the pointer of the step's action reaches the runtime.
func (e Expresses) Carried(step int, ptr string) bool {
	if step < len(e.Carries) && e.Carries[step] != "" && phases.Covers(e.Carries[step], ptr) {
		return true
	}
	return step == 0 && slices.ContainsFunc(e.CarriesMore, func(p string) bool { return phases.Covers(p, ptr) })
}

// Next is the method of Adapter: a block ends the event, and so does an ask that waits in belay's
// own queue. The step says no more than the event's row.
func (t Table) Next(ev Event, verdicts []phases.Verdict) (Step, bool, error) {
	if len(verdicts) > len(ev.Steps) {
		return Step{}, false, misfit(ev, "there are more verdicts than steps")
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.Decision == phases.Block || waits(t.able(ev, ev.Steps[i]), v) {
			return Step{}, false, nil // nothing of the event runs now, and the verdict holds no action
		}
	}
	i := len(verdicts)
	if i == len(ev.Steps) {
		return Step{}, false, nil
	}
	step, err := t.stepAt(ev, i, verdicts)
	return step, err == nil, err
}

// stepAt returns step i after the verdicts of the steps before it.
func (t Table) stepAt(ev Event, i int, verdicts []phases.Verdict) (Step, error) {
	step := t.able(ev, ev.Steps[i])
	if i == 0 || t.Spawn == nil || step.Invocation.Phase != phases.Spawn {
		return step, nil
	}
	args, ok := phases.Get(verdicts[i-1].Action, "/args")
	if !ok || args.Kind() != '{' {
		return Step{}, misfit(ev, "the verdict has no arguments")
	}
	step, err := t.Spawn(step, args)
	if err != nil {
		return Step{}, err
	}
	if err := step.Invocation.Validate(); err != nil {
		return Step{}, err
	}
	return step, nil
}

// able returns the step without what the event's row cannot express, and without a question where
// no person is there to answer it.
func (t Table) able(ev Event, step Step) Step {
	row := t.Events[ev.Name]
	step.Blockable = step.Blockable && row.Blocks
	step.NativeAsk = step.NativeAsk && row.Asks && !ev.Options.Headless
	return step
}

// waits reports whether a person has to decide before anything may run, and the runtime does not
// ask that person itself.
func waits(step Step, v *phases.Verdict) bool {
	return v.Decision == phases.Ask && (v.Approval != nil || !step.NativeAsk)
}

func misfit(ev Event, reason string) error {
	return &PayloadError{Class: ErrVerdicts, Event: ev.Name, Reason: reason}
}
