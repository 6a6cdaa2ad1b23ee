package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var errDisk = errors.New("the disk does not answer")

// faulty is a log of which one call, counted from 1, fails. before is called in front of each.
type faulty struct {
	kernel.Log
	fails, calls int
	before       func(call int)
}

func (f *faulty) call() error {
	f.calls++
	if f.before != nil {
		f.before(f.calls)
	}
	if f.calls == f.fails {
		return errDisk
	}
	return nil
}

// asked makes a call of the log unless it is the one that fails, which answers nothing.
func asked[T any](f *faulty, call func() (T, error)) (T, error) {
	if err := f.call(); err != nil {
		var none T
		return none, err
	}
	return call()
}

func (f *faulty) LogSize(ctx context.Context) (int64, error) {
	return asked(f, func() (int64, error) { return f.Log.LogSize(ctx) })
}

func (f *faulty) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	return asked(f, func() ([]kernel.LogLeaf, error) { return f.Log.LogLeaves(ctx, after, limit) })
}

func (f *faulty) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	return asked(f, func() ([][32]byte, error) { return f.Log.LogHashes(ctx, indexes) })
}

func (f *faulty) Checkpoints(ctx context.Context) ([][]byte, error) {
	return asked(f, func() ([][]byte, error) { return f.Log.Checkpoints(ctx) })
}

func (f *faulty) LogCompacted(ctx context.Context) (kernel.Compacted, error) {
	return asked(f, func() (kernel.Compacted, error) { return f.Log.LogCompacted(ctx) })
}

func (f *faulty) Restrictions(ctx context.Context) (kernel.Restrictions, error) {
	return asked(f, func() (kernel.Restrictions, error) { return f.Log.Restrictions(ctx) })
}

func (f *faulty) LogRemove(ctx context.Context, limit int) (int64, error) {
	return asked(f, func() (int64, error) { return f.Log.LogRemove(ctx, limit) })
}

func (f *faulty) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return asked(f, func() ([]phases.Event, error) { return f.Log.(kernel.Store).Events(ctx, q) })
}

// commit adds a batch, and fails the test if that is not possible.
func commit(t testing.TB, s kernel.Store, b kernel.Batch) {
	t.Helper()
	b.Now = t0
	if _, err := s.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// verdicts adds n events, each in a batch of its own.
func verdicts(t testing.TB, s kernel.Store, n int) {
	t.Helper()
	size, err := s.LogSize(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(n) {
		commit(t, s, kernel.Batch{Events: []phases.Event{{ID: fmt.Sprint("v", size+i), Type: phases.EventVerdict, Time: t0}}})
	}
}

// compacted returns a log of 12 events with one of each thing that Verify reads: event 9 announces that 1 to 6 are
// compacted, 4 of them are removed; one checkpoint in the store, and one outside, cover 8 events.
func compacted(t testing.TB, k *eventlog.Key) (s kernel.Store, outside []byte) {
	t.Helper()
	s = memory.New()
	verdicts(t, s, 7)
	commit(t, s, latching("l", "claude", "s1", "why", t0))
	_, note, err := eventlog.Mark(t.Context(), s, k, t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddCheckpoint(t.Context(), 8, note); err != nil {
		t.Fatal(err)
	}
	if err := announce(t, s, k, 6, "gone"); err != nil {
		t.Fatal(err)
	}
	verdicts(t, s, 3)
	if left, err := s.LogRemove(t.Context(), 4); err != nil || left != 2 {
		t.Fatalf("%d events are left to be removed: %v", left, err)
	}
	return s, note
}

// eachFailure makes every call fail in turn, until one more than there are.
func eachFailure(t *testing.T, log kernel.Log, try func(t *testing.T, f *faulty)) {
	t.Helper()
	for n := 1; ; n++ {
		f := &faulty{Log: log, fails: n}
		try(t, f)
		if f.calls < n {
			if n < 3 {
				t.Fatalf("only %d calls were made", n-1)
			}
			return
		}
	}
}

// A log that cannot be read is never one that verifies: whichever read fails, the answer is an error that tells
// nothing else, or, where events are there and only the hashes to compare them with are not, a finding that says so.
func TestALogThatCannotBeReadDoesNotVerify(t *testing.T) {
	k := newKey(t, 1)
	s, outside := compacted(t, k)
	ev := eventlog.Evidence{Verifier: k.Verifier(), Outside: [][]byte{outside}, Torn: 1}
	eachFailure(t, s, func(t *testing.T, f *faulty) {
		r, err := eventlog.Verify(t.Context(), f, ev)
		switch {
		case f.calls < f.fails: // nothing has failed
			if err != nil {
				t.Fatal(err)
			}
			want := eventlog.Report{
				Events: 12, Compacted: 4, Announced: 9, Checkpoints: 1, Outside: 1, Covered: 8, Uncovered: 4, Torn: 1,
				Restrictions: recordedIn(t, s),
			}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("the sound log (-want +got):\n%s", diff)
			}
		case err != nil:
			if !errors.Is(err, eventlog.ErrLog) || !errors.Is(err, errDisk) {
				t.Errorf("call %d fails: %v, want ErrLog and the cause", f.fails, err)
			}
			if diff := cmp.Diff(eventlog.Report{}, r); diff != "" {
				t.Errorf("call %d fails: something is known nevertheless (-want +got):\n%s", f.fails, diff)
			}
		case r.Wrong == nil:
			t.Errorf("call %d fails: the log verifies: %+v", f.fails, r)
		case !strings.Contains(r.Wrong.Text, "cannot be read: "+errDisk.Error()):
			t.Errorf("call %d fails: %+v, want a finding that says that hashes cannot be read", f.fails, r.Wrong)
		}
	})
}

// recordedIn returns what the newest event of a store records of the rows that restrict.
func recordedIn(t testing.TB, s kernel.Store) string {
	t.Helper()
	r, err := s.Restrictions(context.Background())
	if err != nil || r.Recorded == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Recorded
}

// Nothing is made of a log that cannot be read.
func TestNothingIsMadeOfALogThatCannotBeRead(t *testing.T) {
	k := newKey(t, 1)
	s, _ := compacted(t, k)
	for _, tc := range []struct {
		name string
		make func(ctx context.Context, log kernel.Log) (made any, nothing bool, err error)
	}{
		{"checkpoint", func(ctx context.Context, log kernel.Log) (any, bool, error) {
			c, note, err := eventlog.Mark(ctx, log, k, t0)
			return c, c == eventlog.Checkpoint{} && note == nil, err
		}},
		{"proof", func(ctx context.Context, log kernel.Log) (any, bool, error) {
			p, err := eventlog.Prove(ctx, log, k, 7, t0)
			return p, p == nil, err
		}},
		{"statement", func(ctx context.Context, log kernel.Log) (any, bool, error) {
			st, err := eventlog.Announce(ctx, log, k, 7, "me", "why", t0)
			return st, st == nil, err
		}},
		{"latches", func(ctx context.Context, log kernel.Log) (any, bool, error) {
			l, err := eventlog.Latches(ctx, log, k.Verifier())
			return l, l == nil, err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachFailure(t, s, func(t *testing.T, f *faulty) {
				made, nothing, err := tc.make(t.Context(), f)
				if f.calls < f.fails {
					if err != nil || nothing {
						t.Errorf("nothing fails: %+v, %v", made, err)
					}
					return
				}
				if !nothing || !errors.Is(err, eventlog.ErrLog) || !errors.Is(err, errDisk) {
					t.Errorf("call %d fails: %+v, %v, want ErrLog with the cause", f.fails, made, err)
				}
			})
		})
	}
}

// A removal that is stopped says how much it has done, and the next one does the rest.
func TestARemovalThatFailsGoesOn(t *testing.T) {
	k := newKey(t, 1)
	const events, given = 1300, 1200
	for n := 1; ; n++ {
		s := memory.New()
		batch := kernel.Batch{}
		for i := range events {
			batch.Events = append(batch.Events, phases.Event{ID: fmt.Sprint("e", i), Type: phases.EventVerdict, Time: t0})
		}
		commit(t, s, batch)
		if err := announce(t, s, k, given, "gone"); err != nil {
			t.Fatal(err)
		}
		f := &faulty{Log: s, fails: n}
		removed, err := eventlog.Remove(t.Context(), f, k.Verifier())
		if f.calls < n {
			if err != nil || removed != given {
				t.Errorf("nothing fails: %d removed, %v", removed, err)
			}
			return
		}
		if !errors.Is(err, eventlog.ErrLog) || !errors.Is(err, errDisk) {
			t.Errorf("call %d fails: %v, want ErrLog with the cause", n, err)
		}
		if first := firstOf(t, s); first != removed+1 {
			t.Errorf("call %d fails: %d events are said to be removed, the first is %d", n, removed, first)
		}
		rest, err := eventlog.Remove(t.Context(), s, k.Verifier())
		if err != nil || removed+rest != given || firstOf(t, s) != given+1 {
			t.Errorf("after call %d has failed: %d and %d removed, the first is %d: %v", n, removed, rest, firstOf(t, s), err)
		}
		if again, err := eventlog.Remove(t.Context(), s, k.Verifier()); err != nil || again != 0 {
			t.Errorf("with nothing left: %d removed, %v", again, err)
		}
	}
}

func firstOf(t testing.TB, s kernel.Log) int64 {
	t.Helper()
	leaves, err := s.LogLeaves(context.Background(), 0, 1)
	if err != nil || len(leaves) != 1 {
		t.Fatalf("%+v, %v", leaves, err)
	}
	return leaves[0].Seq
}

// A context that is done stops a removal between two steps.
func TestARemovalStopsWithItsContext(t *testing.T) {
	k := newKey(t, 1)
	s, _ := compacted(t, k)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	removed, err := eventlog.Remove(ctx, s, k.Verifier())
	if removed != 0 || !errors.Is(err, eventlog.ErrLog) || !errors.Is(err, context.Canceled) || firstOf(t, s) != 5 {
		t.Errorf("%d removed, %v; the first is %d", removed, err, firstOf(t, s))
	}
}

// Another process may remove announced events while the log is verified. That is no fault of the log, whichever read
// follows.
func TestCompactionWhileVerifying(t *testing.T) {
	k := newKey(t, 1)
	for n := 1; ; n++ {
		s := memory.New()
		batch := kernel.Batch{}
		for i := range 300 { // more than are read at once
			batch.Events = append(batch.Events, phases.Event{ID: fmt.Sprint("e", i), Type: phases.EventVerdict, Time: t0})
		}
		commit(t, s, batch)
		if err := announce(t, s, k, 290, "gone"); err != nil {
			t.Fatal(err)
		}
		f := &faulty{Log: s}
		f.before = func(call int) {
			if call == n {
				if _, err := s.LogRemove(context.Background(), 280); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := eventlog.Verify(t.Context(), f, eventlog.Evidence{Verifier: k.Verifier()})
		if err != nil || r.Wrong != nil || r.Events != 301 {
			t.Fatalf("removed before call %d: %+v, %+v, %v", n, r, r.Wrong, err)
		}
		if r.Compacted != 0 && (r.Compacted != 280 || r.Announced != 301) || r.Compacted == 0 && r.Announced != 0 {
			t.Fatalf("removed before call %d: %+v", n, r)
		}
		if f.calls < n {
			return
		}
		if n == 10 { // in the middle of the first page nothing differs from call to call
			n = f.calls - 60
		}
	}
}

// Events that others add while the log is verified are not in the report, and nothing is wrong with them.
func TestEventsAddedWhileVerifying(t *testing.T) {
	k := newKey(t, 1)
	for n := 3; ; n++ { // the checkpoints are read by the first call, the size by the second
		s := memory.New()
		verdicts(t, s, 5)
		f := &faulty{Log: s}
		f.before = func(call int) {
			if call == n {
				verdicts(t, s, 2)
			}
		}
		r, err := eventlog.Verify(t.Context(), f, eventlog.Evidence{Verifier: k.Verifier()})
		if err != nil || r.Wrong != nil || r.Events != 5 {
			t.Fatalf("added before call %d: %+v, %+v, %v", n, r, r.Wrong, err)
		}
		if f.calls < n {
			return
		}
	}
}

// latching latches a session as the kernel does.
func latching(id, runtime, session, reason string, since time.Time) kernel.Batch {
	l := kernel.Latch{
		Runtime: runtime, Session: session, Reason: reason, Kind: phases.KindTrap,
		DecidedBy: "hook", Invocation: "i-" + id, Since: since,
	}
	return kernel.Batch{Latch: &l, Events: []phases.Event{{
		ID: id, Type: phases.EventLatch, Time: since, Invocation: l.Invocation, Runtime: runtime, Session: session,
		Decision: kernel.DecisionLatched, Reason: reason, Kind: l.Kind, DecidedBy: l.DecidedBy,
	}}}
}

// clearing clears the latch of a session as the kernel does.
func clearing(id, runtime, session string) kernel.Batch {
	key := wire.Session{Runtime: runtime, Session: session}
	return kernel.Batch{ClearLatch: &key, Events: []phases.Event{
		{ID: id, Type: phases.EventLatch, Time: t0, Runtime: runtime, Session: session, Decision: "cleared"},
	}}
}
