package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/telemetry"
)

// busy is the server of a user.
type busy struct {
	waiting, refused int64
	conns            server.ConnCounts
	fails            bool
}

func (b *busy) Load() (waiting, refused int64) { return b.waiting, b.refused }
func (b *busy) Connections() server.ConnCounts { return b.conns }
func (b *busy) Pending(context.Context) (map[string]int, error) {
	if b.fails {
		return nil, errors.New("the store is away")
	}
	return map[string]int{"ask": 2}, nil
}

// The metrics of all users are those of one daemon. When a user's server ends, no counter goes back.
func TestLoadsAreOfAllUsers(t *testing.T) {
	var l loads
	one := &busy{waiting: 3, refused: 10, conns: server.ConnCounts{Open: 4, GaveWay: 5, Connections: 6, Descriptors: 7}}
	two := &busy{waiting: 1, refused: 1, conns: server.ConnCounts{Open: 1, GaveWay: 1}}
	check := func(waiting, refused int64, want telemetry.Connections, asks int) {
		t.Helper()
		w, r := l.queue()
		pending, err := l.approvals(t.Context())
		if got := l.connections(); w != waiting || r != refused || got != want || err != nil || pending["ask"] != asks {
			t.Errorf("%d waiting, %d refused, %+v, %v, %v", w, r, got, pending, err)
		}
	}
	check(0, 0, telemetry.Connections{}, 0)
	l.begin(one)
	l.begin(two)
	check(4, 11, telemetry.Connections{Open: 5, GaveWay: 6, AllTaken: 6, NoDescriptor: 7}, 4)
	two.fails = true
	check(4, 11, telemetry.Connections{Open: 5, GaveWay: 6, AllTaken: 6, NoDescriptor: 7}, 2)
	l.end(one)
	check(1, 11, telemetry.Connections{Open: 1, GaveWay: 6, AllTaken: 6, NoDescriptor: 7}, 0)
	l.begin(one) // anew, and none of it twice
	one.refused, one.conns = 0, server.ConnCounts{}
	check(4, 11, telemetry.Connections{Open: 1, GaveWay: 6, AllTaken: 6, NoDescriptor: 7}, 2)
}
