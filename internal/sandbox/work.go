package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// CeilingFactor is how many times its budget of work a run may take by the clock on the
// wall, counted hostcalls excluded.
const CeilingFactor = 10

var errWork = fmt.Errorf("the budget of work is spent: %w", context.DeadlineExceeded)

// work measures what a run does itself: the processor time of its thread, in the guest and in
// handlers. Waiting for a processor is no work, nor is what counted hostcalls take. Between
// begin and end it belongs to the goroutine that called begin.
type work struct {
	budget time.Duration // 0: none
	from   time.Time
	paused time.Duration // on the wall, in counted hostcalls

	threads bool          // the platform tells the time of a thread
	began   time.Duration // that the thread had taken
	others  time.Duration // that the thread took in counted hostcalls
}

// begin starts to measure. The goroutine keeps its thread until end.
func (w *work) begin(now time.Time) {
	runtime.LockOSThread()
	w.from = now
	w.began, w.threads = threadTime()
}

func (w *work) end() { runtime.UnlockOSThread() }

// done returns the work so far.
func (w *work) done(now time.Time) time.Duration {
	if w.threads {
		if taken, ok := threadTime(); ok {
			return max(taken-w.began-w.others, 0)
		}
	}
	return now.Sub(w.from) - w.paused
}

// spent reports whether the budget is. One thread never works longer than the clock on the
// wall says, so that its own clock is read only after that.
func (w *work) spent(now time.Time) bool {
	return w.budget > 0 && now.Sub(w.from)-w.paused >= w.budget && w.done(now) >= w.budget
}

// pause runs f, which is not the run's own work, and returns how long it took.
func (w *work) pause(f func()) time.Duration {
	from := time.Now()
	before, ok := threadTime()
	f()
	if after, ok2 := threadTime(); ok && ok2 {
		w.others += after - before
	}
	took := time.Since(from)
	w.paused += took
	return took
}
