package storetest

import (
	"errors"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// CheckLog recomputes the tree from the stored events and compares every hash; it
// returns the number of leaves.
func CheckLog(t *testing.T, store kernel.Store) int64 {
	t.Helper()
	size, err := store.LogSize(t.Context())
	if err != nil {
		t.Fatalf("LogSize: %v", err)
	}
	var tree []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = tree[x]
		}
		return out, nil
	})
	var n int64
	done, err := store.LogCompacted(t.Context())
	if err != nil {
		t.Fatalf("LogCompacted: %v", err)
	}
	for ; n < done.Through-done.Left; n++ { // of these only the hashes are left
		leaf, err := store.LogHashes(t.Context(), []int64{tlog.StoredHashIndex(0, n)})
		if err != nil {
			t.Fatalf("the hash of event %d, which was removed: %v", n+1, err)
		}
		h, err := tlog.StoredHashesForRecordHash(n, leaf[0], read)
		if err != nil {
			t.Fatal(err)
		}
		tree = append(tree, h...)
	}
	for n < size {
		leaves, err := store.LogLeaves(t.Context(), n, 100)
		if err != nil || len(leaves) == 0 {
			t.Fatalf("LogLeaves after %d: %d, %v", n, len(leaves), err)
		}
		for _, l := range leaves {
			var e phases.Event
			if err := json.Unmarshal(l.Body, &e); err != nil || e.Seq != n+1 || l.Seq != n+1 || !l.Copies {
				t.Fatalf("leaf %d is %+v, %v", n+1, l, err)
			}
			h, err := tlog.StoredHashes(n, l.Body, read)
			if err != nil {
				t.Fatal(err)
			}
			tree = append(tree, h...)
			n++
		}
	}
	if n != size {
		t.Fatalf("%d leaves, the tree has %d", n, size)
	}
	indexes := make([]int64, len(tree))
	for i := range indexes {
		indexes[i] = int64(i)
	}
	stored, err := store.LogHashes(t.Context(), indexes)
	if err != nil {
		t.Fatalf("LogHashes: %v", err)
	}
	for i := range stored {
		if stored[i] != tree[i] {
			t.Fatalf("stored hash %d is not that of the events", i)
		}
	}
	if _, err := store.LogHashes(t.Context(), []int64{int64(len(tree))}); err == nil {
		t.Error("a hash beyond the tree was answered")
	}
	return size
}

func logGrows(t *testing.T, store kernel.Store) {
	if n := CheckLog(t, store); n != 0 {
		t.Errorf("an empty log has %d leaves", n)
	}
	commit(t, store, kernel.Batch{Latch: &kernel.Latch{Runtime: "r", Session: "s", Since: T0}})
	want := int64(1)
	for i := range 9 {
		var b kernel.Batch
		for j := range i {
			b.Events = append(b.Events, event(strconv.Itoa(i)+"-"+strconv.Itoa(j)))
		}
		commit(t, store, b)
		want += int64(i)
		wantConflict(t, store,
			kernel.Batch{Events: []phases.Event{event("x")}, Unlatched: &wire.Session{Runtime: "r", Session: "s"}})
		if n := CheckLog(t, store); n != want {
			t.Fatalf("%d leaves, want %d", n, want)
		}
	}
}

func checkpoints(t *testing.T, s kernel.Store) {
	for i, note := range []string{"one\n", "two\n"} {
		if err := s.AddCheckpoint(t.Context(), int64(i), []byte(note)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Checkpoints(t.Context())
	if diff := cmp.Diff([][]byte{[]byte("one\n"), []byte("two\n")}, got); err != nil || diff != "" {
		t.Errorf("Checkpoints: %v\n%s", err, diff)
	}
}

func dropsCheckpoints(t *testing.T, s kernel.Store) {
	var notes [][]byte
	for i := range 5 {
		notes = append(notes, []byte("note "+strconv.Itoa(i)))
		if err := s.AddCheckpoint(t.Context(), int64(i), notes[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DropCheckpoints(t.Context(), [][]byte{notes[1], notes[3], []byte("another")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Checkpoints(t.Context())
	if diff := cmp.Diff([][]byte{notes[0], notes[2], notes[4]}, got); err != nil || diff != "" {
		t.Errorf("Checkpoints: %v\n%s", err, diff)
	}
}

// compacts: compacted events are removed, oldest first; their hashes stay in the tree.
func compacts(t *testing.T, store kernel.Store) {
	for i := range 20 {
		commit(t, store, kernel.Batch{Events: []phases.Event{event(strconv.Itoa(i))}})
	}
	want := func(through, event, left int64) {
		t.Helper()
		got, err := store.LogCompacted(t.Context())
		if diff := cmp.Diff(kernel.Compacted{Through: through, Event: event, Left: left}, got); err != nil || diff != "" {
			t.Errorf("LogCompacted: %v\n%s", err, diff)
		}
		CheckLog(t, store)
	}
	remove := func(limit int, left int64) {
		t.Helper()
		if got, err := store.LogRemove(t.Context(), limit); err != nil || got != left {
			t.Errorf("LogRemove: %d, %v, want %d left", got, err, left)
		}
	}
	stored := func(first, last int64) {
		t.Helper()
		es, err := store.Events(t.Context(), wire.Query{Limit: 100})
		if err != nil || len(es) == 0 || es[0].Seq != first || es[len(es)-1].Seq != last || int64(len(es)) != last-first+1 {
			t.Errorf("%d events, %v; want %d to %d", len(es), err, first, last)
		}
		if es, err := store.Events(t.Context(), wire.Query{Newest: true, Before: first}); err != nil || len(es) != 0 {
			t.Errorf("before the first there are %d events, %v", len(es), err)
		}
		leaves, err := store.LogLeaves(t.Context(), 0, 1)
		if err != nil || len(leaves) != 1 || leaves[0].Seq != first {
			t.Errorf("the first leaf is %+v, %v", leaves, err)
		}
	}
	want(0, 0, 0)
	remove(5, 0)
	say := func(id string) []phases.Event { return []phases.Event{event(id)} }
	for _, through := range []int64{21, -1} {
		wantConflict(t, store, kernel.Batch{Events: say("x"), Compact: through})
	}
	if _, err := store.Commit(t.Context(), kernel.Batch{Now: T0, Compact: 3}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a compaction that nothing announces: %v", err)
	}
	want(0, 0, 0)
	commit(t, store, kernel.Batch{Events: say("first"), Compact: 10})
	want(10, 21, 10)
	stored(1, 21)
	remove(4, 6)
	want(10, 21, 6)
	stored(5, 21)
	wantConflict(t, store, kernel.Batch{Events: say("x"), Compact: 10})
	wantConflict(t, store, kernel.Batch{Events: say("x"), Compact: 9})
	commit(t, store, kernel.Batch{Events: say("second"), Compact: 21}) // with the first announcement
	want(21, 22, 17)
	remove(16, 1)
	stored(21, 22)
	remove(100, 0)
	want(21, 22, 0)
	stored(22, 22)
	remove(100, 0)
	if r := commit(t, store, kernel.Batch{Events: say("after")}); r.First != 23 {
		t.Errorf("the next event is number %d", r.First)
	}
	want(21, 22, 0)
}
