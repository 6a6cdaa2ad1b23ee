package kernel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// stuck is a store whose commits hang until it is let go.
type stuck struct {
	kernel.Store
	free chan struct{}
}

func (s *stuck) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	<-s.free
	return s.Store.Commit(ctx, b)
}

// overloadRefusal is what a daemon refuses that has no room.
func overloadRefusal(n int, p phases.Phase, unblockable bool) kernel.Refusal {
	inv := invocation(p)
	inv.Session = fmt.Sprintf("s-%d", n)
	return kernel.Refusal{Invocation: inv, Unblockable: unblockable,
		Fault: phases.NewFault(phases.KindDeadline, "too many wait", kernel.ErrOverloaded)}
}

// A store that hangs holds up no refusal under overload: each is answered as a block at
// once and noted, and once the store answers, each is logged exactly once.
func TestRefusalsUnderOverloadDoNotWaitForTheStore(t *testing.T) {
	dir := t.TempDir()
	store := &stuck{memory.New(), make(chan struct{})}
	close(store.free)
	h := newHost(t, []hook{{name: "guard", run: effects()}}, func(_ *kernel.Config, o *kernel.Options) {
		o.Store, o.SpoolPath = store, filepath.Join(dir, notes.SpoolName)
	})
	store.free = make(chan struct{})
	const refusals = 100 // more than are recorded at once
	done := make(chan phases.Verdict, refusals)
	for n := range refusals {
		go func() {
			v, _ := h.Refuse(t.Context(), overloadRefusal(n, phases.PreTool, false))
			done <- v
		}()
	}
	for range refusals {
		select {
		case v := <-done:
			if v.Decision != phases.Block || v.Event != nil || v.Reason != "too many wait" {
				t.Fatalf("%+v", v)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a refusal waits for the store")
		}
	}
	spooled := func() (files []string, noted int) {
		files, _ = filepath.Glob(filepath.Join(dir, notes.SpoolName) + "*")
		for _, f := range files { // one is that of a report that hangs
			n, dropped := notes.Read(f)
			noted += len(n) + dropped
		}
		return files, noted
	}
	if _, n := spooled(); n != refusals {
		t.Fatalf("%d notes for a process that would be killed now", n)
	}
	close(store.free)
	onRecord := func() (n int) {
		if err := h.OverloadEnded(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, e := range h.events(t, wire.Query{Type: phases.EventGap}) {
			var g struct{ Blocked int }
			if err := json.Unmarshal(e.Output, &g, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			n += g.Blocked
		}
		return n + len(h.events(t, wire.Query{Type: phases.EventFailure}))
	}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if files, _ := spooled(); onRecord() >= refusals && len(files) == 0 {
			break
		}
	}
	if n := onRecord(); n != refusals {
		t.Errorf("%d refusals are logged, want %d", n, refusals)
	}
	if left, _ := spooled(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if health := h.Health(); !health.OK {
		t.Errorf("a slow store is taken for one that fails: %s", health.Reason)
	}
}

// A refusal that was answered before its latch is logged holds its session all the
// same: what comes next of the session waits for the latch, in this process and the next.
func TestALatchUnderOverloadIsOwed(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "the next process": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), notes.SpoolName)
			store := &stuck{memory.New(), make(chan struct{})}
			close(store.free)
			guard := []hook{{name: "guard", phases: []phases.Phase{phases.PrePlan, phases.PreTool}, run: effects()}}
			spooled := func(s kernel.Store) change {
				return func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = s, path }
			}
			h := newHost(t, guard, spooled(store))
			store.free = make(chan struct{})
			v, _ := h.Refuse(t.Context(), overloadRefusal(7, phases.PrePlan, true))
			if v.Enforced != phases.EnforcedLatched || v.Event != nil {
				t.Fatalf("%+v", v)
			}
			if restart {
				if fi, err := os.Stat(path); err != nil || fi.Size() == 0 {
					t.Fatalf("no note: %v", err)
				}
				h = newHost(t, guard, spooled(memory.New())) // the commit of the other one is lost
			} else {
				close(store.free)
			}
			inv := invocation(phases.PreTool)
			inv.Session = "s-7"
			if v, _ := h.InvokeWith(t.Context(), inv, kernel.InvokeOptions{}); v.Decision != phases.Block ||
				v.Enforced != phases.EnforcedLatched {
				t.Errorf("the session goes on: %+v", v)
			}
		})
	}
}

// stuckOnce is a store in which one commit hangs, and others go on.
type stuckOnce struct {
	kernel.Store
	armed atomic.Bool
	free  chan struct{}
}

func (s *stuckOnce) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if s.armed.CompareAndSwap(true, false) {
		<-s.free
	}
	return s.Store.Commit(ctx, b)
}

// While the record of such a refusal still hangs the session is held by its note.
func TestALatchWhoseRecordHangsHolds(t *testing.T) {
	store := &stuckOnce{Store: memory.New(), free: make(chan struct{})}
	h := newHost(t, []hook{{name: "guard", phases: []phases.Phase{phases.PrePlan, phases.PreTool}, run: effects()}},
		func(_ *kernel.Config, o *kernel.Options) {
			o.Store, o.SpoolPath = store, filepath.Join(t.TempDir(), notes.SpoolName)
		})
	store.armed.Store(true)
	defer close(store.free)
	if v, _ := h.Refuse(t.Context(), overloadRefusal(7, phases.PrePlan, true)); v.Enforced != phases.EnforcedLatched ||
		v.Event != nil {
		t.Fatalf("%+v", v)
	}
	inv := invocation(phases.PreTool)
	inv.Session = "s-7"
	if v, _ := h.InvokeWith(t.Context(), inv, kernel.InvokeOptions{}); v.Decision != phases.Block ||
		v.Enforced != phases.EnforcedLatched {
		t.Errorf("the session goes on: %+v", v)
	}
}
