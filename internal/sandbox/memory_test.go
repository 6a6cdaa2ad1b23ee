package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// When the host has no memory left the run ends: a guest that got -1 instead could
// behave in a way that depends on the machine.
func TestHostOutOfMemory(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		m := load(t, open(t, Options{Interpreter: interpreter}), guest(t, "hogs"))
		fresh := freshOf(m)
		for limit, called := range map[uint64]bool{4 << 20: true, pageSize / 2: false} {
			m.instances = newFreshInstances(fresh.runtime, fresh.code, limit)
			// This phase is content with -1, so that anything else shows.
			o := run(t, m, RunRequest{Phase: phases.StateTransition, Timeout: -1}, lsAction)
			if o.Kind != phases.KindMemory || o.Text != textHostMemory || o.Report.MemoryPeak > int64(limit) ||
				(o.Report.Fuel > 0) != called {
				t.Errorf("interpreter %v, %d bytes: %q %q %q %+v", interpreter, limit, o.Kind, o.Text, o.Cause, o.Report)
			}
		}
		m.instances = fresh
		if o := run(t, m, RunRequest{Phase: phases.StateTransition, Timeout: -1}, lsAction); o.Kind != "" {
			t.Errorf("afterwards: %q %s", o.Kind, o.Cause)
		}
	}
}

func TestLinearMemory(t *testing.T) {
	a := &allocator{limit: 1 << 20}
	m := a.Allocate(0, 1<<30).(*linearMemory)
	first := m.Reallocate(pageSize)
	first[pageSize-1] = 7
	grown := m.Reallocate(1 << 20)
	if len(grown) != 1<<20 || cap(grown) != 1<<20 || grown[pageSize-1] != 7 || grown[1<<20-1] != 0 ||
		&grown[0] != &first[0] {
		t.Error("growing moved or lost memory")
	}
	if m.peak != 1<<20 {
		t.Error(m.peak)
	}
	func() {
		defer func() {
			f := phases.FaultOf(recover().(error))
			var d *Detail
			if f == nil || f.Kind != phases.KindMemory || !errors.As(f, &d) || !strings.Contains(d.Err.Error(), "reserved") {
				t.Error(f)
			}
		}()
		m.Reallocate(1<<20 + pageSize)
	}()
	m.Free()
	m.Free()
	if none := (&allocator{}).Allocate(0, 0); len(none.Reallocate(0)) != 0 {
		t.Error("an empty memory is not empty")
	} else {
		none.Free()
	}
}
