package fuzz

import (
	"context"

	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
)

// RunTapped is Run on one goroutine, and tells of every input that a hook is given.
func RunTapped(ctx context.Context, o Options, tap func(wire []byte)) (*Result, error) {
	o.Workers = 1
	f, err := newFuzzer(ctx, o)
	if err != nil {
		return nil, err
	}
	f.hook.tap = func(p *plan) { tap(p.wire) }
	return f.run(ctx)
}

// NewNullStore is a store that keeps nothing.
func NewNullStore() kernel.Store {
	r := &planRig{ledger: &ledger{}}
	return rig.NewVolatile(r.carried, noLatch, r.commit)
}

// NoRedactor redacts nothing.
type NoRedactor = rig.Plain
