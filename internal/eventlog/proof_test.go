package eventlog_test

import (
	"fmt"
	"testing"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Prove accepts only an event that is in the tree and whose contents are stored and unchanged.
func TestProofsThatAreNotMade(t *testing.T) {
	k := newKey(t, 1)
	l, _ := build(t, 5, k)
	short, _ := build(t, 5, k)
	short.size = 4
	changed, _ := build(t, 5, k)
	changed.leaves[2].Body = append(changed.leaves[2].Body, ' ')
	text, _ := build(t, 5, k)
	text.leaves[2].Body = []byte("{")
	text.replant(t)
	other, _ := build(t, 5, k)
	other.edit(t, 3, func(e *phases.Event) { e.Seq = 4 })
	gone, _ := compacted(t, k)
	for _, tc := range []struct {
		name  string
		log   kernel.Log
		seq   int64
		class error
		place string
	}{
		{"the first", l, 1, nil, ""},
		{"the last", l, 5, nil, ""},
		{"number 0", l, 0, eventlog.ErrProof, "there is no event 0"},
		{"number -1", l, -1, eventlog.ErrProof, "there is no event -1"},
		{"the next", l, 6, eventlog.ErrProof, "there is no event 6"},
		{"missing", cut(copyOf(l), 3), 3, eventlog.ErrProof, "there is no event 3"},
		{"not in the tree", short, 5, eventlog.ErrProof, "event 5 is not in the tree"},
		{"the last in the tree", short, 4, nil, ""},
		{"changed", changed, 3, eventlog.ErrProof, "event 3 is not in the log of the checkpoint"},
		{"no event", text, 3, eventlog.ErrProof, "the event is not number 3"},
		{"with another number", other, 3, eventlog.ErrProof, "the event is not number 3"},
		{"the first of those that are gone", gone, 1, eventlog.ErrCompacted,
			"events 1 to 4 were, as event 9 says; only hashes are left of them"},
		{"the last of those that are gone", gone, 4, eventlog.ErrCompacted,
			"events 1 to 4 were, as event 9 says; only hashes are left of them"},
		{"the first that is there", gone, 5, nil, ""},
		{"number 0 of a log of which events are gone", gone, 0, eventlog.ErrProof, "there is no event 0"},
	} {
		p, err := eventlog.Prove(t.Context(), tc.log, k, tc.seq, t0)
		if tc.class == nil {
			if err != nil || p.Seq != tc.seq {
				t.Errorf("%s: %+v, %v", tc.name, p, err)
			}
			continue
		}
		refused(t, tc.name, err, tc.class, tc.place)
		if p != nil {
			t.Errorf("%s: a proof is made", tc.name)
		}
	}
}

func copyOf(l *loose) *loose {
	c := *l
	return &c
}

// A proof that was changed proves nothing, and says why.
func TestProofsThatDoNotHold(t *testing.T) {
	k := newKey(t, 1)
	l, _ := build(t, 5, k)
	for _, tc := range []struct {
		name   string
		change func(*eventlog.Proof)
		place  string
	}{
		{"no checkpoint", func(p *eventlog.Proof) { p.Checkpoint = "" }, "malformed note"},
		{"number 0", func(p *eventlog.Proof) { p.Seq = 0 }, "the checkpoint does not cover event 0"},
		{"behind the last", func(p *eventlog.Proof) { p.Seq = 6 }, "the checkpoint does not cover event 6"},
		{"the number before", func(p *eventlog.Proof) { p.Seq = 1 }, "event 1 is not in the log of the checkpoint"},
		{"the number behind", func(p *eventlog.Proof) { p.Seq = 5 }, "event 5 is not in the log of the checkpoint"},
		{"no path", func(p *eventlog.Proof) { p.Path = nil }, "event 2 is not in the log of the checkpoint"},
	} {
		p, err := eventlog.Prove(t.Context(), l, k, 2, t0)
		if err != nil {
			t.Fatal(err)
		}
		tc.change(p)
		event, _, err := p.Check(k.Verifier())
		refused(t, tc.name, err, eventlog.ErrProof, tc.place)
		if event != nil {
			t.Errorf("%s: %s is proven", tc.name, event)
		}
	}
	for _, src := range []string{"", "{", `{"seq":1,"more":2}`, `{"seq":1,"seq":1}`, `{"seq":"1"}`} {
		p, err := eventlog.ParseProof([]byte(src))
		if p != nil {
			t.Errorf("%s: %+v", src, p)
		}
		refused(t, fmt.Sprintf("%q", src), err, eventlog.ErrProof, eventlog.ErrProof.Error()+": ")
	}
}
