// Package dispatch brings callers' documents to the kernel: an invocation in
// the wire form, or an agent runtime's own payload. It decides when an
// undecided document is recorded as a refusal, and when a session has to be
// latched because the runtime's answer alone would not hold it.
//
// It never decides about an action: that is the kernel's, and where the kernel
// was not reached the answer is a block.
package dispatch

import (
	"context"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Host decides invocations; *belay.Belay is one. Implementations are safe for
// concurrent use. A verdict is complete, and an error stands only beside a block.
type Host interface {
	InvokeWith(ctx context.Context, inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error)
	// Refuse records a block; a verdict without an Event is not recorded.
	Refuse(ctx context.Context, r kernel.Refusal) (phases.Verdict, error)
}
