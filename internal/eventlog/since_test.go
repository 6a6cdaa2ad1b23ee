package eventlog_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
)

// withMarks returns a log of 3,000 events with checkpoints after 1,000 and 2,500 of them, the first
// of which is also outside.
func withMarks(t *testing.T, k *eventlog.Key) (l *loose, outside []byte) {
	t.Helper()
	l, _ = build(t, 3000, k)
	for _, size := range []int64{1000, 2500} {
		root, err := eventlog.Root(t.Context(), l, size)
		if err != nil {
			t.Fatal(err)
		}
		note, err := k.Sign(eventlog.Checkpoint{Size: size, Root: root, Time: t0})
		if err != nil {
			t.Fatal(err)
		}
		l.notes = append(l.notes, note)
	}
	return l, l.notes[0]
}

// What lies behind the newest checkpoint is found, what lies before it is said not to be read, and a
// tree that is not the signed one is found in any case.
func TestSinceHead(t *testing.T) {
	k := newKey(t, 1)
	l, outside := withMarks(t, k)
	ev := eventlog.Evidence{Verifier: k.Verifier(), Outside: [][]byte{outside}, SinceHead: true}
	r, err := eventlog.Verify(t.Context(), l, ev)
	want := eventlog.Report{Events: 3000, Checkpoints: 1, Outside: 1, Covered: 1000, Uncovered: 2000, Unread: 2500,
		Restrictions: r.Restrictions}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	edit := func(l *loose, n int) {
		l.leaves[n].Body = bytes.Replace(l.leaves[n].Body, []byte("because"), []byte("Because"), 1)
	}
	for _, c := range []struct {
		name, want string
		change     func(l *loose)
	}{
		{"an event that is read", "event 2701 is not the one that was recorded", func(l *loose) { edit(l, 2700) }},
		{"an event that is not", "", func(l *loose) { edit(l, 2400) }},
		{"the same, with its tree", "events 1001 to 2500 are not those of the checkpoint",
			func(l *loose) { edit(l, 2400); l.replant(t) }},
		{"an event that is covered outside, with its tree", "events 1 to 1000 are not those of the checkpoint",
			func(l *loose) { edit(l, 40); l.replant(t) }},
		{"the tree", "the tree over events", func(l *loose) { l.tree[tlog.StoredHashIndex(1, 1400)][3] ^= 1 }},
		{"the end", "event 2400 is missing: a checkpoint", func(l *loose) { l.leaves = l.leaves[:2399]; l.replant(t) }},
		{"an event is gone", "event 2901 is missing",
			func(l *loose) { l.leaves = slices.Delete(l.leaves, 2900, 2901) }},
		{"no checkpoint", "", func(l *loose) { l.notes = nil }},
	} {
		l, outside := withMarks(t, k)
		c.change(l)
		ev.Outside = [][]byte{outside}
		r, err := eventlog.Verify(t.Context(), l, ev)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && r.Wrong != nil || c.want != "" && (r.Wrong == nil || !strings.Contains(r.Wrong.Text, c.want)):
			t.Errorf("%s: %+v, want %q", c.name, r.Wrong, c.want)
		case c.want == "" && r.Unread == 0:
			t.Errorf("%s: all is said to be read", c.name)
		}
	}
	l, _ = withMarks(t, k)
	l.notes = nil
	if r, err := eventlog.Verify(t.Context(), l, eventlog.Evidence{Verifier: k.Verifier(), SinceHead: true}); err != nil ||
		r.Unread != 0 || r.Wrong != nil {
		t.Errorf("without a checkpoint everything is read: %+v, %v", r, err)
	}
}

// The compaction that is announced by an event that is not read counts, if that event is the one of
// the tree.
func TestSinceHeadOfACompactedLog(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 20)
	if err := announce(t, s, k, 6, "gone"); err != nil {
		t.Fatal(err)
	}
	if left, err := s.LogRemove(t.Context(), 100); err != nil || left != 0 {
		t.Fatal(left, err)
	}
	verdicts(t, s, 5)
	_, note, err := eventlog.Mark(t.Context(), s, k, t0)
	if err != nil {
		t.Fatal(err)
	}
	verdicts(t, s, 3)
	ev := eventlog.Evidence{Verifier: k.Verifier(), Outside: [][]byte{note}, SinceHead: true}
	r, err := eventlog.Verify(t.Context(), s, ev)
	if err != nil || r.Wrong != nil || r.Compacted != 6 || r.Unread != 20 || r.Announced != 21 || r.Uncovered != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	eachFailure(t, s, func(t *testing.T, f *faulty) {
		r, err := eventlog.Verify(t.Context(), f, ev)
		if f.calls >= f.fails && err == nil && r.Wrong == nil {
			t.Errorf("call %d fails: the log verifies: %+v", f.fails, r)
		}
	})
	other := &bentAnnouncement{Store: s}
	if r, err := eventlog.Verify(t.Context(), other, ev); err != nil || r.Wrong == nil ||
		r.Wrong.Text != "event 21 is not the one that was recorded" {
		t.Errorf("%+v, %v", r, err)
	}
}

// bentAnnouncement shows another event 21.
type bentAnnouncement struct{ *memory.Store }

func (b *bentAnnouncement) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	leaves, err := b.Store.LogLeaves(ctx, after, limit)
	for i := range leaves {
		if leaves[i].Seq == 21 {
			leaves[i].Body = bytes.Replace(leaves[i].Body, []byte("gone"), []byte("Gone"), 1)
		}
	}
	return leaves, err
}
