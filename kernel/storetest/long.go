package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A log of some thousand events is read like a short one: by pages, from both ends, and by what
// few events have. Batches are of many sizes, so that a store that keeps events of a batch
// together meets the ends of its pages anywhere.
func longLog(t *testing.T, s kernel.Store) {
	const length = 2500
	var want []phases.Event
	for size := 1; len(want) < length; size = size*3%101 + 1 {
		b := kernel.Batch{Now: T0}
		for range min(size, length-len(want)) {
			n := len(want) + 1
			e := event(fmt.Sprint("long-", n))
			e.Seq, e.Invocation, e.Tool, e.Reason = int64(n), fmt.Sprint("i-", n/4), "exec", fmt.Sprint("reason ", n)
			if n%500 == 0 {
				e.Tool = "rare"
			}
			b.Events, want = append(b.Events, e), append(want, e)
		}
		commit(t, s, b)
	}
	same := func(what string, got, want []phases.Event) {
		t.Helper()
		if !slices.EqualFunc(got, want, func(a, b phases.Event) bool {
			return a.Seq == b.Seq && a.ID == b.ID && a.Invocation == b.Invocation && a.Tool == b.Tool && a.Reason == b.Reason
		}) {
			t.Errorf("%s: %d events, want %d", what, len(got), len(want))
		}
	}
	read := func(q wire.Query) []phases.Event {
		t.Helper()
		es, err := s.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return es
	}
	var pages []phases.Event
	for page := read(wire.Query{Limit: 97}); len(page) > 0; {
		pages = append(pages, page...)
		page = read(wire.Query{After: page[len(page)-1].Seq, Limit: 97})
	}
	same("by pages", pages, want)
	pages = nil
	for page := read(wire.Query{Newest: true, Limit: 97}); len(page) > 0; {
		pages = append(slices.Clone(page), pages...)
		page = read(wire.Query{Newest: true, Before: page[0].Seq, Limit: 97})
	}
	same("from the end", pages, want)
	same("one invocation", read(wire.Query{Invocation: "i-300"}), want[1199:1203])
	var rare []phases.Event
	for n := 500; n <= length; n += 500 {
		rare = append(rare, want[n-1])
	}
	same("a rare tool", read(wire.Query{Tool: "rare"}), rare)
	same("the newest of a rare tool", read(wire.Query{Tool: "rare", Newest: true, Limit: 2}), rare[3:])
	same("one event", read(wire.Query{ID: "long-1777"}), want[1776:1777])
	if n := CheckLog(t, s); n != length {
		t.Errorf("%d leaves, want %d", n, length)
	}
}
