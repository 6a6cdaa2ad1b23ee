package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// parts are the event and the policy in C, of which the tables of this file are made.
func (y *yard) parts(ctx context.Context) (inv phases.Invocation, module []byte, err error) {
	if inv, _, err = event(); err == nil {
		module, err = y.guest(ctx, "c")
	}
	return inv, module, err
}

// hooks are n bindings of one module.
func hooks(module []byte, n int) []belay.AdHocHook {
	all := make([]belay.AdHocHook, n)
	for i := range all {
		all[i] = belay.AdHocHook{Name: fmt.Sprintf("policy-%d", i), Module: module, Priority: i % 100}
	}
	return all
}

// openNotMatching binds hooks for another tool by belay.yaml: a binding's own match keeps them from the event.
func openNotMatching(ctx context.Context, y *yard) ([]subject, error) {
	inv, _, err := event()
	if err != nil {
		return nil, err
	}
	var subjects []subject
	for _, n := range []int{10, 100, 1000} {
		var config strings.Builder
		config.WriteString("hooks:\n")
		for i := range n {
			fmt.Fprintf(&config, "  - {name: other-%d, module: 'builtin:kill-switch', capabilities: [block], priority: %d, "+
				"match: {tools: '^edit$'}}\n", i, i%90)
		}
		dir, err := y.state(fmt.Sprintf("other-%d", n), config.String())
		if err != nil {
			return nil, err
		}
		b, err := belay.Open(ctx, dir, belay.Options{InMemory: true})
		if err != nil {
			return nil, err
		}
		y.atEnd(func() { _ = b.Close() })
		subjects = append(subjects, subject{name: fmt.Sprintf("%d hooks that do not match", n), do: invokes(b, inv)})
	}
	return subjects, nil
}

func openChains(ctx context.Context, y *yard) ([]subject, error) {
	inv, module, err := y.parts(ctx)
	if err != nil {
		return nil, err
	}
	var subjects []subject
	for _, n := range []int{1, 4, 16, 100, 1000} {
		b, err := y.host(ctx, fmt.Sprintf("chain-%d", n), true, hooks(module, n)...)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject{name: fmt.Sprintf("chain of %d", n), do: invokes(b, inv)})
	}
	return subjects, nil
}

func openPayloads(ctx context.Context, y *yard) ([]subject, error) {
	inv, module, err := y.parts(ctx)
	if err != nil {
		return nil, err
	}
	b, err := y.host(ctx, "payloads", true, hooks(module, 1)...)
	if err != nil {
		return nil, err
	}
	var subjects []subject
	for _, kib := range []int{1, 32, 256, 960} {
		const line = "echo built the service and ran its tests on this machine\n"
		sized, err := withCommand(inv, strings.Repeat(line, kib<<10/len(line)))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject{name: fmt.Sprintf("%d KiB", kib), do: invokes(b, sized)})
	}
	return subjects, nil
}

func openCallers(ctx context.Context, y *yard) ([]subject, error) {
	inv, module, err := y.parts(ctx)
	if err != nil {
		return nil, err
	}
	b, err := y.host(ctx, "callers", false, hooks(module, 1)...)
	if err != nil {
		return nil, err
	}
	var subjects []subject
	for _, n := range []int{1, 8, 64} {
		one := invokes(b, inv)
		subjects = append(subjects, subject{name: fmt.Sprintf("%d at once", n), per: n, do: func(ctx context.Context) error {
			errs := make([]error, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { errs[i] = one(ctx) })
			}
			all.Wait()
			return errors.Join(errs...)
		}})
	}
	return subjects, nil
}
