package cli

import (
	"os"
	"runtime/debug"
)

// evalHeap is how much memory one eval may use before it collects garbage, in bytes.
const evalHeap = 128 << 20

// collectLate has a process that answers once and ends collect no garbage, up to evalHeap: it would mark what the end
// of the process frees. What an operator sets for Go's collector stays.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(evalHeap)
}
