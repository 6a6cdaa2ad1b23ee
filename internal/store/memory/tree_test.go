package memory

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// batch holds events of these ids.
func batch(ids ...string) kernel.Batch {
	b := kernel.Batch{Now: time.Unix(1, 0)}
	for _, id := range ids {
		b.Events = append(b.Events, phases.Event{ID: id, Type: phases.EventNotice, Time: b.Now})
	}
	return b
}

func TestTheTreeIsThatOfTheLibrary(t *testing.T) {
	s := New()
	var want []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) { return pick(want, at) })
	for n := range 40 {
		b := batch()
		for i := range n%5 + 1 {
			b.Events = append(b.Events, batch(fmt.Sprint(n, "-", i)).Events...)
		}
		before := len(s.bodies)
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		for i, body := range s.bodies[before:] {
			hashes, err := tlog.StoredHashes(int64(before+i), body, read)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, hashes...)
		}
		if !slices.Equal(s.tree, want) {
			t.Fatalf("after %d events the tree is not that of tlog", len(s.bodies))
		}
	}
}

func TestABatchWhoseEventsShareAnIDIsRefused(t *testing.T) {
	for _, n := range []int{2, 17, 40} { // few are compared with each other, many are not
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint("e", i))
		}
		s := New()
		if _, err := s.Commit(t.Context(), batch(append(slices.Clone(ids[1:]), ids[n-1])...)); !errors.Is(err,
			kernel.ErrUnavailable) || len(s.bodies) != 0 || len(s.ids) != 0 {
			t.Errorf("%d events, the last two with one id: %v, and %d are stored", n, err, len(s.bodies))
		}
		if _, err := s.Commit(t.Context(), batch(ids...)); err != nil {
			t.Errorf("%d events of different ids: %v", n, err)
		}
	}
}

// A body is memory of its own: neither the next event nor the caller's values show in it.
func TestWhatIsStoredSharesNoMemory(t *testing.T) {
	s := New()
	small, large := []byte(`{"a":"small"}`), slices.Concat([]byte(`{"a":"`), slices.Repeat([]byte("x"), 9000), []byte(`"}`))
	b := batch("a", "b", "c")
	b.Events[0].Input, b.Events[1].Input, b.Events[2].Input = small, large, small
	if _, err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(s.bodies)
	for i := range before {
		before[i] = slices.Clone(before[i])
	}
	clear(small)
	clear(large)
	next := batch("d", "e")
	next.Events[0].Reason = "another event in the same buffer"
	if _, err := s.Commit(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if !slices.Equal(before[i], s.bodies[i]) {
			t.Errorf("event %d changed: %s", i, s.bodies[i])
		}
	}
	if s.event.ID != "" || s.event.Input != nil {
		t.Error("the store keeps an event that it has encoded")
	}
}
