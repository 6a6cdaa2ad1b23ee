package sandbox

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// warmed loads a module that shares nothing with others and runs it until it has an initial state and one instance
// waits.
func warmed(t testing.TB, e *Engine, name string) (*Module, *pooledInstances) {
	t.Helper()
	e.mu.Lock()
	others := int64(len(e.modules))
	e.mu.Unlock()
	m, err := e.Load(t.Context(), guest(t, name), LoadOptions{MemoryCap: DefaultMemoryCap - others*pageSize})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runState(t, m, name, phases.PreTool)
	}
	if n, warm := idle(t, m); n != 1 || !warm {
		t.Fatalf("%d instances wait, warm: %v", n, warm)
	}
	return m, m.instances.(*pooledInstances)
}

// sum is what the pool counts, and whether that is the sum of what it should be.
func sum(t testing.TB, p *pool) int64 {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := int64(0)
	for el := p.warm.Front(); el != nil; el = el.Next() {
		m := el.Value.(*pooledInstances)
		bytes := m.state.image.bytes
		for _, inst := range m.idle {
			bytes += inst.private + instanceBytes
		}
		if bytes != m.bytes {
			t.Errorf("%d bytes are counted for a module, not %d", m.bytes, bytes)
		}
		all += bytes
	}
	if all != p.bytes {
		t.Errorf("%d bytes are counted, not %d", p.bytes, all)
	}
	return p.bytes
}

// A module has so many idle instances and no more; what an engine holds has a bound, and modules that had a run lately
// do not give way to others.
func TestPoolIsBounded(t *testing.T) {
	for _, reset := range resets(t)[1:] {
		e := open(t, Options{reset: &reset})
		first, p := warmed(t, e, "state")
		inv := newInvocation(t.Context(), first, &RunRequest{Phase: phases.PreTool,
			Session: session(t, phases.PreTool, lsAction)}, time.Now())
		var out []*instance
		for range maxIdleOfModule + 3 {
			inst, err := p.acquire(inv.callContext(), inv)
			if err != nil || inst.initial == nil {
				t.Fatal(inst, err)
			}
			out = append(out, inst)
		}
		for _, inst := range out {
			p.release(inst, true, time.Now())
		}
		if n, _ := idle(t, first); n != maxIdleOfModule {
			t.Errorf("%d instances wait, not %d", n, maxIdleOfModule)
		}
		held := sum(t, e.pool)
		if least := int64(maxIdleOfModule * instanceBytes); held <= least {
			t.Errorf("%d bytes are counted: no more than for instances without pages", held)
		}

		// No room, and no module gives way.
		add := func(bytes int64) {
			e.pool.mu.Lock()
			e.pool.bytes += bytes
			e.pool.mu.Unlock()
		}
		add(maxPoolBytes - held)
		second := load(t, e, guest(t, "guard"))
		for range 4 {
			run(t, second, RunRequest{Phase: phases.PreTool}, lsAction)
		}
		if _, warm := idle(t, second); warm {
			t.Error("more is held than there may be")
		}
		if n, _ := idle(t, first); n != maxIdleOfModule {
			t.Errorf("%d instances of a module that had a run lately still wait", n)
		}
		// Room again, by the first one's.
		e.pool.mu.Lock()
		p.used = p.used.Add(-minIdleTime)
		e.pool.mu.Unlock()
		for range 2 {
			run(t, second, RunRequest{Phase: phases.PreTool}, lsAction)
		}
		if n, warm := idle(t, second); n != 1 || !warm {
			t.Errorf("%d instances of the second wait, warm: %v", n, warm)
		}
		if n, warm := idle(t, first); n != 0 || warm {
			t.Errorf("%d instances of the first still wait, warm: %v", n, warm)
		}
		add(held - maxPoolBytes)
		sum(t, e.pool)
	}
}

// What waits for long is given back, and comes again with the next runs.
func TestIdleModulesAreTrimmed(t *testing.T) {
	for _, reset := range resets(t)[1:] {
		e := open(t, Options{reset: &reset})
		old, p := warmed(t, e, "state")
		young, _ := warmed(t, e, "state")
		e.pool.mu.Lock()
		armed := e.pool.trimmer != nil
		p.used = p.used.Add(-maxIdleTime)
		e.pool.warm.MoveToBack(p.place)
		e.pool.mu.Unlock()
		e.pool.trim()
		if n, warm := idle(t, old); n != 0 || warm || !armed {
			t.Errorf("%d instances still wait, warm: %v; a look at them was planned: %v", n, warm, armed)
		}
		if n, warm := idle(t, young); n != 1 || !warm {
			t.Errorf("%d instances of another module wait, warm: %v", n, warm)
		}
		sum(t, e.pool)
		for range 2 {
			runState(t, old, "state", phases.PreTool)
		}
		if n, warm := idle(t, old); n != 1 || !warm {
			t.Errorf("later %d instances wait, warm: %v", n, warm)
		}
		old.Close()
		young.Close()
		if held := sum(t, e.pool); held != 0 || e.pool.trimmer != nil {
			t.Errorf("%d bytes are counted for closed modules", held)
		}
	}
}
