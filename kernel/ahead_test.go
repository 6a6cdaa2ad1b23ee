package kernel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// TestCallerGoesAwayWhileHooksRunAhead: when the caller's context ends, validators
// that were to run ahead and have not begun still answer. Otherwise the
// invocation would wait for them for good, and the kernel's lock with it.
func TestCallerGoesAwayWhileHooksRunAhead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var hooks []hook
	for n := range 64 { // more than there are processors
		hooks = append(hooks, hook{name: fmt.Sprint("v", n), run: func(kernel.Turn) (kernel.Outcome, error) {
			cancel()
			return kernel.Outcome{}, nil
		}})
	}
	h := newHost(t, hooks)
	done := make(chan phases.Verdict, 1)
	go func() {
		v, _ := h.Invoke(ctx, invocation(phases.PreTool))
		done <- v
	}()
	select {
	case v := <-done:
		if v.Event == nil {
			t.Errorf("not on record: %+v", v)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the invocation never ends")
	}
}
