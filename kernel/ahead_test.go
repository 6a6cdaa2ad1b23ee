package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// TestValidatorsRunAhead: validators that reach nothing outside run at the same time, as many as there are processors.
func TestValidatorsRunAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, sequential := range []bool{false, true} {
		met := make(chan struct{})
		var both atomic.Int32
		meets := func(kernel.Turn) (kernel.Outcome, error) {
			if both.Add(1) == 2 {
				close(met)
			}
			if sequential {
				return kernel.Outcome{}, nil
			}
			select {
			case <-met:
				return kernel.Outcome{}, nil
			case <-time.After(20 * time.Second):
				return kernel.Outcome{}, errors.New("the other one does not run")
			}
		}
		h := newHost(t, []hook{{name: "a", run: meets}, {name: "b", run: meets}}, func(_ *kernel.Config, o *kernel.Options) {
			o.Sequential = sequential
		})
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow || both.Load() != 2 {
			t.Errorf("sequential %v: %s %s, %d ran", sequential, v.Decision, v.Reason, both.Load())
		}
	}
}

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
			t.Errorf("not logged: %+v", v)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the invocation never ends")
	}
}
