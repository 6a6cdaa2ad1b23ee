package kernel

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/phases"
)

// answer is what a turn comes to that has a goroutine of its own.
type answer struct {
	out Outcome
	err error
}

// runDetached runs a turn in a goroutine of its own, which can be left behind. A panic there is a fault of the hook,
// and not the end of the process.
func runDetached(ctx context.Context, hook Hook, turn Turn) chan answer {
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = phases.NewFault(phases.KindTrap, "the hook could not be run", fmt.Errorf("panic: %v", p))
			}
			done <- a
		}()
		a.out, a.err = hook.Run(ctx, turn)
	}()
	return done
}
