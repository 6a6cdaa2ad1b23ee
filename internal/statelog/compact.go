package statelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// CompactOptions say which events to compact.
type CompactOptions struct {
	Before time.Time // all events before the first one that is not older than this
	Why    string    // for the record; one line
	By     string    // for the record; "" means the user of this process
	DryRun bool      // only says what would be

	// Order is the order of a reviewer, needed where one is registered. It says itself
	// which events (kernel.CompactOrder); Before is not looked at then.
	Order *approvals.Order
}

// Compact verifies the log, records a signed announcement, and then removes the
// contents of the oldest events. Their hashes stay, so that the rest is proven
// as before, and so are copies that were exported. It finishes an interrupted
// call first. It never compacts events that are younger than
// kernel.MinCompactionAge or the age in belay.yaml. The error is ErrWrong,
// ErrSinkBehind, kernel.ErrTooYoung, a *queue.OrderError,
// kernel.ErrConflict when another process was faster, or kernel.ErrUnavailable.
func (l *Live) Compact(ctx context.Context, o CompactOptions) (wire.Compacted, error) {
	if err := l.reviewersKnown(); err != nil {
		return wire.Compacted{DryRun: o.DryRun}, err
	}
	return l.compact(ctx, o, false)
}

// minAge is the age below which events are not compacted.
func (l *Live) minAge() time.Duration {
	return max(kernel.MinCompactionAge, l.events.Load().Compaction.Age())
}

// lastOf returns the number of the last event to compact.
func (l *Live) lastOf(ctx context.Context, o *CompactOptions) (int64, error) {
	if o.Order == nil {
		return l.older(ctx, o.Before)
	}
	var c kernel.CompactOrder
	if err := json.Unmarshal(o.Order.Args, &c, json.RejectUnknownMembers(true)); err != nil || c.Through < 1 {
		return 0, &queue.OrderError{Class: approvals.ErrContent, Text: "it does not say which events"}
	}
	if size, err := l.store.LogSize(ctx); err != nil || c.Through > size {
		return 0, errors.Join(&queue.OrderError{Class: approvals.ErrContent, Text: "there are not so many events"}, err)
	}
	return c.Through, nil
}

func (l *Live) compact(ctx context.Context, o CompactOptions, retention bool) (wire.Compacted, error) {
	l.compacting.Lock()
	defer l.compacting.Unlock()
	r := wire.Compacted{DryRun: o.DryRun}
	if !o.DryRun {
		if err := l.removeAnnounced(ctx); err != nil {
			return r, err
		}
	}
	done, err := l.store.LogCompacted(ctx)
	if err != nil {
		return r, err
	}
	r.Through = done.Through
	through, err := l.lastOf(ctx, &o)
	if err != nil || through <= done.Through {
		return r, err
	}
	old, err := l.older(ctx, l.kernel.CalmTime().Add(-l.minAge()))
	if err != nil {
		return r, err
	}
	if through > old && !retention {
		return r, fmt.Errorf("%w: those after number %d are younger than %v", kernel.ErrTooYoung, old, l.minAge())
	}
	if through = min(through, old); through <= done.Through {
		return r, nil
	}
	if err := l.mayCompact(ctx, through); err != nil {
		return r, err
	}
	if o.DryRun {
		r.Events, r.Through = through-done.Through, through
		return r, nil
	}
	if o.By == "" {
		o.By = peercred.Credential(os.Getuid())
	}
	statement, err := eventlog.Announce(ctx, l.store, l.key, through, o.By, o.Why, time.Now())
	if err != nil {
		return r, logFailure(err)
	}
	receipt, err := l.kernel.Compact(ctx, kernel.Compaction{Through: through, Statement: string(statement)},
		kernel.CompactBy{By: o.By, Why: o.Why, Order: o.Order, Retention: retention})
	if err != nil {
		return r, err
	}
	r.Events, r.Through, r.Event = through-done.Through, through, receipt.First
	if err := l.removeAnnounced(ctx); err != nil {
		return r, err
	}
	r.Checkpoints, err = l.dropCheckpoints(ctx)
	return r, err
}

// older returns the number of the last event before the first that is not older.
func (l *Live) older(ctx context.Context, before time.Time) (int64, error) {
	first, err := l.store.Events(ctx, wire.Query{Since: before, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(first) > 0 {
		return first[0].Seq - 1, nil
	}
	return l.store.LogSize(ctx)
}

// mayCompact finds out whether removing events would hide that one was changed, or
// take it away from a file that does not have it yet.
func (l *Live) mayCompact(ctx context.Context, through int64) error {
	for _, s := range l.sinks.Check(ctx) {
		if !s.OK || s.Seq < through {
			return errors.Join(fmt.Errorf("%w: %s has them up to number %d", ErrSinkBehind, s.Path, s.Seq), s.Err)
		}
	}
	report, err := l.Verify(ctx, Evidence{})
	if err != nil {
		return logFailure(err)
	}
	if report.Wrong != nil {
		return fmt.Errorf("%w: %s", ErrWrong, report.Wrong.Text)
	}
	return nil
}

func (l *Live) removeAnnounced(ctx context.Context) error {
	_, err := eventlog.Remove(ctx, l.store, l.Key())
	if errors.Is(err, eventlog.ErrCheckpoint) {
		return fmt.Errorf("%w: %w", ErrWrong, err)
	}
	return logFailure(err)
}

// keepCheckpoints is how many of the newest checkpoints in the store are kept beside
// the last of each day. Files of checkpoints are never shortened.
const keepCheckpoints = 1000

func (l *Live) dropCheckpoints(ctx context.Context) (int, error) {
	notes, err := l.store.Checkpoints(ctx)
	if err != nil {
		return 0, err
	}
	drop := eventlog.Superfluous(notes, l.Key(), keepCheckpoints)
	if len(drop) == 0 {
		return 0, nil
	}
	return len(drop), l.store.DropCheckpoints(ctx, drop)
}

// logFailure gives errors of the log the class that stores have.
func logFailure(err error) error {
	if err == nil || errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, eventlog.ErrNothing) {
		return err
	}
	return fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
}
