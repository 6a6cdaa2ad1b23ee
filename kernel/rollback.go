package kernel

import (
	"errors"

	"github.com/belay-hooks/belay/phases"
)

// rolledBack is the text for agents and people; the cause is for operators.
const rolledBack = "the database went back behind its high-water mark: everything is blocked until `belay recover`"

// storeFault is the fault of a store that failed.
func storeFault(text string, err error) *phases.Fault {
	if errors.Is(err, ErrRollback) {
		return phases.NewFault(phases.KindRollback, rolledBack, err)
	}
	if t, ok := errors.AsType[*Tampered](err); ok {
		text = "belay's store cannot be trusted: " + t.Text() + ": everything is blocked until `belay recover`"
	}
	return phases.NewFault(phases.KindStore, text, err)
}
