package sandbox

import (
	"sync"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
)

// CostTable is the version of the fuel table that modules are metered with.
const CostTable = meter.CostTable

// Module is a loaded module. It is safe for concurrent use: runs share nothing
// but code.
type Module struct {
	*code

	// mu guards what follows. runs counts runs under way; idle is signalled when it
	// falls to zero.
	mu     sync.Mutex
	idle   sync.Cond
	runs   int
	closed bool
	gone   bool // from the engine
}

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
	for m.runs > 0 {
		m.closed = true
		m.idle.Wait()
	}
	if m.closed = true; m.gone {
		return
	}
	m.gone = true
	m.engine.remove(m)
}

// enter counts a run in; false when the module is closed.
func (m *Module) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.runs++
	return true
}

func (m *Module) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs--; m.runs == 0 {
		m.idle.Broadcast()
	}
}
