package guard

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// maxQuestions is how many questions of hooks one call waits for, one after the other.
const maxQuestions = 8

// actionOf is a pointer to A that is an action of a phase.
type actionOf[A any] interface {
	*A
	phases.Action
}

// decide asks the host about an action and returns what may be done. The error is an *Error.
func decide[A any, P actionOf[A]](ctx context.Context, g *Guard, phase phases.Phase, action A,
	o kernel.InvokeOptions) (Allowed[A], error) {
	if g == nil || g.host == nil {
		return Allowed[A]{}, refuse(ErrFailed, phase, phases.Verdict{}, "the guard has no host", nil)
	}
	raw, encodeErr := json.Marshal(&action)
	if encodeErr != nil {
		raw = nil // the host refuses that, and so the refusal is logged
	}
	o.Credential, o.Delegated = g.o.Credential, g.o.Prompt != nil
	v, err := g.verdict(ctx, g.invocation(phase, raw), o)
	if encodeErr != nil {
		return Allowed[A]{}, refuse(ErrFailed, phase, v, "the action cannot be encoded", errors.Join(encodeErr, err))
	}
	if err != nil {
		return Allowed[A]{}, err
	}
	decoded, err := phases.DecodeAction(phase, v.Action)
	final, ok := decoded.(P)
	if !ok { // there is none beside an error
		return Allowed[A]{}, refuse(ErrFailed, phase, v, "the verdict's action cannot be read", err)
	}
	return Allowed[A]{Action: *final, Contexts: v.Contexts, Verdict: v}, nil
}

// verdict returns a verdict whose action may run, after a person's yes where hooks ask
// for one. The error is an *Error.
func (g *Guard) verdict(ctx context.Context, inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
	end := time.Now().Add(g.o.Wait)
	for questions := 0; ; questions++ {
		verdict, err := g.host.InvokeWith(ctx, inv, o)
		switch {
		case err != nil:
			return verdict, refuse(ErrFailed, inv.Phase, verdict, "", err)
		case verdict.Phase != inv.Phase:
			return verdict, refuse(ErrFailed, inv.Phase, verdict, "the verdict is of another phase", nil)
		case verdict.Decision == phases.Allow:
			return verdict, nil
		case verdict.Decision == phases.Ask && o.Delegated && verdict.Runs():
			return verdict, g.prompt(ctx, verdict)
		case verdict.Decision == phases.Ask && questions < maxQuestions:
			// Whatever the person says, the host answers: a stored decision is no verdict.
			if err := g.wait(ctx, verdict, end); err != nil {
				return verdict, err
			}
		case verdict.Decision == phases.Ask:
			return verdict, refuse(ErrUnanswered, inv.Phase, verdict, "too many questions, one after the other", nil)
		default:
			return verdict, refuse(classOf(verdict), inv.Phase, verdict, "", nil)
		}
	}
}

// reviewer is who decided a verdict that a person's denial made a block.
const reviewer = "reviewer"

// classOf returns the class of a verdict that is neither an allow nor an ask.
func classOf(v phases.Verdict) error {
	switch {
	case v.Decision != phases.Block || v.Kind != phases.KindPolicy:
		return ErrFailed
	case v.DecidedBy == reviewer:
		return ErrDenied
	}
	return ErrBlocked
}
