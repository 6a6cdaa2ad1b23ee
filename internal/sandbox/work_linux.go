package sandbox

import (
	"syscall"
	"time"
)

// rusageThread asks for the calling thread alone.
const rusageThread = 1

// threadTime returns the processor time that the calling thread has taken. ok is false
// where that cannot be told.
func threadTime() (taken time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
