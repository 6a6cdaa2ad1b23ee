package pgtest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Pair is a server of a test's own with a replica, which does not wait for it.
type Pair struct {
	t       testing.TB
	replica *Server
	lags    bool
}

// NewPair starts both. The options are those of a kernel in a new schema, through the proxy, which leads to the first.
func NewPair(t testing.TB, kernel string) (*Pair, *Proxy, postgres.Options) {
	t.Helper()
	DSN(t)
	control := strings.Fields(os.Getenv(controlVariable))
	if len(control) != 2 {
		t.Skip("it needs servers that it may start and stop: run `make test-postgres`")
	}
	s := &Server{command: control[0], of: control[1] + ".pair", dir: control[1] + ".pair.replica"}
	for _, dir := range []string{s.of, s.dir} {
		t.Cleanup(func() {
			s.run(t, "stop", dir)
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
	s.run(t, "start", s.of)
	u, err := url.Parse(DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	p := NewProxy(t)
	p.lead(filepath.Join(s.of, filepath.Base(p.server)))
	u.RawQuery = url.Values{"host": {s.of}}.Encode()
	o := postgres.Options{DSN: u.String(), Kernel: kernel, TLS: postgres.Off, AnyRole: true}
	if _, err := postgres.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.run(t, "replica", s.dir, s.of)
	o.DSN = p.DSN(t)
	return &Pair{t: t, replica: s}, p, o
}

// Lag has the replica receive nothing from now on.
func (p *Pair) Lag() {
	p.t.Helper()
	p.replica.run(p.t, "stop", p.replica.dir)
	p.lags = true
}

// Fail ends the first server, as a crash does where the replica lags, and has the replica take over behind the proxy.
func (p *Pair) Fail(proxy *Proxy) {
	p.t.Helper()
	proxy.Down(true)
	s := p.replica
	if p.lags {
		s.run(p.t, "kill", s.of)
		s.run(p.t, "start", s.dir)
	} else {
		s.run(p.t, "stop", s.of) // which waits for the replica
	}
	s.run(p.t, "promote", s.dir)
	proxy.lead(filepath.Join(s.dir, filepath.Base(proxy.server)))
	proxy.Down(false)
}
