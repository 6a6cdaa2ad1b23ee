package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that the calling thread has taken, to the
// nanosecond: rusage moves in steps of milliseconds. ok is false where it cannot be told.
func threadTime() (taken time.Duration, ok bool) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0, false
	}
	return time.Duration(now.Nano()), true
}
