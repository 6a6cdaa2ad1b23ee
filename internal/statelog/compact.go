package belay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/kernel"
)

// Classes of errors of CompactLog, for errors.Is.
var (
	// ErrLogWrong: the event log is not what was signed; what could show that is kept.
	ErrLogWrong = errors.New("the event log is wrong")
	// ErrSinkBehind: a file of belay.yaml lacks events that would be removed.
	ErrSinkBehind = errors.New("a sink lacks events")
)

// CompactOptions say which events are given up.
type CompactOptions struct {
	Before time.Time // all events before the first one that is not older than this
	Why    string    // for the record; one line
	By     string    // for the record; "" means the user of this process
	DryRun bool      // only says what would be

	// Order is the order of a reviewer, needed where one is registered. It says itself
	// which events (kernel.CompactOrder); Before is not looked at then.
	Order *kernel.Order
}

// CompactReport says what was given up.
type CompactReport struct {
	Events      int64 `json:"events"`         // whose contents were, or would be, removed now
	Through     int64 `json:"through"`        // events 1 to this number have, or would have, no contents
	Event       int64 `json:"event,omitzero"` // the event that announces it
	Checkpoints int   `json:"checkpoints"`    // of the store that were dropped: others cover the same events
	DryRun      bool  `json:"dry_run,omitzero"`
}

// CompactLog verifies the log, records a signed announcement, and then removes the
// contents of the oldest events. Their hashes stay, so that the rest is proven as before,
// and so are copies that were exported. What an earlier call was stopped at is finished
// first. Events that are younger than kernel.MinCompactionAge, or than belay.yaml says, are
// never given up. The error is ErrLogWrong, ErrSinkBehind, kernel.ErrTooYoung, a
// *kernel.OrderError, kernel.ErrConflict when another process was faster, or
// kernel.ErrUnavailable.
func (b *Belay) CompactLog(ctx context.Context, o CompactOptions) (CompactReport, error) {
	if err := b.reviewersKnown(); err != nil {
		return CompactReport{DryRun: o.DryRun}, err
	}
	return b.compactLog(ctx, o, false)
}

// minAge is the age below which events are not compacted.
func (b *Belay) minAge() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(kernel.MinCompactionAge, b.file.Events.Compaction.Age())
}

// lastOf returns the number of the last event that is to be given up.
func (b *Belay) lastOf(ctx context.Context, o *CompactOptions) (int64, error) {
	if o.Order == nil {
		return b.older(ctx, o.Before)
	}
	var c kernel.CompactOrder
	if err := json.Unmarshal(o.Order.Args, &c, json.RejectUnknownMembers(true)); err != nil || c.Through < 1 {
		return 0, &kernel.OrderError{Class: kernel.ErrApprovalContent, Text: "it does not say which events"}
	}
	if size, err := b.store.LogSize(ctx); err != nil || c.Through > size {
		return 0, errors.Join(&kernel.OrderError{Class: kernel.ErrApprovalContent, Text: "there are not so many events"}, err)
	}
	return c.Through, nil
}

func (b *Belay) compactLog(ctx context.Context, o CompactOptions, retention bool) (CompactReport, error) {
	b.compacting.Lock()
	defer b.compacting.Unlock()
	r := CompactReport{DryRun: o.DryRun}
	if !o.DryRun {
		if err := b.removeAnnounced(ctx); err != nil {
			return r, err
		}
	}
	done, err := b.store.LogCompacted(ctx)
	if err != nil {
		return r, err
	}
	r.Through = done.Through
	through, err := b.lastOf(ctx, &o)
	if err != nil || through <= done.Through {
		return r, err
	}
	old, err := b.older(ctx, b.now().Add(-b.minAge()))
	if err != nil {
		return r, err
	}
	if through > old && !retention {
		return r, fmt.Errorf("%w: those after number %d are younger than %v", kernel.ErrTooYoung, old, b.minAge())
	}
	if through = min(through, old); through <= done.Through {
		return r, nil
	}
	if err := b.mayCompact(ctx, through); err != nil {
		return r, err
	}
	if o.DryRun {
		r.Events, r.Through = through-done.Through, through
		return r, nil
	}
	if o.By == "" {
		o.By = "uid " + strconv.Itoa(os.Getuid())
	}
	statement, err := eventlog.Announce(ctx, b.store, b.keys.events, through, o.By, o.Why, time.Now())
	if err != nil {
		return r, logFailure(err)
	}
	receipt, err := b.kernel.Compact(ctx, kernel.Compaction{Through: through, Statement: string(statement)},
		kernel.CompactBy{By: o.By, Why: o.Why, Order: o.Order, Retention: retention})
	if err != nil {
		return r, err
	}
	r.Events, r.Through, r.Event = through-done.Through, through, receipt.First
	if err := b.removeAnnounced(ctx); err != nil {
		return r, err
	}
	r.Checkpoints, err = b.dropCheckpoints(ctx)
	return r, err
}

// older returns the number of the last event before the first that is not older.
func (b *Belay) older(ctx context.Context, before time.Time) (int64, error) {
	first, err := b.store.Events(ctx, kernel.EventQuery{Since: before, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(first) > 0 {
		return first[0].Seq - 1, nil
	}
	return b.store.LogSize(ctx)
}

// mayCompact finds out whether removing events would hide that one was changed, or
// take it away from a file that does not have it yet.
func (b *Belay) mayCompact(ctx context.Context, through int64) error {
	for _, s := range b.sinks.Check(ctx) {
		if !s.OK || s.Seq < through {
			return errors.Join(fmt.Errorf("%w: %s has them up to number %d", ErrSinkBehind, s.Path, s.Seq), s.Err)
		}
	}
	report, err := b.VerifyLog(ctx, LogEvidence{})
	if err != nil {
		return logFailure(err)
	}
	if report.Wrong != nil {
		return fmt.Errorf("%w: %s", ErrLogWrong, report.Wrong.Text)
	}
	return nil
}

func (b *Belay) removeAnnounced(ctx context.Context) error {
	_, err := eventlog.Remove(ctx, b.store, b.CheckpointKey())
	if errors.Is(err, eventlog.ErrCheckpoint) {
		return fmt.Errorf("%w: %w", ErrLogWrong, err)
	}
	return logFailure(err)
}

// keepCheckpoints is how many of the newest checkpoints in the store are kept beside
// the last of each day. Files of checkpoints are never shortened.
const keepCheckpoints = 1000

func (b *Belay) dropCheckpoints(ctx context.Context) (int, error) {
	notes, err := b.store.Checkpoints(ctx)
	if err != nil {
		return 0, err
	}
	drop := eventlog.Superfluous(notes, b.CheckpointKey(), keepCheckpoints)
	if len(drop) == 0 {
		return 0, nil
	}
	return len(drop), b.store.DropCheckpoints(ctx, drop)
}

// logFailure gives errors of the log the class that stores have.
func logFailure(err error) error {
	if err == nil || errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, eventlog.ErrNothing) {
		return err
	}
	return fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
}

const (
	retainFirst = time.Minute // after the start
	retainEvery = time.Hour
)

// Retain keeps the log as short as belay.yaml says until ctx ends: it looks every
// hour, and compacts when the oldest event is a day over its time. One process for
// each state directory is to do it: the daemon does.
func (b *Belay) Retain(ctx context.Context) {
	t := time.NewTimer(retainFirst)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			t.Reset(retainEvery)
		}
		r, err := b.RetainOnce(ctx, time.Now())
		switch {
		case err != nil && ctx.Err() == nil:
			b.log.LogAttrs(ctx, slog.LevelError, "old events could not be compacted", slog.Any("error", err))
		case r.Events > 0:
			b.log.LogAttrs(ctx, slog.LevelInfo, "old events were compacted", slog.Int64("events", r.Events), slog.Int64("through", r.Through), slog.Int64("event", r.Event))
		}
	}
}

// RetainOnce does at once what Retain does from time to time. Errors are those of CompactLog.
func (b *Belay) RetainOnce(ctx context.Context, now time.Time) (CompactReport, error) {
	b.mu.Lock()
	days := b.file.Events.Retention.Days
	b.mu.Unlock()
	if days == 0 {
		return CompactReport{}, nil
	}
	const day = 24 * time.Hour
	before := now.Add(-time.Duration(days) * day)
	oldest, err := b.store.Events(ctx, kernel.EventQuery{Limit: 1})
	if err != nil {
		return CompactReport{}, err
	}
	left, err := b.store.LogCompacted(ctx)
	if err != nil {
		return CompactReport{}, err
	}
	if left.Left == 0 && (len(oldest) == 0 || oldest[0].Time.After(before.Add(-day))) {
		return CompactReport{}, nil
	}
	return b.compactLog(ctx, CompactOptions{Before: before, By: "the retention of belay.yaml", Why: "kept for " + strconv.Itoa(days) + " days"}, true)
}

// Compacted says which events have no contents any more: 1 to through, as the event
// of number event announces. Both are 0 when all have theirs.
func (b *Belay) Compacted(ctx context.Context) (through, event int64, err error) {
	c, err := b.store.LogCompacted(ctx)
	if gone := c.Through - c.Left; gone > 0 {
		return gone, c.Event, err
	}
	return 0, 0, err
}
