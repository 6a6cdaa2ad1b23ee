package sandbox

import (
	"slices"
	"strconv"
	"sync"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
)

// Region is a stretch of a module's code that runs as a whole.
type Region = meter.Region

// Coverage says which regions of a module have been entered, by any of its runs
// since it was loaded, failed ones included. A region counts when it is
// entered: an instruction in it that traps ends the run, and the region still
// counts.
type Coverage struct {
	Regions []Region // in the order of the code
	Hit     []bool   // for each region
}

// Coverage returns what has run so far; nil when the module was not loaded with
// LoadOptions.Cover.
func (m *code) Coverage() *Coverage {
	if m.metered.Regions == nil {
		return nil
	}
	c := &Coverage{Regions: m.metered.Regions, Hit: make([]bool, len(m.metered.Regions))}
	bits := m.hits.get()
	for i := range c.Hit {
		c.Hit[i] = i/64 < len(bits) && bits[i/64]>>(i%64)&1 != 0
	}
	return c
}

// hits are the bits of all runs together.
type hits struct {
	mu   sync.Mutex
	bits []uint64
}

func (h *hits) take(inst *instance, regions int) {
	if regions == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bits == nil {
		h.bits = make([]uint64, (regions+63)/64)
	}
	for i := range h.bits {
		if g := inst.module.ExportedGlobal(meter.ExportCover + strconv.Itoa(i)); g != nil {
			h.bits[i] |= g.Get()
		}
	}
}

func (h *hits) get() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bits)
}
