package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/phases"
)

// looper is a hook that never ends by itself.
type looper struct{ module *sandbox.Module }

func (y *yard) looper(ctx context.Context) (*looper, error) {
	file, err := os.ReadFile(filepath.Join(y.root, "internal/sandbox/testdata/hogs.wasm"))
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.Open(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = engine.Close() })
	module, err := engine.Load(ctx, file, sandbox.LoadOptions{Trusted: true})
	return &looper{module}, err
}

// run lets it loop until fuel, deadline or ctx ends it, which has to be of that kind.
func (l *looper) run(ctx context.Context, fuel int64, timeout time.Duration, want phases.Kind) (sandbox.Report, error) {
	const action = `{"kind":"message","text":"plan"}`
	session, err := hostcalls.NewSession(hostcalls.SessionConfig{
		Phase: phases.PrePlan, Pass: phases.PassValidate, Input: jsontext.Value(action), Action: jsontext.Value(action),
		Actor: phases.Actor{Hook: "looper", Tier: phases.Sandboxed}, Time: time.Unix(0, 0),
	})
	if err != nil {
		return sandbox.Report{}, err
	}
	report, err := l.module.Run(ctx, sandbox.RunRequest{Phase: phases.PrePlan, Session: session, Fuel: fuel,
		Timeout: timeout, Ceiling: time.Hour})
	if f := phases.FaultOf(err); f == nil || f.Kind != want {
		return report, fmt.Errorf("a hook that loops ended with %v, not with %s", err, want)
	}
	return report, nil
}

// openLoopers has one caller decide events while hooks loop beside it.
func openLoopers(ctx context.Context, y *yard) ([]subject, error) {
	inv, module, err := y.parts(ctx)
	if err != nil {
		return nil, err
	}
	b, err := y.host(ctx, "loopers", true, hooks(module, 1)...)
	if err != nil {
		return nil, err
	}
	loops, err := y.looper(ctx)
	if err != nil {
		return nil, err
	}
	one := invokes(b, inv)
	var subjects []subject
	for _, n := range []int{0, 1, 4} {
		name := fmt.Sprintf("loopers: %d", n)
		subjects = append(subjects, subject{name: name, own: func(ctx context.Context) (round, error) {
			within, end := context.WithCancel(ctx)
			defer end()
			errs := make([]error, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { _, errs[i] = loops.run(within, 1<<60, -1, phases.KindDeadline) })
			}
			var took []time.Duration
			for begun := time.Now(); len(took) < 300 || time.Since(begun) < y.each; {
				from := time.Now()
				if err := one(ctx); err != nil {
					return round{}, err
				}
				took = append(took, time.Since(from))
			}
			end()
			all.Wait()
			slices.Sort(took)
			late := took[len(took)*99/100]
			return round{processor: late, clock: late}, errors.Join(errs...)
		}})
	}
	return subjects, nil
}

// openOvershoot compares how far a hook goes beyond its deadline with how long a slice takes.
func openOvershoot(ctx context.Context, y *yard) ([]subject, error) {
	loops, err := y.looper(ctx)
	if err != nil {
		return nil, err
	}
	const slices, timeout = 16, 10 * time.Millisecond
	return []subject{
		{name: "a slice of fuel", own: func(ctx context.Context) (round, error) {
			report, err := loops.run(ctx, slices*sandbox.DefaultSlice, -1, phases.KindFuel)
			return round{processor: report.Worked / slices, clock: report.Worked / slices}, err
		}},
		{name: "beyond a deadline of 10 ms", own: func(ctx context.Context) (round, error) {
			report, err := loops.run(ctx, 1<<60, timeout, phases.KindDeadline)
			over := max(report.Worked-timeout, 0)
			return round{processor: over, clock: over}, err
		}},
	}, nil
}
