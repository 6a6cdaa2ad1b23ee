package forward_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// copied ends the process, and returns what brings belay.db back as it is now.
func (k *forwarding) copied() (restore func()) {
	k.t.Helper()
	kill(k.t, k.Store)
	path := filepath.Join(k.dir, "belay.db")
	b, err := os.ReadFile(path)
	if err != nil {
		k.t.Fatal(err)
	}
	return func() {
		k.t.Helper()
		_, _ = os.Remove(path+"-wal"), os.Remove(path+"-shm") // they may not be there
		if err := os.WriteFile(path, b, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
}

func latched(id string) (kernel.Batch, kernel.Latch) {
	b := batch(id)
	b.Latch = &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
	return b, *b.Latch
}

// An older belay.db is brought back. PostgreSQL has the events that it lacks, and the mark says that this machine has
// sent them: they come back. Rows that they record and belay.db does not have block it until a person agrees.
func TestAnOlderCopyGetsItsEventsBack(t *testing.T) {
	for name, rows := range map[string]bool{"events alone": false, "a latch": true} {
		t.Run(name, func(t *testing.T) {
			k := openForwarding(t, pgtest.Options(t, "k"))
			commit(t, k, batch("before"))
			k.sent()
			restore := k.copied()
			k = k.again(nil)
			commit(t, k, batch("lost"))
			b, latch := latched("latch")
			if rows {
				commit(t, k, b)
			}
			k.sent()
			all := len(events(t, k))
			kill(t, k.Store)
			restore()
			k = k.again(nil)
			until(t, "back", func() bool { n, err := k.LogSize(t.Context()); return err == nil && n == int64(all) })
			if rows {
				if _, err := k.Commit(t.Context(), batch("after")); !errors.Is(err, kernel.ErrTampered) {
					t.Fatalf("without the latch: %v", err)
				}
				advise := func() (marked.Advice, error) { return marked.Advice{Latches: []kernel.Latch{latch}}, nil }
				err := k.Recover(t.Context(), advise, func(now marked.Stand) (d marked.Decision, err error) {
					if now.Forwarded || now.Repair == nil || now.Wrong != nil {
						t.Errorf("%+v", now)
					}
					d.Event, d.Mark = batch("recovered").Events[0], now.Mark
					d.Event.Type = phases.EventRecovery
					d.Mark.Epoch++
					return d, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if l, err := k.Latches(t.Context()); err != nil || len(l) != 1 {
					t.Errorf("latches: %v, %v", l, err)
				}
			}
			k.sent()
			commit(t, k, minted("l", 1))
			same(t, k.Store, k.o)
			if st := k.State(); st.Red() {
				t.Errorf("%+v", st)
			}
		})
	}
}

// What PostgreSQL has behind what this machine has sent is of another program: it is not taken for the end of an older
// copy.
func TestEventsOfOthersAreNotBroughtBack(t *testing.T) {
	k := openForwarding(t, pgtest.Options(t, "k"))
	commit(t, k, batch("before"))
	k.sent()
	st, _, err := k.guard.Look()
	if err != nil {
		t.Fatal(err)
	}
	restore := k.copied()
	k = k.again(nil)
	commit(t, k, batch("of another"))
	k.sent()
	kill(t, k.Store)
	restore()
	if err := k.guard.Reset(st); err != nil { // the other one had a mark of its own
		t.Fatal(err)
	}
	k = k.again(nil)
	until(t, "told", func() bool { return k.State().Forked != "" })
	if n, err := k.LogSize(t.Context()); err != nil || n != 1 {
		t.Errorf("the log has %d events, %v", n, err)
	}
	for _, text := range []string{k.State().Forked, refused(t, k, claimed("claim", "l")).Error()} {
		if !strings.Contains(text, "forked: the log in PostgreSQL has 2 events") ||
			!strings.Contains(text, "kernel name of its own") {
			t.Errorf("it is said to be %s", text)
		}
	}
	if stand, err := k.recovers("recovered"); err != nil || stand.Forwarded { // belay.db, which is behind its mark
		t.Errorf("%+v, %v", stand, err)
	}
	if _, err := k.recovers("joined"); err == nil || !strings.Contains(err.Error(), "no command joins the two") {
		t.Errorf("to recover it answers %v", err)
	}
}

// An owner of PostgreSQL has edited an event that an older belay.db lacks, and left the tree as it is. Nothing of it
// comes back.
func TestEditedEventsAreNotBroughtBack(t *testing.T) {
	k := openForwarding(t, pgtest.Options(t, "k"))
	for _, id := range []string{"before", "and", "then"} {
		commit(t, k, batch(id))
	}
	k.sent()
	restore := k.copied()
	k = k.again(nil)
	for i := range 200 { // more than come back at once
		commit(t, k, batch(fmt.Sprint("lost-", i)))
	}
	k.sent()
	kill(t, k.Store)
	edit := func(from, to string) {
		t.Helper()
		edited := "replace(convert_from(body, 'UTF8'), '" + from + "', '" + to + "')"
		pgtest.Exec(t, k.o.Schema, "UPDATE events SET body = convert_to("+edited+", 'UTF8')")
	}
	edit("lost-199", "made-199")
	restore()
	k = k.again(nil)
	until(t, "told", func() bool { return strings.Contains(k.State().Forked, "are not the events that were sent") })
	if n, err := k.LogSize(t.Context()); err != nil || n != 3 {
		t.Errorf("the log has %d events, %v", n, err)
	}
	kill(t, k.Store)
	edit("made-199", "lost-199")
	// It is edited while they come back.
	k = k.again(once("back", func() error { edit("lost-199", "made-199"); return nil }))
	until(t, "told", func() bool { return strings.Contains(k.State().Forked, "are not the events that were sent") })
	kill(t, k.Store)
	edit("made-199", "lost-199")
	k = k.again(nil)
	until(t, "back", func() bool { n, err := k.LogSize(t.Context()); return err == nil && n == 203 })
	same(t, k.Store, k.o)
}

// A mark that begins with a log in PostgreSQL does not say that this machine has sent it.
func TestAMarkBeginsWithWhatWasCompared(t *testing.T) {
	o := pgtest.Options(t, "k")
	k := &forwarding{t: t, dir: t.TempDir(), o: o}
	begin := func() { k.Store = open(t, filepath.Join(k.dir, "belay.db"), o, forward.Options{}) } // without a mark
	begin()
	commit(t, k, batch("before"))
	same(t, k.Store, o)
	restore := k.copied()
	begin()
	commit(t, k, batch("of another"))
	same(t, k.Store, o)
	newer := k.copied()
	restore()
	k = k.again(nil)
	until(t, "told", func() bool { return k.State().Forked != "" })
	if n, err := k.LogSize(t.Context()); err != nil || n != 1 {
		t.Errorf("the log has %d events, %v", n, err)
	}
	kill(t, k.Store)
	newer()
	k = k.again(nil)
	k.sent()
	if st, _, err := k.guard.Look(); err != nil || st.Head.Size != 2 {
		t.Errorf("the mark says %+v, %v", st, err)
	}
}

// An older belay.db is brought back while PostgreSQL, which has the events that it lacks, is away. It is not recovered
// before it is known whether they come back.
func TestAnOlderCopyIsNotRecoveredWithoutItsEvents(t *testing.T) {
	for name, gone := range map[string]bool{"they are there": false, "they are gone as well": true} {
		t.Run(name, func(t *testing.T) {
			o := pgtest.Options(t, "k")
			p := pgtest.NewProxy(t)
			o.DSN = p.DSN(t)
			k := openForwarding(t, o)
			commit(t, k, batch("before"))
			k.sent()
			older := k.copied()
			lose := save(t, o.Schema)
			k = k.again(nil)
			commit(t, k, batch("lost"))
			k.sent()
			kill(t, k.Store)
			older()
			p.Down(true)
			k = k.again(nil)
			advise := func() (marked.Advice, error) { return marked.Advice{}, nil }
			asked := 0
			recovers := func() error {
				return k.Recover(t.Context(), advise, func(now marked.Stand) (d marked.Decision, err error) {
					if asked++; now.Forwarded {
						return d, wellError{}
					}
					d.Event, d.Mark = batch("recovered").Events[0], now.Mark
					d.Event.Type = phases.EventRecovery
					d.Mark.Epoch, d.Mark.Head = d.Mark.Epoch+1, now.Database
					return d, nil
				})
			}
			if err := recovers(); !errors.Is(err, kernel.ErrUnavailable) || asked != 0 ||
				!strings.Contains(err.Error(), "lacks events 2 to 2") {
				t.Fatalf("without PostgreSQL: %v, and a plan was asked for %d times", err, asked)
			}
			if gone {
				lose()
			}
			p.Down(false)
			err := recovers()
			if es := events(t, k); gone && (err != nil || len(es) != 2 || es[1].Type != phases.EventRecovery) ||
				!gone && (!errors.Is(err, wellError{}) || len(es) != 2 || es[1].ID != "lost") {
				t.Errorf("%v, %+v", err, es)
			}
			if !gone {
				k.sent()
				same(t, k.Store, pgtestDirect(t, o))
			}
		})
	}
}

// A batch is in PostgreSQL and not yet here, and belay.db has to be recovered. The recovery takes the number behind it.
func TestRecoverWithAnUnsettledBatch(t *testing.T) {
	k := openForwarding(t, pgtest.Options(t, "k"))
	commit(t, k, minted("l", 3))
	k.sent()
	k.SetFault(func(at string) error {
		if at == "recorded" || at == "settle" {
			return errors.New("failed by the test")
		}
		return nil
	})
	if _, err := k.Commit(t.Context(), claimed("claim", "l")); err == nil {
		t.Fatal("it was settled")
	}
	kill(t, k.Store)
	if err := os.RemoveAll(filepath.Join(k.dir, "own")); err != nil {
		t.Fatal(err)
	}
	k = k.again(nil)
	if _, err := k.Commit(t.Context(), batch("refused")); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("without the mark: %v", err)
	}
	until(t, "told", func() bool { return k.State().Lost != "" || strings.Contains(k.State().Why, "belay.db") })
	if st := k.State(); st.Lost != "" {
		t.Errorf("PostgreSQL is said to have lost something: %+v", st)
	}
	err := refused(t, k, claimed("too early", "l"))
	if text := err.Error(); strings.Contains(text, "PostgreSQL, which") || !strings.Contains(text, "wait for belay.db") {
		t.Errorf("a claim answers %v", err)
	}
	advise := func() (marked.Advice, error) { return marked.Advice{}, nil }
	err = k.Recover(t.Context(), advise, func(now marked.Stand) (d marked.Decision, err error) {
		if now.Forwarded || !errors.Is(now.Wrong, highwater.ErrMissing) {
			t.Errorf("%+v", now)
		}
		d.Event = batch("recovered").Events[0]
		d.Event.Type = phases.EventRecovery
		d.Mark = &highwater.State{Store: now.Store, Epoch: 1, Head: now.Database, Uses: map[string]highwater.Use{}}
		return d, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if es := events(t, k); len(es) < 3 || es[1].ID != "claim" || es[2].Type != phases.EventRecovery {
		t.Errorf("%+v", es)
	}
	k.sent()
	if n := uses(t, k, "l"); n != 1 {
		t.Errorf("the lease has %d uses", n)
	}
	commit(t, k, minted("next", 1))
	same(t, k.Store, k.o)
}
