package harness

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// Result is what one case came to.
type Result struct {
	Case    string
	Verdict phases.Verdict // of the case's own invocation
	Faults  []string       // differences from what is wanted; empty means passed
}

// Runner runs the cases of one hook.
type Runner struct {
	Module []byte // the module file
	Name   string // of the binding
	// Dir is a state directory of the runner's own. It holds keys and compiled
	// code, so that a module is compiled once for many cases; events stay in memory.
	Dir string
	// Logger gets the kernel's log; nil discards it.
	Logger *slog.Logger
}

// Run runs one case on a kernel and a store of its own. The error says that the
// case could not be run at all; a case that did not pass has Faults.
func (r *Runner) Run(ctx context.Context, c Case) (Result, error) {
	res := Result{Case: c.Name}
	host, err := belay.Open(ctx, r.Dir, belay.Options{
		Hooks:       []belay.AdHocHook{{Name: r.Name, Module: r.Module, Config: c.Config}},
		SlowCompile: true,
		InMemory:    true,
		Logger:      r.Logger,
	})
	if err != nil {
		return res, err
	}
	defer host.Close()
	for i, in := range c.Before {
		inv, err := in.Invocation()
		if err != nil {
			return res, fmt.Errorf("before %d: %w", i+1, err)
		}
		if v, err := host.Invoke(ctx, inv); v.Decision == "" {
			return res, fmt.Errorf("before %d: %w", i+1, err)
		}
	}
	inv, err := c.Invocation()
	if err != nil {
		return res, err
	}
	if res.Verdict, err = host.Invoke(ctx, inv); res.Verdict.Decision == "" {
		return res, err
	}
	res.Faults = c.Want.Check(res.Verdict)
	return res, nil
}
