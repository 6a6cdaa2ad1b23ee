package kernel

import (
	"context"
	"sync"
	"time"
)

// patience is context.WithTimeout(context.WithoutCancel(ctx), limit) for work that hardly ever waits: a timer and a
// channel are made when they are asked for.
type patience struct {
	values context.Context
	until  time.Time

	mu    sync.Mutex
	err   error         // why it has ended; nil: it has not
	done  chan struct{} // nil: not asked for yet
	timer *time.Timer   // that closes done
}

func newPatience(ctx context.Context, limit time.Duration) *patience {
	return &patience{values: ctx, until: time.Now().Add(limit)}
}

// Deadline implements context.Context.
func (p *patience) Deadline() (time.Time, bool) { return p.until, true }

// Value implements context.Context. Nothing of the values ends it: what package context looks for in them is hidden.
func (p *patience) Value(key any) any { return context.WithoutCancel(p.values).Value(key) }

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		return p.done
	}
	p.done = make(chan struct{})
	p.look()
	if p.err != nil {
		close(p.done)
	} else {
		p.timer = time.AfterFunc(time.Until(p.until), func() { p.end(context.DeadlineExceeded) })
	}
	return p.done
}

// Err implements context.Context.
func (p *patience) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look()
	return p.err
}

// look ends it where its time is over. The caller holds the lock.
func (p *patience) look() {
	if p.err != nil || time.Now().Before(p.until) {
		return
	}
	p.err = context.DeadlineExceeded
	if p.timer != nil {
		p.timer.Stop()
		close(p.done)
	}
}

// end ends it, unless it has ended.
func (p *patience) end(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = why
	if p.timer != nil { // done is open
		p.timer.Stop()
		close(p.done)
	}
}

var _ context.Context = (*patience)(nil)
