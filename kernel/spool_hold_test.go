package kernel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// More refusals than there is space for notes: a session that has to be held is held also
// when its name was not noted, with all of its runtime, until a person clears that. Where
// every latch would have ended with its cause, no session is.
func TestSessionsWithoutSpaceForTheirNotesAreHeld(t *testing.T) {
	for name, c := range map[string]struct {
		killed bool
		phase  phases.Phase // of the refusal; PrePlan is judged by the hook, Audit by none
		held   bool
	}{
		"the next process, judged":     {true, phases.PrePlan, true},
		"the next process, not judged": {true, phases.Audit, false},
		"no file, judged":              {false, phases.PrePlan, true},
		"no file, not judged":          {false, phases.Audit, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := ""
			if c.killed {
				path = filepath.Join(t.TempDir(), notes.SpoolName)
				if err := os.Mkdir(path, 0o700); err != nil { // the file cannot be made
					t.Fatal(err)
				}
			}
			guard := []hook{{name: "guard", phases: []phases.Phase{phases.PrePlan, phases.PreTool}, run: effects()}}
			spooled := func(s kernel.Store) change {
				return func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = s, path }
			}
			store := &faulty{Store: memory.New()}
			h := newHost(t, guard, spooled(store))
			store.arm(0, 1, true)
			const blocked = 2000
			for n := range blocked {
				r := overloadRefusal(n, c.phase, true)
				if c.phase == phases.Audit {
					r.Why = phases.LatchStore
				} else {
					r.Why = phases.LatchFailure
				}
				r.Fault = phases.NewFault(phases.KindStore, "the disk is full", nil)
				if v, _ := h.Refuse(t.Context(), r); v.Decision != phases.Block || v.Event != nil {
					t.Fatalf("%+v", v)
				}
			}
			if c.killed {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				h = newHost(t, guard, spooled(memory.New()))
			} else {
				store.disarm()
			}
			if err := h.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			passes := func(runtime, session string) bool {
				inv := invocation(phases.PreTool)
				inv.Runtime, inv.Session = runtime, session
				v, err := h.InvokeWith(t.Context(), inv, kernel.InvokeOptions{})
				if err != nil && v.Decision != phases.Block {
					t.Fatal(err)
				}
				return v.Decision == phases.Allow
			}
			for _, session := range []string{"s-0", "s-1999", "another", ""} {
				if passes("custom", session) == c.held {
					t.Errorf("the session %q is held: %v, want %v", session, !c.held, c.held)
				}
			}
			if !passes("other", "s-1999") {
				t.Error("another runtime is held")
			}
			if !c.held {
				return
			}
			list, err := h.Latches(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			whole := 0
			for _, l := range list {
				if l.Scope() == "runtime" {
					whole++
					if l.Runtime != "custom" || l.Ends != phases.EndsByPerson || l.Why() != phases.LatchFailure ||
						!strings.Contains(l.Reason, "no space") {
						t.Errorf("%+v", l)
					}
				}
			}
			if whole != 1 || len(list) < 100 {
				t.Errorf("%d of %d latches hold the runtime", whole, len(list))
			}
			if err := h.ClearLatch(t.Context(), wire.Session{Runtime: "custom"}, "uid 1000", nil); err != nil {
				t.Fatal(err)
			}
			if passes("custom", "s-0") || !passes("custom", "another") {
				t.Error("after the runtime was freed: s-0 has a latch of its own, another session has none")
			}
		})
	}
}

// A latch of a whole runtime is kept whatever comes to what names no session, and the other
// way round it takes that one's place.
func TestALatchOfARuntimeIsWiderThanOneOfWhatNamesNoSession(t *testing.T) {
	whole := kernel.Latch{Runtime: "custom", Ends: phases.EndsWithCause}
	unnamed := kernel.Latch{Runtime: "custom", Ends: phases.EndsByPerson, Unnamed: true}
	if !whole.Replaces(&unnamed) || unnamed.Replaces(&whole) || !whole.Replaces(nil) || !unnamed.Replaces(nil) ||
		unnamed.Replaces(&unnamed) {
		t.Error("the wider one gives way")
	}
}

// failOnce is a store in which one commit hangs, and then fails or does not.
type failOnce struct {
	kernel.Store
	armed, fail atomic.Bool
	free        chan struct{}
}

func (s *failOnce) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if s.armed.CompareAndSwap(true, false) {
		<-s.free
		if s.fail.Load() {
			return kernel.Receipt{}, errors.Join(kernel.ErrUnavailable, errDisk)
		}
	}
	return s.Store.Commit(ctx, b)
}

// A refusal whose latch was set before its record was written is told once: by its record,
// or, if that fails, by the gap.
func TestALateRecordIsToldOnce(t *testing.T) {
	for name, fails := range map[string]bool{"the record is written": false, "the record fails": true} {
		t.Run(name, func(t *testing.T) {
			store := &failOnce{Store: memory.New(), free: make(chan struct{})}
			guard := []hook{{name: "guard", phases: []phases.Phase{phases.PrePlan, phases.PreTool}, run: effects()}}
			h := newHost(t, guard, func(_ *kernel.Config, o *kernel.Options) {
				o.Store, o.SpoolPath = store, filepath.Join(t.TempDir(), notes.SpoolName)
			})
			store.fail.Store(fails)
			store.armed.Store(true)
			r := overloadRefusal(7, phases.PrePlan, true)
			r.Why = phases.LatchOverload
			v, _ := h.Refuse(t.Context(), r)
			if v.Enforced != phases.EnforcedLatched || v.Event != nil {
				t.Fatalf("%+v", v)
			}
			told := func() (n int) {
				if err := h.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, e := range h.events(t, wire.Query{}) {
					switch {
					case e.Type == phases.EventFailure && e.Invocation == v.ID:
						n++
					case e.Type == phases.EventGap:
						n += strings.Count(string(e.Output), v.ID) + strings.Count(string(e.Output), `"blocked":0`)
					}
				}
				return n
			}
			if n := told(); n != 0 {
				t.Errorf("told %d times while its record is being written", n)
			}
			if l := latched(t, h); l.Session != "s-7" || l.Event != "" {
				t.Errorf("%+v", l)
			}
			close(store.free)
			end := time.Now().Add(10 * time.Second)
			for told() == 0 && time.Now().Before(end) {
				time.Sleep(5 * time.Millisecond)
			}
			for range 3 {
				if n := told(); n != 1 {
					t.Errorf("told %d times", n)
				}
			}
			if l := latched(t, h); l.Session != "s-7" {
				t.Errorf("%+v", l)
			}
		})
	}
}
