package server

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// When there are too many connections, or the system has no descriptors left, the oldest
// one that idles gives way to a new one. One on which something was asked never does.

// unasked is how old a connection is on which nothing was asked yet before it counts as idle.
const unasked = time.Second

// How long Accept waits before it tries again for a descriptor.
const (
	firstWait = 5 * time.Millisecond
	mostWait  = time.Second
)

// want says what there was too little of.
type want string

const (
	wantsPlace      want = "connections"
	wantsDescriptor want = "descriptors"
)

// ConnCounts are what a listener has seen since it was made.
type ConnCounts struct {
	Open        int       // connections now
	GaveWay     int64     // idle connections that were ended for new ones
	Connections int64     // new connections that found all taken
	Descriptors int64     // attempts to accept one for which the system had no descriptor or memory
	Last        time.Time // of the last of those; zero: never
}

// limitedListener bounds the open connections of another one. A connection that finds all taken,
// and none idle, waits until one is; later ones wait in the system's queue. It survives
// errors of a system without descriptors. Safe for concurrent use; Accept is called by one
// goroutine. Its connections have to be given to connState.
type limitedListener struct {
	net.Listener
	most int
	warn func(want, error)
	pace chan struct{} // of reads of bodies, see limitedConn.Read; nil: they have none

	mu     sync.Mutex
	change sync.Cond // of what follows
	conns  map[*limitedConn]bool
	counts ConnCounts
	gone   time.Time // when the last connection that ended did
	closed chan struct{}
	ended  bool
}

// newLimited returns a listener with at most so many connections, at least 1. warn is called by
// Accept for each connection or attempt that met a bound; the error is the system's.
func newLimited(l net.Listener, most int, warn func(want, error)) *limitedListener {
	out := &limitedListener{Listener: l, most: max(1, most), warn: warn, conns: map[*limitedConn]bool{},
		closed: make(chan struct{})}
	out.change.L = &out.mu
	return out
}

// Accept waits for a connection. The errors of the other listener that are not a want of
// descriptors or memory are its errors.
func (l *limitedListener) Accept() (net.Conn, error) {
	wait := firstWait
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			return l.admit(c)
		case !exhausted(err):
			return nil, err
		}
		l.mu.Lock()
		l.counts.Descriptors++
		l.counts.Last = time.Now()
		l.evict(time.Now())
		l.mu.Unlock()
		l.warn(wantsDescriptor, err)
		select {
		case <-time.After(wait):
		case <-l.closed:
			return nil, net.ErrClosed
		}
		wait = min(2*wait, mostWait)
	}
}

func (l *limitedListener) admit(conn net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= l.most {
		l.counts.Connections++
		l.counts.Last = time.Now()
		l.mu.Unlock()
		l.warn(wantsPlace, nil)
		l.mu.Lock()
	}
	for len(l.conns) >= l.most && !l.ended {
		if l.evict(time.Now()) {
			continue
		}
		again := time.AfterFunc(unasked/4, l.change.Broadcast) // those without a question grow older
		l.change.Wait()
		again.Stop()
	}
	if l.ended {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	out := &limitedConn{Conn: conn, of: l, since: time.Now()}
	l.conns[out] = true
	return out, nil
}

// evict ends the connection that has idled the longest, and reports whether there was one.
// One that a person's or a program's client keeps for later comes before one on which
// nothing was asked yet. Preconditions: l.mu is held.
func (l *limitedListener) evict(now time.Time) bool {
	var oldest *limitedConn
	for c := range l.conns {
		if c.busy || !c.asked && now.Sub(c.since) < unasked {
			continue
		}
		if oldest == nil || c.asked && !oldest.asked || c.asked == oldest.asked && c.since.Before(oldest.since) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	delete(l.conns, oldest)
	l.counts.GaveWay++
	_ = oldest.Conn.Close()
	return true
}

// connState is for http.Server.ConnState: it tells which connections idle.
func connState(c net.Conn, s http.ConnState) {
	if of, ok := c.(*limitedConn); ok {
		of.state(s)
	}
}

// Close ends the listener, not its connections.
func (l *limitedListener) Close() error {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.closed)
	}
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// counted says what the listener has seen.
func (l *limitedListener) counted() ConnCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.counts
	out.Open = len(l.conns)
	return out
}

// quietSince says how many connections are open, and when the last one ended that did.
func (l *limitedListener) quietSince() (open int, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns), l.gone
}

// limitedConn is a connection that a limitedListener has accepted.
type limitedConn struct {
	net.Conn
	of *limitedListener

	// Of of.mu.
	busy  bool
	asked bool      // something was
	since time.Time // when it began to idle
}

func (c *limitedConn) state(s http.ConnState) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch s {
	case http.StateActive:
		c.busy, c.asked = true, true
	case http.StateIdle:
		c.busy, c.since = false, time.Now()
		c.of.change.Broadcast()
	case http.StateHijacked:
		c.busy = true
	}
}

// inner returns the connection of the other listener.
func (c *limitedConn) inner() net.Conn { return c.Conn }

// Close ends the connection.
func (c *limitedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.gone = time.Now()
	c.of.change.Broadcast()
	c.of.mu.Unlock()
	return c.Conn.Close()
}
