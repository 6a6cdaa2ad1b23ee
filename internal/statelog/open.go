package statelog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

func databasePath(dir string) string { return filepath.Join(dir, "belay.db") }

// ReadOnly is the event log of a state directory, opened to be read: nothing in the
// directory is written, made or brought up to date, but for what the database engine shares
// among its readers. The directory may be a copy, be in use, or belong to another user. It is
// safe for concurrent use.
type ReadOnly struct {
	*Log
	close func() error // closes the database
	place string       // for people; "" for belay.db
}

// OpenReadOnly opens belay.db in dir for reading, or the store that belay.yaml names. The checkpoint key may be
// missing: then Evidence has to bring a verifier, and nothing can be proven anew. With the key but
// without a database the log is empty, so that a database that was taken away shows
// in what lies outside of it. The error is statedir.ErrUnusable, which is fs.ErrNotExist too
// when there is neither, kernel.ErrUnavailable when the database cannot be read, or config.ErrUnusable when it is not
// known which database.
func OpenReadOnly(ctx context.Context, dir string) (*ReadOnly, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, statedir.Unusable("path", err)
	}
	key, err := checkpointKey(abs)
	if err != nil {
		return nil, err
	}
	file, err := configurationIn(abs)
	if err != nil {
		return nil, err
	}
	events := &file.Events
	if shared := direct(file); shared != nil {
		db, err := openCentralReadOnly(ctx, shared)
		if err != nil {
			return nil, err
		}
		guard, err := highwater.ForKernel(abs, shared.Kernel, events.HighWater, os.Getenv)
		if err != nil {
			guard = nil
		}
		return &ReadOnly{newLog(db, key, guard, events), db.Close, central(shared)}, nil
	}
	// The mark is compared, not written. A copy of a directory has none.
	guard, err := highwater.ForState(abs, events.HighWater, os.Getenv)
	if err != nil {
		guard = nil
	}
	if _, err := os.Stat(databasePath(abs)); errors.Is(err, fs.ErrNotExist) {
		if key == nil {
			return nil, statedir.Unusable("there is no event log", err)
		}
		return &ReadOnly{newLog(memory.New(), key, guard, events), func() error { return nil }, ""}, nil
	}
	db, err := sqlite.Open(ctx, databasePath(abs), sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if shared := file.Central(); shared != nil {
		both := forward.OpenReadOnly(db, PostgresOptions(shared, ""))
		return &ReadOnly{newLog(both, key, guard, events), both.Close, ""}, nil
	}
	return &ReadOnly{newLog(db, key, guard, events), db.Close, ""}, nil
}

// HasNone reports whether the state directory dir has no event log yet: opening it makes one. A store that kernels
// share is always there.
func HasNone(dir string) bool {
	f, err := configurationIn(dir)
	if err != nil || direct(f) != nil {
		return false
	}
	_, err = os.Stat(databasePath(dir))
	return errors.Is(err, fs.ErrNotExist)
}

// Latches returns rows as kernel.Store does; Approvals and Leases do so, too. They show what is stored: nothing may be
// decided on them, since neither the log nor a clock is asked.
func (r *ReadOnly) Latches(ctx context.Context) ([]kernel.Latch, error) { return r.store.Latches(ctx) }

// Approvals returns stored items; see Latches.
func (r *ReadOnly) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	return r.store.Approvals(ctx, q)
}

// Leases returns stored leases; see Latches.
func (r *ReadOnly) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	return r.store.Leases(ctx, q)
}

// Close releases the database.
func (r *ReadOnly) Close() error {
	err := r.close()
	if r.guard != nil {
		err = errors.Join(err, r.guard.Close())
	}
	return err
}

// checkpointKey reads the key that signs checkpoints; nil when there is none.
func checkpointKey(dir string) (*eventlog.Key, error) {
	seed, err := statedir.ReadKey(statedir.Key(statedir.Keys(dir), "checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	key, err := eventlog.NewKey(seed)
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	return key, nil
}

// configurationIn reads belay.yaml. One that cannot be used names no files: what the log is
// compared with has to be given by hand then. The error is config.ErrUnusable when it may name another store.
func configurationIn(dir string) (*config.File, error) {
	f, _, err := config.Load(dir)
	return f, config.StoreKnown(dir, err)
}
