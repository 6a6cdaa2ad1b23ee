package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// What another process has written is seen by the next read, whatever this one knew: rows that
// belay has written, and rows that something else has.
func TestRowsOfOthersAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	ours, theirs := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	session := wire.Session{Runtime: "r", Session: "s"}
	run := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	none := func() {
		t.Helper()
		l, err := ours.Latch(t.Context(), session)
		r, rerr := ours.RunState(t.Context(), run, storetest.T0)
		v, verr := ours.HookState(t.Context(), "n", "k")
		if l != nil || err != nil || r.Version != 0 || rerr != nil || v.Version != 0 || verr != nil {
			t.Fatalf("%+v %v, %+v %v, %+v %v", l, err, r, rerr, v, verr)
		}
	}
	none()
	for _, id := range []string{"a", "b"} { // from here on our writer knows all rows
		_, err := ours.Commit(t.Context(), batch(id))
		must(t, err)
		none()
	}
	b := batch("theirs")
	b.Latch = &kernel.Latch{Runtime: "r", Since: storetest.T0} // of the whole runtime
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("1")}}
	b.Run = &kernel.RunWrite{Key: run, Metadata: phases.Metadata{"k": {Value: []byte("1"), Hook: "h"}}}
	_, err := theirs.Commit(t.Context(), b)
	must(t, err)
	l, err := ours.Latch(t.Context(), session)
	if err != nil || l == nil {
		t.Errorf("latch %+v, %v", l, err)
	}
	if r, err := ours.RunState(t.Context(), run, storetest.T0); err != nil || r.Version == 0 {
		t.Errorf("run %+v, %v", r, err)
	}
	if v, err := ours.HookState(t.Context(), "n", "k"); err != nil || string(v.Value) != "1" {
		t.Errorf("value %+v, %v", v, err)
	}
	// Our own writes as well.
	c := batch("clear")
	c.ClearLatch = &wire.Session{Runtime: "r"}
	_, err = ours.Commit(t.Context(), c)
	must(t, err)
	if l, err := ours.Latch(t.Context(), session); l != nil || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
	// A row that is not belay's is told from one that is not there.
	change(t, path, `INSERT INTO latches (runtime, session, since_ns, body) VALUES ('r', 's', 1, x'7b7d')`)
	_, err = ours.Latch(t.Context(), session)
	wantTampered(t, err, "latches")
	// One that has written nothing yet, and one that cannot write.
	for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
		_, err = open(t, path, o).Latch(t.Context(), session)
		wantTampered(t, err, "latches")
	}
}

// stops stops the writer inside of a transaction, and between its commit and its end.
type stops struct {
	marked.Mark
	inside, after chan chan struct{} // nil: it does not stop there
}

func stop(c chan chan struct{}) {
	if c != nil {
		on := make(chan struct{})
		c <- on
		<-on
	}
}

func (m *stops) Look() (*highwater.State, int64, error) {
	stop(m.inside)
	return m.Mark.Look()
}

func (m *stops) Advance(epoch int64, h highwater.Head) error {
	stop(m.after)
	return m.Mark.Advance(epoch, h)
}

// While the writer is busy, a reader is told what was committed last, and no less.
func TestRowsAreKnownWhileTheWriterIsBusy(t *testing.T) {
	dir := t.TempDir()
	m := &stops{Mark: highwater.New(highwater.Options{Dir: filepath.Join(dir, "marks"), Name: "m"})}
	s := open(t, filepath.Join(dir, "belay.db"), sqlite.Options{Mark: m})
	session := wire.Session{Runtime: "r", Session: "s"}
	latched := func(when string, want bool) {
		t.Helper()
		for range 2 { // the first may open the connection that is asked then
			l, err := s.Latch(t.Context(), session)
			if err != nil || (l != nil) != want {
				t.Errorf("%s: latch %+v, %v", when, l, err)
			}
		}
	}
	commit := func(b kernel.Batch, before, then bool) {
		t.Helper()
		m.inside, m.after = make(chan chan struct{}), make(chan chan struct{})
		done := make(chan error, 1)
		go func() {
			_, err := s.Commit(t.Context(), b)
			done <- err
		}()
		on := <-m.inside
		latched("in the transaction", before)
		close(on)
		on = <-m.after
		latched("after the commit", then)
		close(on)
		must(t, <-done)
		m.inside, m.after = nil, nil
		latched("at the end", then)
	}
	_, err := s.Commit(t.Context(), batch("first"))
	must(t, err)
	commit(batch("none"), false, false)
	b := batch("latch")
	b.Latch = &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
	commit(b, false, true)
	b = batch("clear")
	b.ClearLatch = &session
	commit(b, true, false)
	commit(batch("again"), false, false)
}
