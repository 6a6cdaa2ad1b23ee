package pgtest

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Proxy stands between stores and the server, on a socket of its own, and cuts connections.
type Proxy struct {
	listener net.Listener
	dir      string

	mu     sync.Mutex
	server string
	pairs  map[net.Conn]net.Conn
	down   bool
	// drop decides about what the server sends: true drops it and cuts the connection; nil drops nothing
	drop   func(fromServer []byte) bool
	silent chan struct{} // what the server says waits until it is closed; nil: nothing waits
}

// NewProxy starts a proxy for the tests' server.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	u, err := url.Parse(DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	const name = ".s.PGSQL.5432"
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: filepath.Join(u.Query().Get("host"), name), dir: dir, pairs: map[net.Conn]net.Conn{}}
	t.Cleanup(func() { l.Close(); p.Silence(false); p.Cut() })
	go p.accept()
	return p
}

// DSN returns the address of the server through the proxy.
func (p *Proxy) DSN(t testing.TB) string { return p.Through(t, DSN(t)) }

// Through returns a DSN of the server that goes through the proxy.
func (p *Proxy) Through(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = url.Values{"host": {p.dir}}.Encode()
	return u.String()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		server := p.server
		p.mu.Unlock()
		s, err := net.Dial("unix", server)
		p.mu.Lock()
		if err != nil || p.down {
			p.mu.Unlock()
			c.Close()
			if s != nil {
				s.Close()
			}
			continue
		}
		p.pairs[c] = s
		p.mu.Unlock()
		go p.copy(s, c, false)
		go p.copy(c, s, true)
	}
}

// copy moves bytes until one side ends; then both do.
func (p *Proxy) copy(to, from net.Conn, fromServer bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			p.mu.Lock()
			drop, silent := p.drop, p.silent
			p.mu.Unlock()
			if fromServer && silent != nil {
				<-silent
			}
			if fromServer && drop != nil && drop(b[:n]) {
				err = io.EOF
			} else if _, werr := to.Write(b[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// Cut ends all connections at once.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, s := range p.pairs {
		c.Close()
		s.Close()
		delete(p.pairs, c)
	}
}

// Down refuses connections from now on, or serves again.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.Cut()
	}
}

// Drop has f decide which answers of the server are lost, with their connection. nil: none.
func (p *Proxy) Drop(f func(fromServer []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = f
}

// Silence holds back what the server says from now on, as a network does that has gone, or lets it through again.
func (p *Proxy) Silence(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent != nil {
		close(p.silent)
	}
	if p.silent = nil; silent {
		p.silent = make(chan struct{})
	}
}

// lead has new connections go to another server.
func (p *Proxy) lead(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}
