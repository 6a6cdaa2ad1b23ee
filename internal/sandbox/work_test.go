package sandbox

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// needsThreads skips nothing where the platform tells the time of a thread.
func needsThreads(t *testing.T) {
	t.Helper()
	if _, ok := threadTime(); !ok {
		t.Skip("the platform does not tell the time of a thread: the clock on the wall counts")
	}
}

// worked runs the phase and returns how much it worked, and how it ended.
func worked(t *testing.T, m *Module, req RunRequest) (time.Duration, phases.Kind) {
	t.Helper()
	req.Session = session(t, req.Phase, lsAction)
	rep, err := m.Run(t.Context(), req)
	if f := faultOf(t, err); f != nil {
		return rep.Worked, f.Kind
	}
	return rep.Worked, ""
}

// A loop that is given twice the processor time that it needs reaches the end of its fuel
// also when it waits for the processor most of the time.
func TestWaitingForAProcessorIsNoWork(t *testing.T) {
	needsThreads(t)
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	req := RunRequest{Phase: phases.PrePlan, Fuel: 16 << 20, Timeout: -1}
	alone, kind := worked(t, m, req)
	if kind != phases.KindFuel || alone <= 0 {
		t.Fatalf("%q, worked %v", kind, alone)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stop atomic.Bool
	var busy sync.WaitGroup
	for range 6 {
		busy.Go(func() {
			for n := 0; !stop.Load(); n++ {
			}
		})
	}
	defer busy.Wait()
	defer stop.Store(true)
	req.Timeout, req.Ceiling = 2*alone+20*time.Millisecond, time.Minute
	from := time.Now()
	did, kind := worked(t, m, req)
	took := time.Since(from)
	if kind != phases.KindFuel {
		t.Errorf("%q after %v of work and %v on the wall, with %v", kind, did, took, req.Timeout)
	}
	if took < req.Timeout {
		t.Errorf("it did not wait: %v on the wall, with %v", took, req.Timeout)
	}
}

// The budget ends a run that works, and the ceiling one that does not.
func TestWorkAndCeiling(t *testing.T) {
	needsThreads(t)
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	did, kind := worked(t, m,
		RunRequest{Phase: phases.PrePlan, Fuel: 2 << 30, Timeout: 10 * time.Millisecond, Ceiling: time.Hour})
	if kind != phases.KindDeadline || did < 10*time.Millisecond {
		t.Errorf("%q after %v of work", kind, did)
	}
	_, kind = worked(t, m,
		RunRequest{Phase: phases.PrePlan, Fuel: 2 << 30, Timeout: time.Hour, Ceiling: 10 * time.Millisecond})
	if kind != phases.KindDeadline {
		t.Errorf("above its ceiling: %q", kind)
	}
	for name, c := range map[string]struct {
		handle func(context.Context)
		kind   phases.Kind
	}{
		"waits":       {func(context.Context) { time.Sleep(60 * time.Millisecond) }, ""},
		"waits above": {func(ctx context.Context) { <-ctx.Done() }, phases.KindDeadline},
		"works":       {func(context.Context) { burn(60 * time.Millisecond) }, phases.KindDeadline},
	} {
		rows := table("state_put", func(row *hostcalls.Call) {
			row.Counted = false
			row.Handle = func(ctx context.Context, _ *hostcalls.Session, _ *hostcalls.Args) (hostcalls.Result, error) {
				c.handle(ctx)
				return hostcalls.Result{}, nil
			}
		})
		put := imported{module: hostcalls.Module, name: "state_put",
			params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32}, results: i32}
		m := load(t, open(t, Options{Table: rows}), caller(t, "pre_tool", false, put))
		if did, kind := worked(t, m,
			RunRequest{Phase: phases.PreTool, Timeout: 30 * time.Millisecond, Ceiling: 3 * time.Second}); kind != c.kind {
			t.Errorf("a handler that %s: %q, worked %v", name, kind, did)
		}
	}
}

// burn works for the time on the processor. The clock on the wall may tell a little less: it
// is waited for, too.
func burn(d time.Duration) {
	wall := time.Now()
	from, _ := threadTime()
	for now := from; now-from < d || time.Since(wall) < d; now, _ = threadTime() {
	}
}

// What a counted hostcall works or waits is not the hook's.
func TestCountedCallsAreNoWork(t *testing.T) {
	needsThreads(t)
	var w work
	w.budget = 20 * time.Millisecond
	w.begin(time.Now(), DefaultSlice)
	defer w.end()
	took := w.pause(func() { burn(50 * time.Millisecond) })
	if took < 50*time.Millisecond || w.done(time.Now()) > 15*time.Millisecond || w.spent(time.Now()) {
		t.Errorf("took %v, %v of work", took, w.done(time.Now()))
	}
	burn(30 * time.Millisecond)
	if !w.spent(time.Now()) {
		t.Errorf("%v of work", w.done(time.Now()))
	}
}
