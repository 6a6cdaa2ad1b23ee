package front

import (
	"context"
	"time"
)

// restLook is how long Rest waits for connections that were handed over just before to be seen by the server.
const restLook = 100 * time.Millisecond

// Rest closes the server of a user who has had no connection for so long. What it has is durable, and the next
// connection opens it again. One that comes meanwhile waits, and is refused no sooner than any other.
func (f *Front) Rest(ctx context.Context, uid int, least time.Duration) {
	t := f.pause(uid, least)
	if t == nil {
		return
	}
	select {
	case <-time.After(restLook):
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() == nil && t.why == nil && t.quiet(least) {
		t.drop() // admit hands over what waits once it has ended
		return
	}
	t.resting = false
	if c := f.callers[uid]; c != nil && c.tenant == t {
		f.resume(ctx, c)
	}
}

// pause has the connections of a user wait whose server has been quiet for so long; nil: it has not.
func (f *Front) pause(uid int, least time.Duration) *tenant {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.callers[uid]
	if f.ending || least <= 0 || c == nil || c.looking || len(c.waiting) > 0 || c.tenant == nil || c.tenant.why != nil ||
		c.tenant.resting ||
		!c.tenant.quiet(least) {
		return nil
	}
	c.tenant.resting = true
	return c.tenant
}

// quiet reports whether no connection is open or handed over, and none has been for so long. Preconditions: the
// front's mutex is held.
func (t *tenant) quiet(least time.Duration) bool {
	return t.server != nil && len(t.http.conns)+len(t.frames.conns) == 0 && t.server.Quiet() >= least
}

// resume goes on with the connections that have waited for a server that rests. Preconditions: f.mu is held.
func (f *Front) resume(ctx context.Context, c *caller) {
	if len(c.waiting) == 0 {
		return
	}
	config, err := f.o.Config()
	if err == nil && !f.ending {
		f.look(ctx, c, config)
		return
	}
	waiting := c.waiting
	c.waiting = nil
	for _, in := range waiting {
		f.refusals.refuse(in.conn, in.framed, c.uid, because(CodeStopping, "belay is being stopped"))
	}
}
