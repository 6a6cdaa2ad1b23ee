package statelog

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/every"
)

const (
	retainFirst = time.Minute // after the start
	retainEvery = time.Hour
)

// Retain keeps the log as short as belay.yaml says until ctx ends: it looks every
// hour, and compacts when the oldest event is a day over its time. One process for
// each state directory is to do it: the daemon does.
func (l *Live) Retain(ctx context.Context) {
	every.Do(ctx, retainFirst, retainEvery, func(ctx context.Context) bool {
		r, err := l.RetainNow(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			l.log.LogAttrs(ctx, slog.LevelError, "old events could not be compacted", slog.Any("error", err))
		case r.Events > 0:
			l.log.LogAttrs(ctx, slog.LevelInfo, "old events were compacted", slog.Int64("events", r.Events),
				slog.Int64("through", r.Through), slog.Int64("event", r.Event))
		}
		return true
	})
}

// RetainNow does at once what Retain does from time to time, as of now; a jump ahead of the
// clock in this boot makes no event older. Errors are those of Compact.
func (l *Live) RetainNow(ctx context.Context) (wire.Compacted, error) {
	return l.RetainOnce(ctx, l.kernel.CalmTime())
}

// RetainOnce does at once what Retain does from time to time. Errors are those of Compact.
func (l *Live) RetainOnce(ctx context.Context, now time.Time) (wire.Compacted, error) {
	days := l.events.Load().Retention.Days
	if days == 0 {
		return wire.Compacted{}, nil
	}
	const day = 24 * time.Hour
	before := now.Add(-time.Duration(days) * day)
	oldest, err := l.store.Events(ctx, wire.Query{Limit: 1})
	if err != nil {
		return wire.Compacted{}, err
	}
	left, err := l.store.LogCompacted(ctx)
	if err != nil {
		return wire.Compacted{}, err
	}
	if left.Left == 0 && (len(oldest) == 0 || oldest[0].Time.After(before.Add(-day))) {
		return wire.Compacted{}, nil
	}
	return l.compact(ctx,
		CompactOptions{Before: before, By: "the retention of belay.yaml", Why: "kept for " + strconv.Itoa(days) + " days"},
		true)
}
