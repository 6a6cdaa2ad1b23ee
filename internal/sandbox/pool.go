package sandbox

import (
	"container/list"
	"log/slog"
	"sync"
	"time"
)

// Bounds of what an engine holds ready for runs to come. An idle instance is counted with the pages that it alone has
// and instanceBytes; an image with its pages that are not zero.
const (
	maxIdleOfModule = 8
	maxPoolBytes    = 64 << 20
	maxPoolModules  = 512 // each has a file open
	maxImageSize    = 64 << 20
	instanceBytes   = 32 << 10 // the engine's part of an instance, and a stack
	maxIdleTime     = 2 * time.Minute
	// minIdleTime is for how long a module that has had a run keeps its place when another has need of it: where more
	// modules take turns than there is room for, making images for all of them would cost more than fresh instances.
	minIdleTime = 10 * time.Second
)

// pool is what the modules of one engine share: the way to restore memories, and the account of what waits for runs.
// Its mutex guards the fields of pooledInstances, too.
type pool struct {
	log  *slog.Logger
	most Reset // at most this is done

	probe sync.Once
	reset Reset    // this is done
	pages *pagemap // nil: pages are dropped

	mu      sync.Mutex
	warm    list.List // of *pooledInstances that have an initial state; the last used are in front
	bytes   int64
	trimmer *time.Timer
	closed  bool
}

// strategy is how instances are restored, which it finds out the first time.
func (p *pool) strategy() Reset {
	p.probe.Do(func() {
		if p.most == ResetNone {
			return
		}
		found, pages, err := probeReset()
		if err != nil {
			p.log.Info("sandbox: "+found.String(), slog.String("reason", err.Error()))
		}
		if p.reset = min(p.most, found); p.reset < ResetCopy && pages != nil {
			pages.close()
			pages = nil
		}
		p.pages = pages
	})
	return p.reset
}

// admit makes room for so many bytes of a module that is warm or wants to be; false where there is none. The modules
// that have to give way are cold then: the caller frees what they give back. Precondition: mu is held.
func (p *pool) admit(bytes int64, module bool, now time.Time) (out []evicted, ok bool) {
	full := func() bool {
		return p.bytes+bytes > maxPoolBytes || module && p.warm.Len() >= maxPoolModules
	}
	for full() {
		last := p.warm.Back()
		if last == nil || now.Sub(last.Value.(*pooledInstances).used) < minIdleTime {
			return out, false
		}
		out = append(out, last.Value.(*pooledInstances).cool())
	}
	return out, true
}

// trim cools the modules that have had no run for long. It runs for as long as there are warm ones.
func (p *pool) trim() {
	now := time.Now()
	var out []evicted
	p.mu.Lock()
	for last := p.warm.Back(); last != nil; last = p.warm.Back() {
		m := last.Value.(*pooledInstances)
		if now.Sub(m.used) < maxIdleTime {
			break
		}
		out = append(out, m.cool())
	}
	p.trimmer = nil
	p.arm()
	p.mu.Unlock()
	freeAll(out)
}

// arm has trim run when there is something to look at. Precondition: mu is held.
func (p *pool) arm() {
	switch {
	case p.closed || p.warm.Len() == 0:
		if p.trimmer != nil {
			p.trimmer.Stop()
			p.trimmer = nil
		}
	case p.trimmer == nil:
		p.trimmer = time.AfterFunc(maxIdleTime/2, p.trim)
	}
}

// close ends the pool. Precondition: its modules are closed.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.arm()
	p.mu.Unlock()
	p.probe.Do(func() {}) // too late to find out
	if p.pages != nil {
		p.pages.close()
		p.pages = nil
	}
}

// evicted is what a module has to give back, to be freed without the pool's mutex.
type evicted struct {
	of    *pooledInstances
	idle  []*instance
	image *image // nil: still in use
}

func freeAll(out []evicted) {
	for _, e := range out {
		for _, inst := range e.idle {
			inst.free()
		}
		if e.image != nil {
			e.image.close()
		}
		e.of.freeing.Done()
	}
}
