package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// spareProcs are how many goroutines may run beside one for each processor. One that Go's scheduler has taken off
	// waits behind others for up to 10 ms each, and a user's long question is one of those. With threads to spare, the
	// system's scheduler decides, which gives a thread that has just woken its turn sooner.
	spareProcs = 4
	// garbage is how much of the live heap may pile up before the collector begins, in percent. All users wait for the
	// collector, and the one who asks the most makes its work.
	garbage = 400
)

// shareRuntime sets Go's scheduler and collector up for users who know nothing of each other. What stands in the
// environment counts before. The returned function puts back what was.
func shareRuntime() (end func()) {
	procs, percent := 0, 0
	if os.Getenv("GOMAXPROCS") == "" {
		procs = runtime.GOMAXPROCS(runtime.NumCPU() + spareProcs)
	}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		percent = debug.SetGCPercent(garbage)
	}
	return func() {
		if procs > 0 {
			runtime.GOMAXPROCS(procs)
		}
		if percent > 0 {
			debug.SetGCPercent(percent)
		}
	}
}
