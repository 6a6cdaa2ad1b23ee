package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	linesEvery = 10 * time.Second
	mostLines  = 20 // of one message, in as long
)

// fewLines passes on so many lines of each message about one user, and counts the others: the journal takes a number of
// lines from the daemon, and one user's would take the place of all others'. Safe for concurrent use.
type fewLines struct {
	slog.Handler
	lines *lineCount
}

type lineCount struct {
	mu    sync.Mutex
	since time.Time
	of    map[string]int // by message, all of which stand in the source
	over  int
}

func newFewLines(h slog.Handler) *fewLines {
	return &fewLines{Handler: h, lines: &lineCount{of: map[string]int{}}}
}

// Handle implements slog.Handler.
func (f *fewLines) Handle(ctx context.Context, r slog.Record) error {
	now := time.Now()
	l := f.lines
	l.mu.Lock()
	over := 0
	if now.Sub(l.since) >= linesEvery {
		over, l.over, l.since = l.over, 0, now
		clear(l.of)
	}
	l.of[r.Message]++
	says := l.of[r.Message] <= mostLines
	if !says {
		l.over++
	}
	l.mu.Unlock()
	if over > 0 {
		more := slog.NewRecord(now, slog.LevelWarn, "lines about this user were left out", 0)
		more.AddAttrs(slog.Int("lines", over))
		_ = f.Handler.Handle(ctx, more) // what follows shows whether the log works
	}
	if !says {
		return nil
	}
	return f.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (f *fewLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &fewLines{f.Handler.WithAttrs(attrs), f.lines}
}

// WithGroup implements slog.Handler.
func (f *fewLines) WithGroup(name string) slog.Handler {
	return &fewLines{f.Handler.WithGroup(name), f.lines}
}
