package sandbox

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
)

// CostTable is the version of the fuel table that modules are metered with.
const CostTable = meter.CostTable

// Module is a loaded module. It is safe for concurrent use: runs share nothing
// but code.
type Module struct {
	*code

	// runs counts runs under way, and from closedRuns on once the module is closed: each run looks at it twice, and a
	// mutex there would be as much as the rest of the host's accounts.
	runs atomic.Int64

	// mu guards what follows. idle is signalled when the last run of a closed module has ended.
	mu     sync.Mutex
	idle   sync.Cond
	closed bool
	gone   bool // from the engine
}

// closedRuns is what Module.runs stands at when the module is closed and no run is under way.
const closedRuns = math.MinInt64 / 2

func newModule(c *code) *Module {
	m := &Module{code: c}
	m.idle.L = &m.mu
	return m
}

// Info returns the description of the module. Callers do not change its slices.
func (m *Module) Info() Info { return m.info }

// Close unloads the module when the runs under way have ended. Later runs fail.
func (m *Module) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		m.runs.Add(closedRuns)
	}
	for m.runs.Load() != closedRuns {
		m.idle.Wait()
	}
	if m.gone {
		return
	}
	m.gone = true
	m.engine.remove(m)
}

// enter counts a run in; false when the module is closed.
func (m *Module) enter() bool {
	if m.runs.Add(1) > 0 {
		return true
	}
	m.leave()
	return false
}

func (m *Module) leave() {
	if m.runs.Add(-1) == closedRuns {
		m.mu.Lock() // between Close's look and its wait there is no signal
		defer m.mu.Unlock()
		m.idle.Broadcast()
	}
}
