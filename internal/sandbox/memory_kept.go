package sandbox

import "sync"

// The memory that a module keeps for its next runs: to map and fault in the pages of a small instance takes longer
// than to clear them.
const (
	keptRegions = 2         // as many instances of one hook seldom run at once
	keptBytes   = 512 << 10 // of each; more is given back
)

// keptMemory is the memory of a module's instances between runs. All of it is zero. It is safe for concurrent use.
type keptMemory struct {
	mu      sync.Mutex
	regions []region
	closed  bool
}

// take returns a region whose bytes are zero, or false.
func (k *keptMemory) take() (region, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.regions) == 0 {
		return region{}, false
	}
	last := len(k.regions) - 1
	r := k.regions[last]
	k.regions = k.regions[:last]
	return r, true
}

// give clears a region of which the first used bytes may have been written, and keeps it; false where it is not kept.
func (k *keptMemory) give(r region, used uint64) bool {
	if used > keptBytes || !r.clear(used) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.regions) == keptRegions {
		return false
	}
	k.regions = append(k.regions, r)
	return true
}

// close gives all of it back; what comes later is not kept.
func (k *keptMemory) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, r := range k.regions {
		r.release()
	}
	k.regions = nil
}
