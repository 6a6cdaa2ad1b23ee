package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func allOrNothing(t *testing.T, store kernel.Store) {
	commit(t, store, kernel.Batch{Events: []phases.Event{event("a")}})
	key := phases.RunKey{Runtime: "r", Session: "s"}
	bad := kernel.Batch{
		Now:         T0,
		Events:      []phases.Event{event("b"), event("a")}, // the second id is taken
		Run:         &kernel.RunWrite{Key: key, Metadata: phases.Metadata{"k": {Value: jsontext.Value("1")}}},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}},
		Latch:       &kernel.Latch{Runtime: "r", Session: "s", Since: T0},
	}
	if _, err := store.Commit(t.Context(), bad); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit with a taken id: %v, want ErrUnavailable", err)
	}
	// Text that is not UTF-8 cannot be encoded.
	broken := event("c")
	broken.Reason = "\xff"
	if _, err := store.Commit(t.Context(), kernel.Batch{Now: T0, Events: []phases.Event{broken}}); !errors.Is(err,
		kernel.ErrUnavailable) {
		t.Fatalf("Commit with broken text: %v, want ErrUnavailable", err)
	}
	if _, err := store.Commit(t.Context(), kernel.Batch{Now: T0, Events: []phases.Event{event("")}}); !errors.Is(err,
		kernel.ErrUnavailable) {
		t.Fatalf("Commit without an id: %v, want ErrUnavailable", err)
	}
	if es := all(t, store); len(es) != 1 {
		t.Errorf("%d events are left of refused batches", len(es)-1)
	}
	if r, err := store.RunState(t.Context(), key, T0); err != nil || r.Version != 0 || len(r.Metadata) != 0 {
		t.Errorf("metadata is left of a refused batch: %+v, %v", r, err)
	}
	if v, err := store.HookState(t.Context(), "n", "k"); err != nil || v.Version != 0 {
		t.Errorf("state is left of a refused batch: %+v, %v", v, err)
	}
	if ls, err := store.Latches(t.Context()); err != nil || len(ls) != 0 {
		t.Errorf("a latch is left of a refused batch: %+v, %v", ls, err)
	}
	if r := commit(t, store, kernel.Batch{Events: []phases.Event{event("d")}}); r.First != 2 {
		t.Errorf("the next event has number %d, want 2", r.First)
	}
}

func concurrentIncrements(t *testing.T, store kernel.Store) {
	const workers, each = 8, 12
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				for {
					v, err := store.HookState(context.Background(), "n", "counter")
					if err != nil {
						t.Errorf("HookState: %v", err)
						return
					}
					n, _ := strconv.Atoi(string(v.Value))
					_, err = store.Commit(context.Background(), kernel.Batch{
						Now:         T0,
						Events:      []phases.Event{event(fmt.Sprintf("%d-%d", w, i))},
						StateReads:  []kernel.StateRead{{Namespace: "n", Key: "counter", Version: v.Version}},
						StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "counter", Value: []byte(strconv.Itoa(n + 1))}},
					})
					if err == nil {
						break
					}
					if !errors.Is(err, kernel.ErrConflict) {
						t.Errorf("Commit: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	v, err := store.HookState(t.Context(), "n", "counter")
	if err != nil || string(v.Value) != strconv.Itoa(workers*each) {
		t.Errorf("counter is %q, %v; want %d", v.Value, err, workers*each)
	}
	es := all(t, store)
	for i, e := range es {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
	if len(es) != workers*each {
		t.Errorf("%d events, want %d", len(es), workers*each)
	}
}

func cancelled(t *testing.T, s kernel.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Commit(ctx, kernel.Batch{Now: T0, Events: []phases.Event{event("a")}}); !errors.Is(err,
		kernel.ErrUnavailable) {
		t.Errorf("Commit: %v, want ErrUnavailable", err)
	}
	if _, err := s.Events(ctx, wire.Query{}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Events: %v, want ErrUnavailable", err)
	}
	if es := all(t, s); len(es) != 0 {
		t.Errorf("a cancelled commit left %d events", len(es))
	}
}

func closed(t *testing.T, s kernel.Store) {
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	_, errCommit := s.Commit(t.Context(), kernel.Batch{Now: T0})
	_, errEvents := s.Events(t.Context(), wire.Query{})
	_, errRun := s.RunState(t.Context(), phases.RunKey{}, T0)
	_, errState := s.HookState(t.Context(), "", "")
	_, errUsage := s.StateUsage(t.Context(), "")
	_, errLatch := s.Latch(t.Context(), wire.Session{})
	_, errLatches := s.Latches(t.Context())
	for i, err := range []error{errCommit, errEvents, errRun, errState, errUsage, errLatch, errLatches} {
		if !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("call %d on a closed store: %v, want ErrUnavailable", i, err)
		}
	}
}

func ownership(t *testing.T, store kernel.Store) {
	value := []byte("abc")
	meta := phases.Metadata{"k": {Value: jsontext.Value(`"abc"`)}}
	e := event("a")
	e.Masked = []string{"/input"}
	key := phases.RunKey{Runtime: "r", Session: "s"}
	commit(t, store, kernel.Batch{
		Events: []phases.Event{e}, Run: &kernel.RunWrite{Key: key, Metadata: meta},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: value}},
	})
	value[0], meta["k"].Value[1], e.Masked[0] = 'X', 'X', "X"
	delete(meta, "k")
	for range 2 {
		stateValue, err := store.HookState(t.Context(), "n", "k")
		if err != nil || string(stateValue.Value) != "abc" {
			t.Errorf("state is %q, %v", stateValue.Value, err)
		}
		r, err := store.RunState(t.Context(), key, T0)
		if err != nil || string(r.Metadata["k"].Value) != `"abc"` {
			t.Errorf("metadata is %v, %v", r.Metadata, err)
			return
		}
		es := all(t, store)
		if es[0].Masked[0] != "/input" {
			t.Errorf("event is %+v", es[0])
		}
		stateValue.Value[0], r.Metadata["k"].Value[1], es[0].Masked[0] = 'Y', 'Y', "Y" // the reader's copies
	}
}

func emptyBatch(t *testing.T, s kernel.Store) {
	if r := commit(t, s, kernel.Batch{}); r != (kernel.Receipt{}) {
		t.Errorf("receipt %+v for nothing", r)
	}
}

func conflictTraces(t *testing.T, store kernel.Store) {
	k := wire.Session{Runtime: "r", Session: "s"}
	key := phases.RunKey{Runtime: "r", Session: "s"}
	wantConflict(t, store, kernel.Batch{
		Events: []phases.Event{event("a")}, Latch: &kernel.Latch{Runtime: k.Runtime, Session: k.Session, Since: T0},
		Run:         &kernel.RunWrite{Key: key, Version: 7},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}},
	})
	wantConflict(t, store, kernel.Batch{
		Events: []phases.Event{event("a")}, Run: &kernel.RunWrite{Key: key},
		StateReads: []kernel.StateRead{{Namespace: "n", Key: "k", Version: 3}},
	})
	l, err1 := store.Latch(t.Context(), k)
	v, err2 := store.HookState(t.Context(), "n", "k")
	r, err3 := store.RunState(t.Context(), key, T0)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if l != nil || v.Version != 0 || r.Version != 0 || len(all(t, store)) != 0 {
		t.Errorf("a conflict left traces: %v %v %v %v", l, v, r, all(t, store))
	}
}
