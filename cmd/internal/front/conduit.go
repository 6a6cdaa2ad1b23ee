package front

import (
	"net"
	"sync"
)

// conduit is a listener whose connections another one has accepted. Safe for concurrent use.
type conduit struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}

	mu     sync.Mutex // so that nothing is handed over behind Close, which would be answered by no server
	closed bool
}

// newConduit returns a conduit in which at most so many connections wait to be accepted.
func newConduit(addr net.Addr, waiting int) *conduit {
	return &conduit{addr: addr, conns: make(chan net.Conn, waiting), done: make(chan struct{})}
}

// give hands a connection over, and reports whether there was a place for it. It never waits: a user whose connections
// are all taken keeps no other one's from being accepted.
func (c *conduit) give(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	select {
	case c.conns <- conn:
		return true
	default:
		return false
	}
}

// Accept implements net.Listener. After Close its error is net.ErrClosed.
func (c *conduit) Accept() (net.Conn, error) {
	select {
	case <-c.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener, and ends the connections that wait.
func (c *conduit) Close() error {
	for _, conn := range c.end() {
		_ = conn.Close()
	}
	return nil
}

// end is Close for one who answers the connections that wait.
func (c *conduit) end() (waiting []net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.done)
	}
	for {
		select {
		case conn := <-c.conns:
			waiting = append(waiting, conn)
		default:
			return waiting
		}
	}
}

// Addr implements net.Listener.
func (c *conduit) Addr() net.Addr { return c.addr }
