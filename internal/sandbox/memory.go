package sandbox

import (
	"fmt"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/phases"
)

const pageSize = 64 << 10

// linearMemory is the memory of one instance. It reserves address space for the
// most that the module may have and asks the kernel for pages as the guest grows,
// so that memory never moves and a grown memory is never there twice. One
// goroutine uses it at a time; free may be called again.
type linearMemory struct {
	region region
	size   uint64
	peak   uint64
	err    error
	keep   *keptMemory // where it goes when it is freed; nil gives it back
}

// allocator hands out the memory of one instantiation and remembers it, since an
// instantiation that fails does not give it back.
type allocator struct {
	limit uint64
	kept  *keptMemory // of instances of the same module; may be nil
	last  *linearMemory
}

// Allocate implements experimental.MemoryAllocator. Failures end the run by a
// panic: a guest must not be able to tell a host that is short of memory from
// one that enforces the cap, or its behaviour would depend on the machine.
func (a *allocator) Allocate(_, most uint64) experimental.LinearMemory {
	m := &linearMemory{}
	kept := false
	if a.kept != nil {
		m.region, kept = a.kept.take()
	}
	if !kept {
		if m.region, m.err = reserve(min(most, a.limit)); m.err != nil {
			panic(hostMemoryFault(m.err))
		}
	}
	a.last = m
	return m
}

// Reallocate implements experimental.LinearMemory.
func (m *linearMemory) Reallocate(size uint64) []byte {
	b, err := m.region.commit(m.size, size)
	if err != nil {
		m.err = err
		panic(hostMemoryFault(err))
	}
	m.size, m.peak = size, max(m.peak, size)
	return b
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() {
	if m.keep == nil || !m.keep.give(m.region, m.size) {
		m.region.release()
	}
	m.region, m.keep = region{}, nil
}

func hostMemoryFault(err error) *phases.Fault {
	return phases.NewFault(phases.KindMemory, textHostMemory,
		&Detail{Reason: "host memory", Err: fmt.Errorf("host memory: %w", err)})
}
