package rig

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// swapStore is the store of the Case at hand.
type swapStore struct{ kernel.Store }

// Volatile is a store that keeps nothing. It answers for run state and latches from the
// invocation at hand, and else like an empty store.
type Volatile struct {
	kernel.Store
	run    func() kernel.RunState
	latch  func(wire.Session) *kernel.Latch
	commit func(kernel.Batch) error
}

// NewVolatile returns a store that asks run for the metadata of a run, latch
// for the latch of a session (nil: none), and commit whether a batch can be
// written.
func NewVolatile(run func() kernel.RunState, latch func(wire.Session) *kernel.Latch,
	commit func(kernel.Batch) error) *Volatile {
	return &Volatile{Store: memory.New(), run: run, latch: latch, commit: commit}
}

// RunState implements kernel.Store.
func (v *Volatile) RunState(context.Context, phases.RunKey, time.Time) (kernel.RunState, error) {
	return v.run(), nil
}

// Latch implements kernel.Store.
func (v *Volatile) Latch(_ context.Context, key wire.Session) (*kernel.Latch, error) {
	return v.latch(key), nil
}

// Commit implements kernel.Store.
func (v *Volatile) Commit(_ context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if err := v.commit(b); err != nil {
		return kernel.Receipt{}, err
	}
	return kernel.Receipt{First: 1, Last: int64(len(b.Events))}, nil
}

// Prune implements kernel.Store.
func (*Volatile) Prune(context.Context, time.Time) (int, error) { return 0, nil }
