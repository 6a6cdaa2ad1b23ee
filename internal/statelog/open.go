package belay

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Log is the event log of a state directory, opened to be read: nothing in the
// directory is written, made or brought up to date, which may belong to somebody else,
// be a copy, or be in use. It is safe for concurrent use.
type Log struct{ b *Belay }

// OpenLog opens belay.db in dir for reading. The checkpoint key may be missing: then
// LogEvidence has to bring a verifier, and nothing can be proven anew. With the key but
// without a database the log is empty, so that a database that somebody took away shows
// in what lies outside of it. The error is ErrState, which is fs.ErrNotExist too when
// there is neither, or kernel.ErrUnavailable when the database cannot be read.
func OpenLog(ctx context.Context, dir string) (*Log, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, stateError("path", err)
	}
	b := &Belay{dir: abs, o: Options{NoHooks: true}, keys: &keyring{}, trust: trust.Open(abs, nil)}
	seed, err := statedir.ReadKey(statedir.Key(statedir.Keys(abs), "checkpoint"))
	if err == nil {
		b.keys.events, err = eventlog.NewKey(seed)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, stateError("keys", err)
	}
	if err := b.readConfig(); err != nil {
		return nil, err
	}
	// The mark is compared, not written. A copy of a directory has none.
	if guard, err := highwater.ForState(abs, b.file.Events.HighWater, os.Getenv); err == nil {
		b.water.guard = guard
	}
	path := filepath.Join(abs, "belay.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if b.keys.events == nil {
			return nil, stateError("there is no event log", err)
		}
		b.store = memory.New()
		return &Log{b}, nil
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	b.store = db
	return &Log{b}, nil
}

// Verify is Belay.VerifyLog.
func (l *Log) Verify(ctx context.Context, ev LogEvidence) (LogReport, error) {
	return l.b.VerifyLog(ctx, ev)
}

// Prove is Belay.ProveEvent. Without the key the error is ErrState.
func (l *Log) Prove(ctx context.Context, seq int64) (*LogProof, error) {
	if l.b.keys.events == nil {
		return nil, stateError("a proof holds a checkpoint that is signed now", errNoKey)
	}
	return l.b.ProveEvent(ctx, seq)
}

// Key is Belay.CheckpointKey; "" without the key.
func (l *Log) Key() string { return l.b.CheckpointKey() }

// Events is Belay.Events.
func (l *Log) Events(ctx context.Context, q kernel.EventQuery) ([]phases.Event, error) {
	return l.b.store.Events(ctx, q)
}

// Compacted is Belay.Compacted.
func (l *Log) Compacted(ctx context.Context) (through, event int64, err error) {
	return l.b.Compacted(ctx)
}

// Close releases the database.
func (l *Log) Close() error { return errors.Join(l.b.store.Close(), l.b.water.close()) }

var errNoKey = errors.New("the checkpoint key is not in the state directory")
