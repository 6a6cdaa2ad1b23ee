// Package dry answers reads from a store and writes nothing, so that decisions on it
// leave no trace: no event, state, lease, approval, metadata or latch.
//
// It never claims to be durable: reads do not return committed rows.
package dry

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/kernel"
)

// Store is a kernel.Store over another one. It is safe for concurrent use when the
// other is.
type Store struct{ kernel.Store }

// Commit implements kernel.Store: the batch counts as written, and is dropped.
// The rows that it was computed from are not checked: the answer has no effect.
func (s Store) Commit(_ context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if len(b.Events) == 0 {
		return kernel.Receipt{}, nil
	}
	return kernel.Receipt{First: 1, Last: int64(len(b.Events))}, nil
}

// Prune implements kernel.Store.
func (Store) Prune(context.Context, time.Time) (int, error) { return 0, nil }

// AddCheckpoint implements kernel.Log.
func (Store) AddCheckpoint(context.Context, int64, []byte) error { return nil }

// DropCheckpoints implements kernel.Log.
func (Store) DropCheckpoints(context.Context, [][]byte) error { return nil }

// LogRemove implements kernel.Log.
func (Store) LogRemove(context.Context, int) (int64, error) { return 0, nil }

// Durable says that nothing is kept.
func (Store) Durable() bool { return false }
