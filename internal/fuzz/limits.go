package fuzz

import (
	"context"
	"time"
)

const (
	maxReruns = 64 // inputs of the corpus that run once more at the end

	// Parts of the bounds that the search leaves for what comes after it.
	rerunPart  = 8  // of the runs, at most, for inputs that run once more
	lookPart   = 20 // of the time, for the same
	shrinkPart = 3  // of the time, once something is found, for making it small
)

// limit returns the context of the runs: with Options.Time it ends when the time is over.
func (f *fuzzer) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.o.Time <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, f.started.Add(f.o.Time))
}

// ended returns whether the search is over by the context or by the clock. It leaves time for what comes after it.
func (f *fuzzer) ended(ctx context.Context) func() bool {
	return func() bool {
		if ctx.Err() != nil || f.o.Time <= 0 {
			return ctx.Err() != nil
		}
		left := f.o.Time / lookPart
		if f.some.Load() {
			left = f.o.Time / shrinkPart
		}
		return time.Since(f.started) >= f.o.Time-left
	}
}

// out returns whether all of the time is over, or the context.
func (f *fuzzer) out(ctx context.Context) func() bool {
	return func() bool { return ctx.Err() != nil || f.o.Time > 0 && time.Since(f.started) >= f.o.Time }
}

// spent reports whether the search has had its runs, those on their way included. What it leaves, rerun uses up:
// together they make exactly Options.Runs.
func (f *fuzzer) spent(running int) bool {
	return f.o.Runs > 0 && f.runs+running+f.reruns() >= f.o.Runs
}

// reruns is how many runs are left for rerun. It only grows, as the corpus does.
func (f *fuzzer) reruns() int {
	if f.o.Runs <= 0 {
		return min(len(f.corpus), maxReruns)
	}
	return min(len(f.corpus), maxReruns, f.o.Runs/rerunPart)
}
