package alone

import (
	"os"
	"runtime/debug"
)

// evalHeap is how much memory one eval may use before it collects garbage, in bytes.
const evalHeap = 128 << 20

// CollectLate has a process that answers once and ends collect no garbage, up to 128 MiB: it would mark what the end
// of the process frees. What an operator sets for Go's collector stays.
func CollectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(evalHeap)
}
