package front

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// marked is a connection that counts how often it was closed.
type marked struct {
	net.Conn
	closed *atomic.Int64
}

func (m marked) Close() error { m.closed.Add(1); return nil }

// A connection that is handed over while the server ends is refused, accepted or closed: it never waits for an answer
// that no server gives.
func TestNothingStaysInAConduit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16)) // so that more threads meet than there are processors
	for range 20_000 {
		c := newConduit(nil, 2)
		var all sync.WaitGroup
		var taken, closed atomic.Int64
		for range 8 {
			all.Go(func() {
				for range 4 {
					if c.give(marked{closed: &closed}) {
						taken.Add(1)
					}
				}
			})
		}
		all.Go(func() {
			if conn, err := c.Accept(); err == nil {
				_ = conn.Close()
			}
			_ = c.Close()
		})
		all.Wait()
		if taken.Load() != closed.Load() {
			t.Fatalf("%d were taken, and %d closed", taken.Load(), closed.Load())
		}
	}
	c := newConduit(nil, 1)
	_ = c.Close()
	if c.give(marked{}) {
		t.Error("a closed conduit takes a connection")
	}
}
