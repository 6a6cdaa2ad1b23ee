package guard

import (
	"cmp"
	"errors"

	"github.com/belay-hooks/belay/phases"
)

// Classes of Error, for errors.Is. Every Error is of exactly one.
var (
	// ErrBlocked: the policy says no, or the action is outside of its scopes.
	ErrBlocked = errors.New("guard: blocked")
	// ErrDenied: a person said no.
	ErrDenied = errors.New("guard: denied by a person")
	// ErrUnanswered: a person has to decide and has not, within Options.Wait or before
	// the context ended. Verdict.Approval names the question, which may still be open:
	// once it is approved, the same call passes.
	ErrUnanswered = errors.New("guard: a person has not decided")
	// ErrFailed: belay could not decide, or could not record its decision.
	ErrFailed = errors.New("guard: belay failed")
)

// Error says that a step may not happen. For the phases post_tool and post_receive it
// says that what has happened may not be used.
type Error struct {
	Phase   phases.Phase   // that was decided
	Class   error          // ErrBlocked, ErrDenied, ErrUnanswered or ErrFailed
	Reason  string         // safe to show to the agent
	Verdict phases.Verdict // without an action; zero when the host gave none
	Cause   error          // nil when there is none beyond the reason; for operators, not for the agent
}

// Error returns class, phase and reason, never the cause.
func (e *Error) Error() string {
	return e.Class.Error() + ": " + string(e.Phase) + ": " + e.Reason
}

// Unwrap returns the class and, if there is one, the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}

// refuse makes an Error of a verdict, out of which it takes what could be run.
func refuse(class error, phase phases.Phase, v phases.Verdict, reason string, cause error) error {
	v.Action, v.Changed = nil, nil
	reason = cmp.Or(reason, v.Reason, "no reason given")
	return &Error{Phase: phase, Class: class, Reason: reason, Verdict: v, Cause: cause}
}
