package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Events can be large, and many of them more than one answer holds.
func TestManyLargeEvents(t *testing.T) {
	d := startDaemon(t)
	c := dial(t, d.dir)
	const many = 80
	for range many {
		v, err := c.Invoke(t.Context(), invocation("s", strings.Repeat("x", 950<<10)))
		if err != nil || v.Decision != phases.Allow {
			t.Fatalf("%s %v", v.Decision, err)
		}
	}
	for _, newest := range []bool{false, true} {
		list, err := c.Events(t.Context(), wire.Query{Limit: many - 5, Type: phases.EventVerdict, Newest: newest})
		if err != nil || len(list) != many-5 {
			t.Fatalf("%d events, %v", len(list), err)
		}
		size, last := 0, list[0].Seq-1
		for _, e := range list {
			if size += len(e.Input) + len(e.Output); e.Seq <= last {
				t.Fatalf("event %d after %d", e.Seq, last)
			}
			last = e.Seq
		}
		if oldest := list[0].Seq == 1; size < 64<<20 || oldest == newest {
			t.Errorf("newest %v: %d bytes from event %d on", newest, size, list[0].Seq)
		}
	}
	_, body := d.do(t, call{method: "GET", path: "/v1/events?limit=10000", header: bearer(d.token(t, client.RoleReview))})
	if len(body) > 48<<20 || !strings.HasSuffix(strings.TrimSpace(body), `"more":true}`) {
		t.Errorf("one answer of %d bytes", len(body))
	}
	seen, done := 0, errors.New("all are there")
	if err := c.Follow(t.Context(), wire.Query{Type: phases.EventVerdict}, func(phases.Event) error {
		if seen++; seen == many {
			return done
		}
		return nil
	}); !errors.Is(err, done) {
		t.Errorf("%d followed, %v", seen, err)
	}
}
