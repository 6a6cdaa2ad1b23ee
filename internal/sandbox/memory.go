package sandbox

import (
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/phases"
)

const pageSize = 64 << 10

// linearMemory is the memory of one instance. It reserves address space for the
// most that the module may have and asks the kernel for pages as the guest grows,
// so that memory never moves and a grown memory is never there twice. One
// goroutine uses it at a time; Free may be called again.
type linearMemory struct {
	region region
	size   uint64
	peak   uint64
	err    error
	keep   *keptMemory // where it goes when it is freed; nil gives it back

	image    *image // mapped over it; nil: none
	shrinkTo uint64 // size that the next Reallocate gives in place of the one asked for; 0: none
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
	if m.shrinkTo != 0 {
		size, m.shrinkTo = m.shrinkTo, 0
	}
	b, err := m.region.commit(m.size, size)
	if err != nil {
		m.err = err
		panic(hostMemoryFault(err))
	}
	m.size, m.peak = size, max(m.peak, size)
	return b
}

// adopt gives the memory, which has its size, the content of the image.
func (m *linearMemory) adopt(i *image) error {
	if err := i.mapOver(m.region.b); err != nil {
		return err
	}
	m.image = i
	return nil
}

// restore makes the memory what adopt has made it, and of is how the engine sees it. It returns how many bytes of it no
// other memory shares. After an error it must be freed.
func (m *linearMemory) restore(of api.Memory, pages *pagemap) (private int64, err error) {
	used := m.region.usable(m.size)
	if m.size != m.image.size {
		// The engine has no call to shrink a memory, but it takes what a call to grow gives it.
		m.shrinkTo = m.image.size
		if _, ok := of.Grow(1); !ok || uint64(of.Size()) != m.image.size {
			return 0, errShrink
		}
	}
	m.peak = m.size
	return m.image.restore(m.region.b[:used], pages)
}

// errShrink: a memory that is at its maximum cannot be grown, so neither can it be shrunk.
var errShrink = errors.New("a grown memory cannot be shrunk")

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() {
	if m.keep == nil || !m.keep.give(m.region, m.size) {
		m.region.release()
	}
	m.region, m.keep, m.image = region{}, nil, nil
}

func hostMemoryFault(err error) *phases.Fault {
	return phases.NewFault(phases.KindMemory, textHostMemory,
		&Detail{Reason: "host memory", Err: fmt.Errorf("host memory: %w", err)})
}
