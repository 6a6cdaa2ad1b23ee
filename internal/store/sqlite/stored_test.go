package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventpack"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/internal/store/sqlite/sqlitetest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// noise returns text that no pack makes shorter.
func noise(seed uint64, length int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, length)
	for i := range b {
		b[i] = 'A' + byte(r.IntN(26))
	}
	return string(b)
}

// invocations returns a batch of so many events, with one reason of so many bytes.
func invocations(name string, events, reason int) kernel.Batch {
	b := kernel.Batch{Now: storetest.T0}
	for i := range events {
		e := phases.Event{ID: fmt.Sprint(name, "-", i), Type: phases.EventHook, Time: storetest.T0, Invocation: name,
			Tool: fmt.Sprint("tool-", i%3), InputDigest: "sha256:" + strings.Repeat("0123abcd", 8), Output: []byte(`{"n":1}`)}
		if i == events/2 {
			e.Reason = noise(uint64(events), reason)
		}
		b.Events = append(b.Events, e)
	}
	return b
}

// columns returns the stored forms of the events.
func columns(t *testing.T, path string) (out [][]byte) {
	t.Helper()
	c := raw(t, path)
	defer c.Close()
	st, _, err := c.Prepare("SELECT body FROM events ORDER BY seq")
	must(t, err)
	for st.Step() {
		out = append(out, st.ColumnBlob(0, nil))
	}
	must(t, errors.Join(st.Err(), st.Close()))
	return out
}

// What is packed comes back, whichever way it is asked for, and is the leaf that it was.
func TestPackedEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	var want []phases.Event
	for i, b := range []kernel.Batch{
		invocations("single", 1, 10), invocations("few", 5, 100), invocations("many", eventpack.MaxTexts+6, 10),
		invocations("long", 4, 40_000), invocations("large", 3, eventpack.MaxBytes), invocations("last", 2, 0),
	} {
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(i, err)
		}
		for _, e := range b.Events {
			e.Seq = int64(len(want) + 1)
			want = append(want, e)
		}
	}
	for i := range want {
		got, err := s.Events(t.Context(), wire.Query{ID: want[i].ID})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %d events, %v", want[i].ID, len(got), err)
		}
		got[0].Restrictions = ""
		if diff := cmp.Diff(want[i], got[0]); diff != "" {
			t.Errorf("%s: %s", want[i].ID, diff)
		}
	}
	for _, newest := range []bool{false, true} {
		got, err := s.Events(t.Context(), wire.Query{Tool: "tool-1", After: 3, Before: 80, Limit: 7, Newest: newest})
		if err != nil || len(got) != 7 || slices.ContainsFunc(got, func(e phases.Event) bool { return e.Tool != "tool-1" }) {
			t.Errorf("by tool: %+v, %v", got, err)
		}
	}
	if n := storetest.CheckLog(t, s); n != int64(len(want)) {
		t.Errorf("%d leaves, want %d", n, len(want))
	}
	before := leavesOf(t, s)
	must(t, s.Close())
	forms := map[byte]int{}
	for _, c := range columns(t, path) {
		forms[c[0]]++
	}
	// The large event, and none else, is stored as it is.
	if forms['{'] != 1 || forms[1] < 6 || forms[2] < 70 {
		t.Errorf("forms: %v", forms)
	}
	// The same events, each as it is, are the same leaves.
	must(t, sqlitetest.Unpack(t.Context(), path))
	if diff := cmp.Diff(before, leavesOf(t, open(t, path, sqlite.Options{}))); diff != "" {
		t.Error("unpacked: ", diff[:min(len(diff), 500)])
	}
}

func leavesOf(t *testing.T, s *sqlite.Store) []kernel.LogLeaf {
	t.Helper()
	out, err := s.LogLeaves(t.Context(), 0, 1000)
	must(t, err)
	return out
}

// A log of a version that did not pack is the same log, and grows.
func TestDatabaseOfAVersionThatDidNotPack(t *testing.T) {
	path := unzipped(t, "testdata/schema11.db.gz")
	old := columns(t, path)
	s := open(t, path, sqlite.Options{})
	r, err := s.Commit(t.Context(), invocations("new", 3, 10))
	if err != nil || r.First != int64(len(old)+1) {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := storetest.CheckLog(t, s); n != r.Last || n != 131 {
		t.Errorf("%d leaves, want %d", n, r.Last)
	}
	leaves := leavesOf(t, s)
	for i, body := range old {
		if !bytes.Equal(leaves[i].Body, body) || !leaves[i].Copies {
			t.Errorf("event %d has changed: %s", i+1, leaves[i].Body)
		}
	}
	if es, err := s.Events(t.Context(), wire.Query{Limit: 1000}); err != nil || len(es) != 131 {
		t.Errorf("%d events, %v", len(es), err)
	}
	must(t, s.Close())
	if now := columns(t, path); !slices.EqualFunc(now[:len(old)], old, bytes.Equal) || now[len(now)-1][0] == '{' {
		t.Error("earlier rows were written anew, or later ones are not packed")
	}
}

// Compaction that ends inside of a pack removes the contents of what is compacted from it.
func TestCompactionInsideOfAPack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	b := invocations("i", 6, 0)
	for i := range b.Events {
		b.Events[i].Reason = noise(uint64(100+i), 60)
	}
	for _, b := range []kernel.Batch{b, {Now: storetest.T0, Compact: 4, Events: batch("compaction").Events}} {
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	before := leavesOf(t, s)
	for _, want := range []int64{1, 0} {
		if left, err := s.LogRemove(t.Context(), 3); err != nil || left != want {
			t.Fatalf("%d left, %v", left, err)
		}
		if got := leavesOf(t, s); !cmp.Equal(got, before[4-want:]) {
			t.Errorf("%d left: %s", want, cmp.Diff(before[4-want:], got))
		}
	}
	must(t, s.Close())
	file, err := os.ReadFile(path)
	must(t, err)
	for i := range b.Events {
		if there := bytes.Contains(file, []byte(b.Events[i].Reason)); there != (i >= 4) {
			t.Errorf("event %d is in the file: %t", i+1, there)
		}
	}
}

// Rows that hold no event are among the leaves, as what they are not: a verification names them.
func TestDamagedPacks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	for i := range 3 {
		if _, err := s.Commit(t.Context(), invocations(fmt.Sprint("i", i), 4, 50)); err != nil {
			t.Fatal(err)
		}
	}
	good := leavesOf(t, s)
	must(t, s.Close())
	for name, tc := range map[string]struct {
		sql string
		bad []int64
	}{
		"a pack is cut":         {"UPDATE events SET body=substr(body, 1, length(body)-1) WHERE seq=8", []int64{5, 6, 7, 8}},
		"a pack is changed":     {"UPDATE events SET body=CAST(substr(body, 1, 60)||x'00'||substr(body, 62) AS BLOB) WHERE seq=8", []int64{5, 6, 7, 8}},
		"a pack of another":     {"UPDATE events SET body=(SELECT body FROM events WHERE seq=12) WHERE seq=8", []int64{5, 6, 7, 8}},
		"a pack is gone":        {"DELETE FROM events WHERE seq=8", []int64{5, 6, 7}},
		"a part of too far":     {"UPDATE events SET body=x'020706' WHERE seq=6", []int64{6}},
		"a part of nothing":     {"UPDATE events SET body=x'020006' WHERE seq=6", []int64{6}},
		"a part of a part":      {"UPDATE events SET body=x'020106' WHERE seq=6", []int64{6}},
		"a part and more":       {"UPDATE events SET body=CAST(body||x'00' AS BLOB) WHERE seq=6", []int64{6}},
		"a part of another":     {"UPDATE events SET body=x'020606' WHERE seq=6", []int64{6}},
		"another number":        {"UPDATE events SET body=x'020205' WHERE seq=6", []int64{6}},
		"no bytes":              {"UPDATE events SET body=x'' WHERE seq=6", []int64{6}},
		"another form":          {"UPDATE events SET body=x'0302' WHERE seq=6", []int64{6}},
		"a short head":          {"UPDATE events SET body=x'01' WHERE seq=8", []int64{5, 6, 7, 8}},
		"a digest that is cut":  {"UPDATE events SET body=x'01082001' WHERE seq=8", []int64{5, 6, 7, 8}},
		"a digest of no length": {"UPDATE events SET body=CAST(x'010801'||substr(body, 4) AS BLOB) WHERE seq=8", []int64{5, 6, 7, 8}},
	} {
		copied := filepath.Join(t.TempDir(), "belay.db")
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(copied, b, 0o600))
		change(t, copied, tc.sql)
		s := open(t, copied, sqlite.Options{})
		var bad []int64
		for _, l := range leavesOf(t, s) {
			if tlog.RecordHash(l.Body) != tlog.RecordHash(good[l.Seq-1].Body) {
				bad = append(bad, l.Seq)
			}
		}
		if !slices.Equal(bad, tc.bad) {
			t.Errorf("%s: events %d do not hold, want %d", name, bad, tc.bad)
		}
		if es, err := s.Events(t.Context(), wire.Query{}); name != "another number" && name != "a pack of another" &&
			!errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: %d events, %v", name, len(es), err)
		}
		// What is not damaged is still read, and the log grows.
		if es, err := s.Events(t.Context(), wire.Query{After: 8}); err != nil || len(es) != 4 {
			t.Errorf("%s: %d later events, %v", name, len(es), err)
		}
		if _, err := s.Commit(t.Context(), batch("later")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
