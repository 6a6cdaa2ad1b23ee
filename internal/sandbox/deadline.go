package sandbox

import (
	"context"
	"sync"
	"time"
)

// deadlineContext is a context with a deadline whose timer starts with the first look at Done: most handlers never
// wait, and a timer for each turn costs more than they do. It is safe for concurrent use.
type deadlineContext struct {
	context.Context // the parent
	at              time.Time

	mu     sync.Mutex
	timed  context.Context // made by Done
	cancel context.CancelFunc
	ended  bool
}

// Deadline implements context.Context.
func (c *deadlineContext) Deadline() (time.Time, bool) {
	if at, ok := c.Context.Deadline(); ok && at.Before(c.at) {
		return at, true
	}
	return c.at, true
}

// Done implements context.Context.
func (c *deadlineContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		c.timed, c.cancel = context.WithDeadline(c.Context, c.at)
		if c.ended {
			c.cancel()
		}
	}
	return c.timed.Done()
}

// Err implements context.Context.
func (c *deadlineContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed != nil {
		return c.timed.Err()
	}
	switch err := c.Context.Err(); {
	case err != nil:
		return err
	case c.ended:
		return context.Canceled
	case !time.Now().Before(c.at):
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context. The package context asks by it for the cancel function behind Done.
func (c *deadlineContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed != nil {
		return c.timed.Value(key)
	}
	return c.Context.Value(key)
}

// end gives the timer back; what still looks at the context finds it canceled.
func (c *deadlineContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = true; c.cancel != nil {
		c.cancel()
	}
}
