package server

import (
	"testing"

	"github.com/belay-hooks/belay/kernel"
)

// A client that does not keep up loses invocations and is told how many; nobody
// waits for it, and nothing is wanted once nobody records.
func TestTapes(t *testing.T) {
	var tapes Tapes
	if tapes.Wants(nil) {
		t.Error("something is recorded that nobody asked for")
	}
	slow, fast := tapes.begin(), tapes.begin()
	if slow == nil || fast == nil || !tapes.Wants(nil) {
		t.Fatal("two clients cannot record")
	}
	if tapes.begin() != nil {
		t.Error("there is no end to clients")
	}
	for range tapeQueue + 3 {
		tapes.Recorded(&kernel.Recording{})
		<-fast.queue
	}
	if n, m := slow.dropped.Load(), fast.dropped.Load(); n != 3 || m != 0 {
		t.Errorf("dropped %d and %d", n, m)
	}
	tapes.end(slow)
	if !tapes.Wants(nil) {
		t.Error("the other one does not record any more")
	}
	tapes.end(fast)
	if tapes.Wants(nil) {
		t.Error("something is recorded for nobody")
	}
}

func TestSpan(t *testing.T) {
	for query, ok := range map[string]bool{
		"seconds=1&count=1": true, "seconds=86400&count=1000000": true, "": false, "seconds=1": false, "seconds=0&count=1": false, "seconds=86401&count=1": false,
		"seconds=1&count=1000001": false, "seconds=1&seconds=2&count=1": false, "seconds=1&count=1&x=1": false, "seconds=1h&count=1": false,
	} {
		if _, _, err := span(parameters(query, []string{"seconds", "count"})); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
	}
}
