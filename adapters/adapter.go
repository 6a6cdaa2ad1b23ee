// Package adapters holds the contract between belay and the agent runtimes. An
// adapter decides how one event of a runtime reads as invocations, and how
// verdicts read as that runtime's own answer. It never decides whether an action
// may go on, never does I/O, and never lets something pass that it cannot
// express: such a decision becomes a block, and where the event has no block the
// answer asks for a latch of the session.
package adapters

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Options are what the caller knows beside the payload. The zero value is useful.
type Options struct {
	// Event is the event that the caller was registered for, when its command line
	// or address says so. A payload that names another one is refused, and failures
	// are answered in the form of this event even when the payload cannot be read.
	Event string
	// User, Scopes and Traceparent go into every invocation.
	User        string
	Scopes      phases.Scopes
	Traceparent string
	// MaxBytes is the largest payload; 0 means 2 MiB. Each invocation is
	// held to phases.MaxInputBytes besides.
	MaxBytes int
	// Scan has read all that came where the payload is only its beginning, because it
	// is too large. Nil: the payload is all that came.
	Scan *Scan
	// Headless says that no person can answer a question of the runtime: an ask waits in belay's
	// queue, or is a block.
	Headless bool
	// Files returns the contents of all regular files that match the patterns, which are absolute and in
	// the form of path.Match, for events that name a file which the runtime then runs. An error says
	// that one of them could not be read. Nil: no files are looked at.
	Files func(patterns []string) ([][]byte, error)
	// Tail returns the last bytes of a regular file, at most most of them, for runtimes that keep a record
	// of the session. Nil: no record is read.
	Tail func(path string, most int) ([]byte, error)
	// Cut says that reading the payload failed before its end: the session that it names is not latched.
	Cut bool
}

// defaultMaxBytes is the largest payload by default: an invocation may have
// phases.MaxInputBytes, and a payload carries it once more in escaped form at most.
const defaultMaxBytes = 2 * phases.MaxInputBytes

// NeedsLatch reports whether nothing but a latch holds what the answer was about. A payload
// that was cut off on its way latches nothing.
func (o Options) NeedsLatch(a Answer) bool { return a.Latch != "" && !o.Cut }

// Limit returns the payload limit in bytes.
func (o Options) Limit() int {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return defaultMaxBytes
}

// Step is one invocation of the kernel for an event.
type Step struct {
	Invocation phases.Invocation
	// Blockable says that the runtime can be kept from going on. Where it is
	// false, a block has to latch the session instead.
	Blockable bool
	// NativeAsk says that the runtime can ask the person itself. A verdict `ask`
	// without an approval is then handed to it (enforced: delegated); everywhere
	// else an ask needs an approval and is answered with a block until it is given.
	NativeAsk bool
	// CarriesScopes says that clamped scopes reach the runtime's tools. Where it
	// is false the kernel must check the final action against the effective
	// scopes itself, and block actions that it cannot check.
	CarriesScopes bool
	// UnseenInput says that the runtime shows no hook what is written to the command once it runs, so
	// that a shell which stays open has to be decided now.
	UnseenInput bool
	// Call is what the runtime tells twice of one tool call, before and after it; nil: it does not.
	Call *Call
	// Results is what the event tells of calls that were released before it; nil: nothing.
	Results *Results
}

// Results lets the kernel find calls whose results it was never told of, because the hook was killed or
// never started: the model then reads a result that belay did not decide.
type Results struct {
	// Late are the ids of calls whose results the event brings, and Never those of calls that did not
	// run. A result counts as missed where it comes late and was not decided before.
	Late, Never []string
	// Asked: the runtime asks its person about the call of this action, and tells of no result where the
	// person refuses it.
	Asked bool
	// Over: no call of the agent runs any more.
	Over bool
	// Told says of calls by their ids whether the model reads a result of them that belay did not decide,
	// as far as the runtime's own record tells. Nil or a missing id: it is not known.
	Told func() map[string]bool
}

// Call lets the kernel compare a call that has run with the one that belay released.
type Call struct {
	ID string // the runtime's own id of the call
	// Args are a spawn's arguments as the steps before it left them, and Prompt is the pointer into
	// them at which the child's prompt stands.
	Args   jsontext.Value
	Prompt string
	// May names the members of the arguments that the runtime itself may change between the events,
	// such as answers that it asks the person for.
	May []string
	// Awaited: the runtime tells of the result of each call that runs.
	Awaited bool
}

// Event is one decoded event.
type Event struct {
	Name    string         // the runtime's own name
	Session string         //
	Payload jsontext.Value // the whole payload: strict JSON, one object
	Steps   []Step         // in order, as they are before any verdict; never empty
	Options Options        // as given to Decode
}

// Answer is what the runtime gets.
type Answer struct {
	Stdout []byte // complete JSON or empty
	Stderr string // non-empty whenever Exit is not 0
	Exit   int    // 0 or 2, never anything else
	// GoesOnAt2 says, in an answer of Failure, that the runtime reads exit 2 as
	// an order to go on: a program that cannot write Stdout has to exit with 0
	// then.
	GoesOnAt2 bool
	// Latch is a reason when the answer alone does not keep the runtime from going
	// on: the caller latches the session with it before the answer is released.
	Latch string
	// Session is the session that Latch is about; "" when the payload names none, or not
	// one alone. Then nothing is latched: the caller records the block.
	Session string
	// Notes tell an operator what the runtime could not be given, though nothing
	// was let through by it.
	Notes []string
}

// HTTP returns status code and body for runtimes that ask over HTTP. Only a 2xx
// with JSON decides there; an answer without JSON is an error of the server,
// which the registration has to treat as a block.
func (a Answer) HTTP() (status int, contentType string, body []byte) {
	if len(a.Stdout) > 0 {
		return 200, "application/json", a.Stdout
	}
	if a.Exit == 0 {
		return 200, "application/json", []byte("{}")
	}
	return 500, "text/plain; charset=utf-8", []byte(a.Stderr)
}

// Adapter translates one runtime. Implementations have no state and are safe
// for concurrent use.
type Adapter interface {
	// Runtime returns the name that invocations carry, such as "claude-code".
	Runtime() string
	// Table returns what the runtime's events can express, and its limits. It is not changed.
	Table() Table
	// SessionMember returns the top-level member that names a payload's session, such as
	// "session_id", or "". A caller that cannot keep a whole payload scans it: see ScanFor.
	SessionMember() string
	// Decode reads one payload. Every error is a *PayloadError or a
	// *phases.DecodeError, and must be answered with Failure. The event shares no
	// memory with the payload.
	Decode(payload []byte, opts Options) (Event, error)
	// Next returns the step that follows after the verdicts so far, with the
	// changes that earlier steps made, or more = false when the event is decided.
	Next(ev Event, verdicts []phases.Verdict) (step Step, more bool, err error)
	// Encode turns the verdicts into the runtime's answer. Missing, foreign or
	// invalid verdicts give the answer of Failure; it never panics on purpose.
	Encode(ev Event, verdicts []phases.Verdict) Answer
	// Failure returns the event's block form for anything that went wrong. It
	// works on any bytes as payload, down to none.
	Failure(payload []byte, opts Options, cause error) Answer
}

// Invocations returns those that a payload stands for, as they are before any verdict, for
// a caller that refuses it without asking. The error says that it cannot be judged.
func Invocations(a Adapter, payload []byte, opts Options) (of []phases.Invocation, err error) {
	defer func() {
		if r := recover(); r != nil {
			of, err = nil, fmt.Errorf("adapters: %s: panic: %v", a.Runtime(), r)
		}
	}()
	ev, err := a.Decode(payload, opts)
	if err != nil {
		return nil, err
	}
	for i := range ev.Steps {
		inv := ev.Steps[i].Invocation
		if err := inv.Validate(); err != nil {
			return nil, err
		}
		of = append(of, inv)
	}
	return of, nil
}

// Run answers one payload from beginning to end. It has invoke ask the kernel about each step, whose
// verdict must be logged when invoke returns. Whatever happens on the way, a
// panic included, gives an answer in the event's block form. err tells the
// caller's log about the failure; the answer is valid in any case.
func Run(ctx context.Context, a Adapter, payload []byte, opts Options,
	invoke func(ctx context.Context, step Step) (phases.Verdict, error)) (answer Answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("adapters: %s: panic: %v", a.Runtime(), r)
			answer = a.Failure(payload, opts, phases.NewFault(phases.KindProtocol, "belay failed inside its adapter", err))
		}
	}()
	ev, err := a.Decode(payload, opts)
	if err != nil {
		return a.Failure(payload, opts, err), err
	}
	var verdicts []phases.Verdict
	for {
		step, more, err := a.Next(ev, verdicts)
		if err != nil {
			return a.Failure(payload, opts, err), err
		}
		if !more {
			return a.Encode(ev, verdicts), nil
		}
		v, err := invoke(ctx, step)
		if err != nil {
			return a.Failure(payload, opts, err), err
		}
		verdicts = append(verdicts, v)
	}
}
