package sandbox

import (
	"container/list"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
)

// pooledInstances uses instances again. The state that start and _initialize leave behind is taken once, from an
// instance in which nothing else has run; each pooled instance is put back to it after every run that ended by itself.
// It is for modules all of whose state is memory and number globals. What does not fit goes to fresh instances.
type pooledInstances struct {
	fresh   *freshInstances
	pool    *pool
	exports []meter.Global

	// The pool's mutex guards what follows.
	initializations int
	taking          bool          // a run is about to set the state
	state           *initialState // nil: none yet, or given back
	idle            []*instance   // in that state
	bytes           int64         // that the pool counts for this module
	used            time.Time
	place           *list.Element // in pool.warm, while there is a state
	closed          bool

	freeing sync.WaitGroup // evicted instances that are not freed yet
}

// acquire implements instances.
func (p *pooledInstances) acquire(ctx context.Context, inv *invocation) (*instance, error) {
	p.pool.mu.Lock()
	state := p.state
	if state == nil || inv == nil || !inv.fits(state) {
		p.pool.mu.Unlock()
		return p.fresh.acquire(ctx, inv)
	}
	if n := len(p.idle); n > 0 {
		inst := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.count(-inst.private - instanceBytes)
		p.pool.mu.Unlock()
		return inst, nil
	}
	state.users++
	p.pool.mu.Unlock()
	inst, err := p.instantiate(ctx, state)
	p.pool.mu.Lock()
	state.users--
	last := state.users == 0 && p.state != state
	p.pool.mu.Unlock()
	if last { // it was given back in the meantime, except for the image
		state.image.close()
	}
	if err != nil {
		// Whatever this was, start and _initialize can run instead.
		return p.fresh.acquire(ctx, inv)
	}
	return inst, nil
}

// instantiate makes an instance in the given state.
func (p *pooledInstances) instantiate(ctx context.Context, state *initialState) (*instance, error) {
	return p.fresh.instantiate(ctx, &allocator{limit: p.fresh.limit}, func(inst *instance) error {
		if size := uint64(inst.memory.Size()); size < state.image.size {
			inst.memory.Grow(uint32((state.image.size - size) / pageSize))
		}
		if inst.linear.size != state.image.size {
			return errShrink
		}
		if err := inst.linear.adopt(state.image); err != nil {
			return err
		}
		inst.initial = state
		inst.globals = p.globals(inst)
		inst.restoreGlobals()
		return nil
	})
}

func (p *pooledInstances) globals(inst *instance) []api.MutableGlobal {
	out := make([]api.MutableGlobal, len(p.exports))
	for i, g := range p.exports {
		out[i], _ = inst.module.ExportedGlobal(g.Export).(api.MutableGlobal) // the pass exports it as such
	}
	return out
}

// restoreGlobals writes the globals of the initial state.
func (i *instance) restoreGlobals() {
	for n, g := range i.globals {
		g.Set(i.initial.globals[n])
	}
	i.grew.Set(i.initial.grew)
}

// initialized implements instances. The first run of a module takes no state: processes that run a hook once should not
// pay for a second one.
func (p *pooledInstances) initialized(inv *invocation) {
	p.pool.mu.Lock()
	p.initializations++
	wanted := p.initializations > 1 && p.state == nil && !p.taking && !p.closed
	p.taking = p.taking || wanted
	p.pool.mu.Unlock()
	if !wanted {
		return
	}
	state := p.take(inv)
	now := time.Now()
	p.pool.mu.Lock()
	p.taking = false
	var out []evicted
	if state != nil {
		room := false
		if out, room = p.pool.admit(state.image.bytes, true, now); room {
			p.state, p.used = state, now
			p.place = p.pool.warm.PushFront(p)
			p.count(state.image.bytes)
			p.pool.arm()
		} else {
			out = append(out, evicted{of: p, image: state.image})
			p.freeing.Add(1)
		}
	}
	p.pool.mu.Unlock()
	freeAll(out)
}

// take makes the initial state from inv's instance; nil where there is none that others could use.
func (p *pooledInstances) take(inv *invocation) *initialState {
	size := inv.inst.memory.Size()
	if size == 0 || size > maxImageSize || p.pool.strategy() == ResetNone {
		return nil
	}
	globals := make([]uint64, len(p.exports))
	for i, g := range p.globals(inv.inst) {
		globals[i] = g.Get()
	}
	state := inv.afterInit(globals)
	if state == nil {
		return nil
	}
	content, ok := inv.inst.memory.Read(0, size)
	if !ok {
		return nil
	}
	var err error
	if state.image, err = newImage(content); err != nil {
		p.pool.log.Warn("sandbox: no image of a memory", slog.String("error", err.Error()))
		return nil
	}
	return state
}

// count changes what the pool counts for the module. Precondition: the pool's mutex is held.
func (p *pooledInstances) count(bytes int64) {
	p.bytes += bytes
	p.pool.bytes += bytes
}

// release implements instances.
func (p *pooledInstances) release(inst *instance, reusable bool, now time.Time) {
	if inst.initial == nil {
		p.fresh.release(inst, reusable, now)
		return
	}
	if !reusable || !p.restore(inst) {
		inst.free()
		return
	}
	bytes := inst.private + instanceBytes
	p.pool.mu.Lock()
	var out []evicted
	keep := p.state == inst.initial && len(p.idle) < maxIdleOfModule
	if keep {
		p.used = now
		p.pool.warm.MoveToFront(p.place) // so that it is not what gives way
		out, keep = p.pool.admit(bytes, false, now)
	}
	if keep {
		p.idle = append(p.idle, inst)
		p.count(bytes)
	}
	p.pool.mu.Unlock()
	freeAll(out)
	if !keep {
		inst.free()
	}
}

// restore puts an instance back to its initial state. False: it must not be used again.
func (p *pooledInstances) restore(inst *instance) bool {
	private, err := inst.linear.restore(inst.memory, p.pool.pages)
	if err != nil {
		return false
	}
	inst.restoreGlobals()
	inst.dropStacks()
	inst.private = private
	return true
}

// cool gives back all that waits for runs. Preconditions: the pool's mutex is held, there is a state; what is returned
// is freed.
func (p *pooledInstances) cool() evicted {
	out := evicted{of: p, idle: p.idle}
	if p.state.users == 0 {
		out.image = p.state.image
	}
	p.pool.warm.Remove(p.place)
	p.count(-p.bytes)
	p.state, p.idle, p.place = nil, nil, nil
	p.freeing.Add(1)
	return out
}

// close implements instances.
func (p *pooledInstances) close() {
	var out []evicted
	p.pool.mu.Lock()
	p.closed = true
	if p.state != nil {
		out = append(out, p.cool())
	}
	p.pool.arm()
	p.pool.mu.Unlock()
	freeAll(out)
	p.freeing.Wait()
	p.fresh.close()
}
