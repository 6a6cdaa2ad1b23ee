package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

type fataler interface {
	Fatal(args ...any)
	Helper()
}

// announce gives up events as the kernel does.
func announce(t fataler, s kernel.Store, k *eventlog.Key, through int64, id string) error {
	t.Helper()
	statement, err := eventlog.Announce(context.Background(), s, k, through, "uid 1000", "a test", t0)
	if err != nil {
		return err
	}
	out, err := json.Marshal(kernel.Compaction{Through: through, Statement: string(statement)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(context.Background(), kernel.Batch{Now: t0, Compact: through,
		Events: []phases.Event{{ID: id, Type: phases.EventCompaction, Time: t0, Output: out}}})
	return err
}

// copyLog returns a log that can be tampered with, as s shows it now.
func copyLog(t fataler, s kernel.Store) *loose {
	t.Helper()
	size, err := s.LogSize(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	l := &loose{size: size}
	if l.leaves, err = s.LogLeaves(context.Background(), 0, int(size)+1); err != nil {
		t.Fatal(err)
	}
	var all []int64
	for i := range tlog.StoredHashCount(size) {
		all = append(all, i)
	}
	hashes, err := s.LogHashes(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		l.tree = append(l.tree, h)
	}
	return l
}

// refit makes every inner hash fit the leaves' hashes.
func (l *loose) refit(t fataler) {
	old := l.tree
	l.tree = nil
	for n := range l.size {
		h, err := tlog.StoredHashesForRecordHash(n, old[tlog.StoredHashIndex(0, n)],
			tlog.HashReaderFunc(func(is []int64) ([]tlog.Hash, error) {
				out := make([]tlog.Hash, len(is))
				for i, j := range is {
					out[i] = l.tree[j]
				}
				return out, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		l.tree = append(l.tree, h...)
	}
}

func verifyLog(t fataler, l kernel.Log, k *eventlog.Key, notes ...[]byte) eventlog.Report {
	t.Helper()
	r, err := eventlog.Verify(context.Background(), l, eventlog.Evidence{Verifier: k.Verifier(), Outside: notes})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Random logs with random compactions, some of them stopped half way: an
// untouched log verifies against every checkpoint there ever was, and proofs
// hold; every change made without the key is found.
func TestCompactionsAreProven(t *testing.T) {
	stores := map[string]func() kernel.Store{
		"memory": func() kernel.Store { return memory.New() },
		"sqlite": func() kernel.Store {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belay.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { provenCompaction(rt, open()) }) })
	}
}

func provenCompaction(rt *rapid.T, s kernel.Store) {
	ctx := context.Background()
	k := newKeyOf(rt, 1)
	var notes [][]byte
	id := 0
	add := func(n int) {
		for range n {
			id++
			e := phases.Event{ID: "e" + strconv.Itoa(id), Type: phases.EventVerdict,
				Time: t0.Add(time.Duration(id) * time.Second)}
			if _, err := s.Commit(ctx, kernel.Batch{Now: t0, Events: []phases.Event{e}}); err != nil {
				rt.Fatal(err)
			}
		}
		_, note, err := eventlog.Mark(ctx, s, k, t0)
		if err != nil {
			rt.Fatal(err)
		}
		notes = append(notes, note)
	}
	add(rapid.IntRange(1, 30).Draw(rt, "first"))
	for range rapid.IntRange(1, 3).Draw(rt, "compactions") {
		done, err := s.LogCompacted(ctx)
		if err != nil {
			rt.Fatal(err)
		}
		size, err := s.LogSize(ctx)
		if err != nil {
			rt.Fatal(err)
		}
		id++
		if err := announce(rt, s, k, rapid.Int64Range(done.Through+1, size).Draw(rt, "through"),
			"e"+strconv.Itoa(id)); err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "stopped") {
			if _, err := s.LogRemove(ctx, rapid.IntRange(1, 5).Draw(rt, "step")); err != nil {
				rt.Fatal(err)
			}
		} else if _, err := eventlog.Remove(ctx, s, k.Verifier()); err != nil {
			rt.Fatal(err)
		}
		add(rapid.IntRange(0, 12).Draw(rt, "more"))
	}
	done, err := s.LogCompacted(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	gone := done.Through - done.Left
	r := verifyLog(rt, s, k, notes...)
	if r.Wrong != nil || r.Compacted != gone || r.Outside != len(notes) || gone > 0 && r.Announced != done.Event {
		rt.Fatalf("untouched: %+v %+v, %d are gone, announced by %d", r, r.Wrong, gone, done.Event)
	}
	for seq := int64(1); seq <= r.Events; seq++ {
		p, err := eventlog.Prove(ctx, s, k, seq, t0)
		if seq <= gone {
			if !errors.Is(err, eventlog.ErrCompacted) {
				rt.Fatalf("proof of event %d, which is gone: %v", seq, err)
			}
			continue
		}
		if err != nil {
			rt.Fatal(err)
		}
		if _, _, err := p.Check(k.Verifier()); err != nil {
			rt.Fatalf("event %d of %d: %v", seq, r.Events, err)
		}
	}

	l := copyLog(rt, s)
	if r := verifyLog(rt, l, k, notes...); r.Wrong != nil {
		rt.Fatalf("the copy: %+v", r.Wrong)
	}
	newest := len(l.leaves) - 1
	what := rapid.SampledFrom([]string{"prefix", "hash", "forged", "event", "middle", "reused"}).Draw(rt, "tampering")
	switch what {
	case "prefix": // more is removed than was announced
		for len(l.leaves) > 0 && l.leaves[0].Seq <= done.Through {
			l.leaves = l.leaves[1:]
		}
		l.leaves = l.leaves[rapid.IntRange(1, max(1, len(l.leaves)-1)).Draw(rt, "rows"):]
		if len(l.leaves) == 0 {
			return // all of it: found as a missing event, elsewhere
		}
	case "hash": // of an event that is gone, with all that depends on it
		if gone == 0 {
			return
		}
		l.tree[tlog.StoredHashIndex(0, rapid.Int64Range(0, gone-1).Draw(rt, "which"))][0] ^= 1
		if rapid.Bool().Draw(rt, "cover") {
			l.refit(rt)
			notes = nil // not even an outside checkpoint is needed
		}
	case "forged": // a prefix is removed, and announced without the key
		f := memory.New()
		other := newKeyOf(rt, 2)
		for i := range 5 {
			if _, err := f.Commit(ctx,
				kernel.Batch{Now: t0,
					Events: []phases.Event{{ID: "f" + strconv.Itoa(i), Type: phases.EventVerdict, Time: t0}}}); err != nil {
				rt.Fatal(err)
			}
		}
		if err := announce(rt, f, other, 3, "forged"); err != nil {
			rt.Fatal(err)
		}
		if _, err := f.LogRemove(ctx, 3); err != nil {
			rt.Fatal(err)
		}
		if r := verifyLog(rt, f, other); r.Wrong != nil {
			rt.Fatalf("with the forger's key: %+v", r.Wrong)
		}
		l, notes = copyLog(rt, f), nil
	case "event":
		l.leaves[rapid.IntRange(0, newest).Draw(rt, "which")].Body[20] ^= 1
	case "middle":
		if newest < 2 {
			return
		}
		i := rapid.IntRange(1, newest-1).Draw(rt, "which")
		l.leaves = slices.Delete(l.leaves, i, i+1)
	case "reused": // a true statement, of a log that was another one
		f := memory.New()
		for i := range 9 {
			if _, err := f.Commit(ctx,
				kernel.Batch{Now: t0,
					Events: []phases.Event{{ID: "f" + strconv.Itoa(i), Type: phases.EventVerdict, Time: t0}}}); err != nil {
				rt.Fatal(err)
			}
		}
		var body jsontext.Value
		for _, x := range l.leaves {
			if x.Seq == done.Event {
				body = x.Body
			}
		}
		var e phases.Event
		if err := json.Unmarshal(body, &e); err != nil {
			rt.Fatal(err)
		}
		e.ID = "again"
		if done.Through > 9 {
			return
		}
		if _, err := f.Commit(ctx, kernel.Batch{Now: t0, Compact: done.Through, Events: []phases.Event{e}}); err != nil {
			rt.Fatal(err)
		}
		if _, err := eventlog.Remove(ctx, f, k.Verifier()); !errors.Is(err, eventlog.ErrCheckpoint) {
			rt.Fatalf("events were removed by the statement of another log: %v", err)
		}
		if _, err := f.LogRemove(ctx, 100); err != nil {
			rt.Fatal(err)
		}
		l, notes = copyLog(rt, f), nil
	}
	if r := verifyLog(rt, l, k, notes...); r.Wrong == nil {
		rt.Fatalf("%s: not found: %+v", what, r)
	}
}

func newKeyOf(t fataler, b byte) *eventlog.Key {
	k, err := eventlog.NewKey(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A copy that was exported before the compaction is still compared.
func TestCopiesOfCompactedEvents(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	for i := range 10 {
		if _, err := s.Commit(t.Context(),
			kernel.Batch{Now: t0,
				Events: []phases.Event{{ID: "e" + strconv.Itoa(i), Type: phases.EventVerdict, Time: t0}}}); err != nil {
			t.Fatal(err)
		}
	}
	leaves, err := s.LogLeaves(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := announce(t, s, k, 6, "gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := eventlog.Remove(t.Context(), s, newKey(t, 2).Verifier()); !errors.Is(err, eventlog.ErrCheckpoint) {
		t.Errorf("Remove without a statement of the key: %v", err)
	}
	if n, err := eventlog.Remove(t.Context(), s, k.Verifier()); err != nil || n != 6 {
		t.Fatalf("%d events removed, %v", n, err)
	}
	for _, bad := range []int64{0, 3, 8} {
		r, err := eventlog.Verify(t.Context(), s,
			eventlog.Evidence{Verifier: k.Verifier(), Copies: func(seq int64) (tlog.Hash, bool) {
				if seq > 10 {
					return tlog.Hash{}, false
				}
				body := leaves[seq-1].Body
				if seq == bad {
					body = append(bytes.Clone(body), ' ')
				}
				return tlog.RecordHash(body), true
			}})
		if err != nil || (r.Wrong != nil) != (bad > 0) || bad > 0 && r.Wrong.First != bad {
			t.Errorf("copy %d: %+v, %v", bad, r.Wrong, err)
		}
	}
	if _, err := eventlog.Announce(t.Context(), s, k, 6, "", "", t0); !errors.Is(err, eventlog.ErrNothing) {
		t.Errorf("the same again: %v", err)
	}
}

func TestSuperfluousCheckpoints(t *testing.T) {
	k := newKey(t, 1)
	var notes [][]byte
	for i := range 40 { // four a day
		n, err := k.Sign(eventlog.Checkpoint{Size: int64(i),
			Time: t0.Truncate(24 * time.Hour).Add(time.Duration(i) * 6 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, n)
	}
	notes[1] = []byte("damaged\n")
	drop := eventlog.Superfluous(notes, k.Verifier(), 6)
	var kept []string
	for i, n := range notes {
		if !slices.ContainsFunc(drop, func(d []byte) bool { return bytes.Equal(d, n) }) {
			kept = append(kept, strconv.Itoa(i))
		}
	}
	if got := strings.Join(kept, " "); got != "1 3 7 11 15 19 23 27 31 34 35 36 37 38 39" {
		t.Errorf("kept %s", got)
	}
}
