//go:build !linux

package sandbox

import "time"

// threadTime returns the processor time that the calling thread has taken. ok is false
// where that cannot be told: the clock on the wall counts then.
func threadTime() (taken time.Duration, ok bool) { return 0, false }
