package sqlite

import (
	"context"
	"errors"
	"sync"
)

// maxReaders is how many connections that only read there are at most.
const maxReaders = 4

// readers are the connections that only read. The one that was used last is lent first: what it
// holds of the database is the most likely to be what the database is, and a process that reads
// one thing at a time needs one.
type readers struct {
	turns chan struct{} // one for each connection that may be lent

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func newReaders() readers {
	turns := make(chan struct{}, maxReaders)
	for range maxReaders {
		turns <- struct{}{}
	}
	return readers{turns: turns}
}

// take lends a connection until put; nil: the caller opens one. It waits for one that is lent.
func (r *readers) take(ctx context.Context) (*conn, error) {
	select {
	case <-r.turns:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.turns <- struct{}{} // the next one that waits finds it closed, too
		return nil, errClosed
	}
	last := len(r.idle) - 1
	if last < 0 {
		return nil, nil
	}
	c := r.idle[last]
	r.idle[last], r.idle = nil, r.idle[:last]
	return c, nil
}

// put takes back what take has lent; nil: it is closed already.
func (r *readers) put(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c == nil:
	case r.closed:
		c.close()
	default:
		r.idle = append(r.idle, c)
	}
	r.turns <- struct{}{} // never waits: as many places as connections
}

// close closes the connections, and those that are lent when they come back.
func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.close())
	}
	r.idle = nil
	return errors.Join(errs...)
}
