package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Observer is told what the kernel does, for telemetry. It decides nothing: what it
// returns changes no verdict and no event, and when it panics, that is logged and
// nothing else. It is called where a caller waits for an answer, so that it must not
// wait for anything itself. Safe for concurrent use.
type Observer interface {
	// InvocationStarted is called before anything is decided. Nothing in inv needs
	// to be valid. The context it returns, derived from ctx, is the one in which
	// hooks run and what they ask for is done.
	InvocationStarted(ctx context.Context, inv phases.Invocation) (context.Context, Observation)
}

// Observation follows one invocation. Its methods are called one after the other.
type Observation interface {
	// HookDone is called for every turn that counts, in the order in which turns count. An
	// invocation that runs again, because a row that it had read was changed, reports its turns
	// again. The report must not be kept or changed.
	HookDone(start time.Time, r *phases.HookReport)

	// Decided is called once, when the answer is recorded or cannot be: then
	// v.Event is nil. err is what InvokeWith returns. The verdict must not be kept
	// or changed.
	Decided(v *phases.Verdict, err error)
}

// observation calls an Observation so that nothing it does reaches the verdict. The
// zero value calls no observer.
type observation struct {
	by  Observation
	log *slog.Logger
}

// observe begins an observation, where there is an Observer.
func (k *Kernel) observe(ctx context.Context, inv phases.Invocation) (inner context.Context, seen observation) {
	if k.options.Observer == nil {
		return ctx, seen
	}
	inner, seen.log = ctx, k.options.Logger
	defer seen.guard()
	if k.redactNames(&inv) != nil {
		inv = phases.Invocation{Phase: inv.Phase}
	}
	if c, by := k.options.Observer.InvocationStarted(ctx, inv); c != nil {
		inner, seen.by = c, by
	}
	return inner, seen
}

func (o observation) hookDone(start time.Time, r *phases.HookReport) {
	if o.by == nil {
		return
	}
	defer o.guard()
	o.by.HookDone(start, r)
}

func (o observation) decided(v *phases.Verdict, err error) {
	if o.by == nil {
		return
	}
	defer o.guard()
	o.by.Decided(v, err)
}

func (o observation) guard() {
	if p := recover(); p != nil {
		o.panicked(p)
	}
}

func (o observation) panicked(p any) {
	o.log.LogAttrs(context.Background(), slog.LevelError, "panic in an observer", slog.String("panic", fmt.Sprint(p)),
		slog.String("stack", string(debug.Stack())))
}
