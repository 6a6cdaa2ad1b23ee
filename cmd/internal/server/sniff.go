package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// tlsRecord is the first byte of a TLS handshake; no method of HTTP begins with it.
const tlsRecord = 0x16

// eitherListener is a listener whose connections speak TLS or plain HTTP, as their first
// byte says. Nothing is read while a connection is accepted.
type eitherListener struct {
	net.Listener
	config *tls.Config
}

func (l *eitherListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &eitherConn{Conn: c, config: l.config}, nil
}

// eitherConn looks at its first byte when it is read for the first time, within the
// deadline that was set for that. Deadlines and addresses are those of the connection.
type eitherConn struct {
	net.Conn
	config *tls.Config
	first  sync.Once
	err    error
	inner  atomic.Pointer[net.Conn] // set after the first byte
	secure atomic.Bool
}

func (c *eitherConn) Read(data []byte) (int, error) {
	c.first.Do(func() {
		var b [1]byte
		if _, c.err = io.ReadFull(c.Conn, b[:]); c.err != nil {
			return
		}
		var inner net.Conn = &unread{Conn: c.Conn, byte: b[0], waiting: true}
		if b[0] == tlsRecord {
			inner = tls.Server(inner, c.config)
			c.secure.Store(true)
		}
		c.inner.Store(&inner)
	})
	if c.err != nil {
		return 0, c.err
	}
	return (*c.inner.Load()).Read(data)
}

// Write fails before the first byte has come: how to answer is not known then.
func (c *eitherConn) Write(p []byte) (int, error) {
	inner := c.inner.Load()
	if inner == nil {
		return 0, errors.New("nothing was asked on this connection")
	}
	return (*inner).Write(p)
}

func (c *eitherConn) Close() error {
	if inner := c.inner.Load(); inner != nil {
		return (*inner).Close()
	}
	return c.Conn.Close()
}

// unread gives a byte that was looked at once more.
type unread struct {
	net.Conn
	byte    byte
	waiting bool
}

func (u *unread) Read(p []byte) (int, error) {
	if u.waiting && len(p) > 0 {
		u.waiting = false
		p[0] = u.byte
		return 1, nil
	}
	return u.Conn.Read(p)
}
