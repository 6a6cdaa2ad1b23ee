package reconcile

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/store/sqlite/foreign"
	"github.com/belay-hooks/belay/internal/transcripts"
)

// maxBegun is how many logs are opened for the sessions that they tell of.
const maxBegun = 1000

// Sessions returns the sessions that began since then by the runtime's own logs in dir, in the order of their
// beginning. A subagent counts as its session. A log that tells no time of its beginning is left out. err joins
// what could not be read; the sessions of the other logs are returned with it.
func Sessions(ctx context.Context, runtime, dir string, since time.Time) ([]transcripts.Begun, error) {
	kind, ok := runtimes()[runtime]
	if !ok {
		return nil, ErrRuntime
	}
	logs, _ := Logs(runtime, dir, since)
	if len(logs) > maxBegun {
		logs = logs[len(logs)-maxBegun:] // most names begin with a time
	}
	found := map[string]transcripts.Begun{} // by session: the last that began
	var errs []error
	for _, log := range logs {
		list, err := kind.sessions(ctx, dir, log, since)
		if err != nil {
			errs = append(errs, err)
		}
		for _, b := range list {
			if b.At.After(found[b.Session].At) && !b.At.Before(since) {
				found[b.Session] = b
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b transcripts.Begun) int { return a.At.Compare(b.At) }),
		errors.Join(errs...)
}

// sessions lists those of one log.
func (r *runtime) sessions(ctx context.Context, dir, log string, since time.Time) (out []transcripts.Begun, err error) {
	if r.begun != nil {
		ctx, cancel := context.WithTimeout(ctx, maxLook)
		defer cancel()
		db, err := foreign.Open(ctx, dir, log)
		if err != nil {
			return nil, err
		}
		out, err = r.begun(db, since)
		return out, closing(err, db.Close)
	}
	rel, err := filepath.Rel(dir, log)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	f, err := transcripts.Directory{Path: dir}.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	session, err := r.session(rel, f)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	at, err := transcripts.Beginning(f)
	if err != nil || at.IsZero() {
		return nil, err
	}
	return []transcripts.Begun{{Session: session, At: at}}, nil
}
