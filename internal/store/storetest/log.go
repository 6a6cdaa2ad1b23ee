package storetest

import (
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// CheckLog recomputes the tree from what is stored and compares every hash; it
// returns the number of leaves.
func CheckLog(t *testing.T, s kernel.Store) int64 {
	t.Helper()
	size, err := s.LogSize(t.Context())
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
	for n < size {
		leaves, err := s.LogLeaves(t.Context(), n, 100)
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
	stored, err := s.LogHashes(t.Context(), indexes)
	if err != nil {
		t.Fatalf("LogHashes: %v", err)
	}
	for i := range stored {
		if stored[i] != tree[i] {
			t.Fatalf("stored hash %d is not that of the events", i)
		}
	}
	if _, err := s.LogHashes(t.Context(), []int64{int64(len(tree))}); err == nil {
		t.Error("a hash beyond the tree was answered")
	}
	return size
}

func logGrows(t *testing.T, s kernel.Store) {
	if n := CheckLog(t, s); n != 0 {
		t.Errorf("an empty log has %d leaves", n)
	}
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{SessionKey: kernel.SessionKey{Runtime: "r", Session: "s"}, Since: T0}})
	want := int64(0)
	for i := range 9 {
		var b kernel.Batch
		for j := range i {
			b.Events = append(b.Events, event(strconv.Itoa(i)+"-"+strconv.Itoa(j)))
		}
		commit(t, s, b)
		want += int64(i)
		wantConflict(t, s, kernel.Batch{Events: []phases.Event{event("x")}, Unlatched: &kernel.SessionKey{Runtime: "r", Session: "s"}})
		if n := CheckLog(t, s); n != want {
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
