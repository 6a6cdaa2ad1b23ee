package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// elsewhere is another store, which answers as it is told.
type elsewhere struct {
	decide  error
	outcome sqlite.Outcome
	record  error
	bodies  [][]byte
	size    int64
}

func (e *elsewhere) Decide(size int64, _ time.Time) (restrict.Digest, error) {
	e.size = size
	return restrict.Digest{1}, e.decide
}

func (e *elsewhere) Record(bodies [][]byte) (sqlite.Outcome, error) {
	e.bodies = bodies
	return e.outcome, e.record
}

func shareable(id string) kernel.Batch {
	return kernel.Batch{Now: storetest.T0,
		Events:      []phases.Event{{ID: id + "-1", Time: storetest.T0}, {ID: id + "-2", Time: storetest.T0}},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte(id)}}}
}

func plain(id string) kernel.Batch {
	return kernel.Batch{Now: storetest.T0, Events: []phases.Event{{ID: id, Time: storetest.T0}}}
}

func openShared(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func valueOf(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	v, err := s.HookState(t.Context(), "n", "k")
	if err != nil {
		t.Fatal(err)
	}
	return string(v.Value)
}

// A shared batch is written as a whole when the other store has it, and not at all when that has not.
func TestShare(t *testing.T) {
	s := openShared(t, filepath.Join(t.TempDir(), "belay.db"))
	if _, err := s.Commit(t.Context(), plain("before")); err != nil {
		t.Fatal(err)
	}
	with := &elsewhere{outcome: sqlite.Recorded}
	r, err := s.Share(t.Context(), shareable("a"), with)
	if err != nil || r.First != 2 || r.Last != 3 || with.size != 1 || valueOf(t, s) != "a" {
		t.Fatalf("%+v, %v; it was asked behind %d events", r, err, with.size)
	}
	leaves, err := s.LogLeaves(t.Context(), 1, 10)
	if err != nil || len(leaves) != 2 || string(leaves[1].Body) != string(with.bodies[1]) {
		t.Fatalf("the other store got %s, and here is %+v, %v", with.bodies, leaves, err)
	}
	if d, ok := leaf.SharedOf(leaves[1].Body); !ok || d != (restrict.Digest{1}) {
		t.Errorf("the event carries %v, %v", d, ok)
	}
	if _, ok := leaf.SharedOf(leaves[0].Body); ok {
		t.Error("the first event carries it, too")
	}
	no := errors.New("no")
	for name, with := range map[string]*elsewhere{
		"a conflict":   {decide: kernel.ErrConflict},
		"not decided":  {decide: no},
		"not recorded": {outcome: sqlite.NotRecorded, record: no},
	} {
		if _, err := s.Share(t.Context(), shareable(name), with); err == nil || valueOf(t, s) != "a" {
			t.Errorf("%s: %v", name, err)
		}
		if u, err := s.Unsettled(t.Context()); err != nil || u != nil {
			t.Errorf("%s leaves %+v, %v", name, u, err)
		}
		if _, err := s.Commit(t.Context(), plain("after "+name)); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	storetest.CheckLog(t, s)
}

// unsettled leaves a shared batch of which it is not known whether it counts, and returns its events.
func unsettled(t *testing.T, s *sqlite.Store, id string) [][]byte {
	t.Helper()
	with := &elsewhere{outcome: sqlite.Unknown, record: errors.New("the answer is lost")}
	if _, err := s.Share(t.Context(), shareable(id), with); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatal(err)
	}
	return with.bodies
}

// While it is not known whether another store has a shared batch, nothing is written: not by this process, not by
// another one, and not after a restart. Then it is carried out byte by byte, or given up.
func TestUnsettledBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s, other := openShared(t, path), openShared(t, path)
	if _, err := other.Commit(t.Context(), plain("before")); err != nil {
		t.Fatal(err)
	}
	for round, counts := range []bool{true, false} {
		bodies := unsettled(t, s, []string{"counts", "does not"}[round])
		later := openShared(t, path)
		for name, s := range map[string]*sqlite.Store{"this one": s, "another": other, "a later one": later} {
			var wait *sqlite.UnsettledError
			if _, err := s.Commit(t.Context(), plain("x")); !errors.As(err, &wait) || !errors.Is(err, kernel.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			if err := s.Probe(t.Context(), storetest.T0); !errors.As(err, &wait) {
				t.Errorf("%s: Probe: %v", name, err)
			}
			if _, err := s.Share(t.Context(), shareable("x"), &elsewhere{outcome: sqlite.Recorded}); !errors.As(err, &wait) {
				t.Errorf("%s: another shared batch: %v", name, err)
			}
			u, err := s.Unsettled(t.Context())
			if err != nil || u == nil || len(u.IDs) != 2 || wait != nil && wait.First != u.First {
				t.Fatalf("%s: %+v, %v", name, u, err)
			}
		}
		u, _ := later.Unsettled(t.Context())
		if !counts {
			bodies = nil
		}
		if err := later.Settle(t.Context(), u.First, bodies); err != nil {
			t.Fatal(err)
		}
		leaves, err := s.LogLeaves(t.Context(), u.First-1, 10)
		if err != nil || len(leaves) != len(bodies) || counts && string(leaves[1].Body) != string(bodies[1]) {
			t.Errorf("the log has %+v, %v", leaves, err)
		}
		if got := valueOf(t, s); got != "counts" {
			t.Errorf("the value is %q", got)
		}
		for _, s := range []*sqlite.Store{s, other, later} {
			if _, err := s.Commit(t.Context(), plain(strings.Repeat("y", round+1)+valueOf(t,
				s)+time.Now().String())); err != nil {
				t.Error(err)
			}
		}
		storetest.CheckLog(t, s)
	}
}

// What is taken over is what was written down here, and leads to the rows that it records.
func TestSettleTakesNothingElse(t *testing.T) {
	s := openShared(t, filepath.Join(t.TempDir(), "belay.db"))
	bodies := unsettled(t, s, "a")
	change := func(n int, from, to string) [][]byte {
		out := append([][]byte{}, bodies...)
		if out[n] = []byte(strings.Replace(string(bodies[n]), from, to, 1)); string(out[n]) == string(bodies[n]) {
			t.Fatalf("%s is not in %s", from, bodies[n])
		}
		return out
	}
	stamp, _ := leaf.StampOf(bodies[1])
	for name, list := range map[string][][]byte{
		"another event":  change(0, `"a-1"`, `"b-1"`),
		"another number": change(0, `"seq":1`, `"seq":2`),
		"other rows":     change(1, stamp.String(), restrict.Digest{7}.String()),
		"one event less": bodies[:1],
		"one more":       append(append([][]byte{}, bodies...), bodies[1]),
		"no JSON":        {bodies[0], []byte("{")},
	} {
		if err := s.Settle(t.Context(), 1, list); !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if u, err := s.Unsettled(t.Context()); err != nil || u == nil {
			t.Fatalf("%s: it counts as settled: %+v, %v", name, u, err)
		}
	}
	if err := s.Settle(t.Context(), 2, bodies); err == nil {
		t.Error("another batch was settled")
	}
	if err := s.Settle(t.Context(), 1, bodies); err != nil || valueOf(t, s) != "a" {
		t.Error(err)
	}
	storetest.CheckLog(t, s)
}

// A person who recovers a database goes on without a shared batch of which nothing is known: its number is given to the
// recovery, and it cannot be carried out any more.
func TestRecoverEndsWhatIsUnsettled(t *testing.T) {
	s := openShared(t, filepath.Join(t.TempDir(), "belay.db"))
	bodies := unsettled(t, s, "a")
	recovers(t, s, func() (marked.Advice, error) { return marked.Advice{}, nil }, "recovery")
	if u, err := s.Unsettled(t.Context()); err != nil || u != nil {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := s.Commit(t.Context(), plain("x")); err != nil {
		t.Error(err)
	}
	if err := s.Settle(t.Context(), 1, bodies); err == nil || valueOf(t, s) == "a" {
		t.Errorf("the batch was carried out: %v", err)
	}
	storetest.CheckLog(t, s)
}

// Events that another store has kept come back in their order, without their rows: those are compared with them.
func TestEventsAreBroughtBack(t *testing.T) {
	from := openShared(t, filepath.Join(t.TempDir(), "belay.db"))
	for _, b := range []kernel.Batch{plain("a"), shareable("b")} {
		if _, err := from.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	bodies, err := from.Bodies(t.Context(), 0, 10, 1<<20)
	if err != nil || len(bodies) != 3 {
		t.Fatalf("%d, %v", len(bodies), err)
	}
	s := openShared(t, filepath.Join(t.TempDir(), "belay.db"))
	if _, err := s.Commit(t.Context(), plain("a")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		after  int64
		bodies [][]byte
	}{"a gap": {1, bodies[2:]}, "what is there": {0, bodies[:1]}, "no event": {1, [][]byte{[]byte("{}")}}} {
		if err := s.BringBack(t.Context(), c.after, c.bodies); !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.BringBack(t.Context(), 1, bodies[1:]); err != nil {
		t.Fatal(err)
	}
	if n, err := s.LogSize(t.Context()); err != nil || n != 3 {
		t.Errorf("%d events, %v", n, err)
	}
	if _, err := s.Commit(t.Context(), plain("after")); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("without the value: %v", err)
	}
	if _, err := s.HookState(t.Context(), "n", "k"); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("a value that is not there: %v", err)
	}
}
