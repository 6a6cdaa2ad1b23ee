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

const (
	// shortRun is how long a run may take by the clock on the wall without a look at its thread's.
	shortRun = 200 * time.Microsecond
	// maxFirstSlice is the most that a run is said to have worked before its thread's clock is read for the first
	// time. A slice of DefaultSlice takes a few milliseconds; in more than that the run has waited for a processor.
	maxFirstSlice = 10 * time.Millisecond
)

// work measures what a run does itself: the processor time of its thread, in the guest and in
// handlers. Waiting for a processor is no work, nor is what counted hostcalls take. To read the
// clock of a thread takes a good part of what a short run does, so runs read it once they are longer.
type work struct {
	budget time.Duration // 0: none
	from   time.Time
	paused time.Duration // on the wall, in counted hostcalls

	reads   bool          // the thread's clock has been read, or could not be
	threads bool          // the platform tells the time of a thread
	first   time.Duration // that the run worked before the first read
	began   time.Duration // that the thread had taken then
	others  time.Duration // that the thread took in counted hostcalls
}

// begin starts to measure a run that looks at its deadline after each slice.
func (w *work) begin(now time.Time, slice int64) {
	if w.from = now; slice > DefaultSlice {
		w.read(now)
	}
}

// read reads the thread's clock for the first time; call it before what may take longer than a slice. From then until
// end the work belongs to the goroutine, which keeps its thread.
func (w *work) read(now time.Time) {
	if w.reads {
		return
	}
	runtime.LockOSThread()
	w.reads, w.first = true, min(now.Sub(w.from), maxFirstSlice)
	w.began, w.threads = threadTime()
}

// end gives the thread back.
func (w *work) end() {
	if w.reads {
		runtime.UnlockOSThread()
	}
}

// done returns the work so far.
func (w *work) done(now time.Time) time.Duration {
	switch wall := now.Sub(w.from) - w.paused; {
	case !w.reads:
		return min(wall, maxFirstSlice)
	case w.threads:
		if taken, ok := threadTime(); ok {
			return w.first + max(taken-w.began-w.others, 0)
		}
		fallthrough
	default:
		return wall
	}
}

// spent reports whether the budget is. One thread never works longer than the clock on the
// wall says, so that its own clock is asked only after that.
func (w *work) spent(now time.Time) bool {
	wall := now.Sub(w.from) - w.paused
	if w.budget <= 0 || wall < min(shortRun, w.budget) {
		return false
	}
	w.read(now)
	return wall >= w.budget && w.done(now) >= w.budget
}

// pause runs f, which is not the run's own work, and returns how long it took.
func (w *work) pause(f func()) time.Duration {
	from := time.Now()
	w.read(from)
	before, ok := threadTime()
	f()
	if after, ok2 := threadTime(); ok && ok2 {
		w.others += after - before
	}
	took := time.Since(from)
	w.paused += took
	return took
}
