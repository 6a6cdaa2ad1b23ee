package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A store that fails while a refused event is judged makes the event wait: it is judged, and
// its session is free, when the store answers again.
func TestJudgingWithAStoreThatFails(t *testing.T) {
	failed := 0
	for n := 1; ; n++ {
		h, f := newFaultyHost(t, on(phases.PrePlan), retaining)
		refuseFor(t, h, phases.LatchStore, invocation(phases.PrePlan))
		f.arm(n, 0, false)
		_, _ = h.Invoke(t.Context(), invocation(phases.PreTool))
		call := f.disarm()
		if call == "" {
			break
		}
		failed++
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
			t.Errorf("call %d, %s, had failed: %+v", n, call, v)
		}
		if list, err := h.Latches(t.Context()); err != nil || len(list) != 0 || len(judged(t, h)) != 1 {
			t.Errorf("call %d, %s, had failed: latches %+v, judged %d times, %v", n, call, list, len(judged(t, h)), err)
		}
	}
	if failed < 4 {
		t.Errorf("%d calls", failed)
	}
}

// A refusal that comes after a gap is recorded behind the event that reports the gap, or not at all.
func TestRefusalsBehindAGap(t *testing.T) {
	for n := 1; ; n++ {
		h, f := newFaultyHost(t, nil)
		f.arm(0, 1, true)
		if v, err := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Event != nil || err == nil {
			t.Fatalf("logged: %+v", v)
		}
		f.disarm()
		f.arm(n, 0, false)
		v, err := h.Refuse(t.Context(),
			kernel.Refusal{Invocation: invocation(phases.PreTool), Fault: phases.NewFault(phases.KindProtocol, "no", nil)})
		call := f.disarm()
		gaps := h.events(t, wire.Query{Type: phases.EventGap})
		if v.Event != nil && len(gaps) != 1 {
			t.Errorf("call %d, %q, had failed: it is logged before the gap is", n, call)
		}
		if call == "" {
			return
		}
		if v.Decision != phases.Block || v.Event != nil && errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("call %d, %s, failed: %+v, %v", n, call, v, err)
		}
	}
}

// What memory could not hold of blocked actions is counted in one gap event, and not again.
func TestDroppedNotesAreCountedOnce(t *testing.T) {
	f := &faulty{Store: memory.New()}
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store = f })
	f.arm(0, 1, true)
	for range 3000 {
		if v, err := h.Refuse(t.Context(),
			kernel.Refusal{Invocation: invocation(phases.PreTool),
				Fault: phases.NewFault(phases.KindProtocol, "no", nil)}); v.Event != nil || err == nil {
			t.Fatalf("logged: %+v", v)
		}
	}
	f.disarm()
	for range 3 {
		h.invoke(t, invocation(phases.PreTool))
	}
	h.wantGap(t, "3000")
}

// An action that is blocked because others wrote all the time is noted once, also when the
// report of a gap met them.
func TestConflictsAreNotedOnce(t *testing.T) {
	f := &faulty{Store: memory.New()}
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store = f })
	f.arm(0, 1, true)
	for range 3 {
		if v, err := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Event != nil || err == nil ||
			v.Decision != phases.Block {
			t.Fatalf("logged: %+v", v)
		}
	}
	f.disarm()
	h.invoke(t, invocation(phases.PreTool))
	h.wantGap(t, "3")
}

// wantGap checks that one gap event counts so many blocked actions.
func (h *host) wantGap(t *testing.T, blocked string) {
	t.Helper()
	gaps := h.events(t, wire.Query{Type: phases.EventGap})
	if len(gaps) != 1 {
		t.Fatalf("%d gap events", len(gaps))
	}
	if last, _ := phases.Get(gaps[0].Output, "/last"); strings.HasPrefix(string(last), `"0001-`) {
		t.Errorf("the last one was blocked at %s", last)
	}
	if n, _ := phases.Get(gaps[0].Output, "/blocked"); string(n) != blocked {
		t.Errorf("blocked %s, want %s", n, blocked)
	}
}

// cleared is a store in which a person clears each latch before it is looked at again.
type cleared struct{ kernel.Store }

func (cleared) Latch(context.Context, wire.Session) (*kernel.Latch, error) { return nil, nil }

// A latch that a person clears while a process starts is not given up again.
func TestStartWhileAPersonClears(t *testing.T) {
	h := newHost(t, on(phases.PrePlan), retaining)
	refuseFor(t, h, phases.LatchDeadline, invocation(phases.PrePlan))
	next := newHost(t, nil, retaining, func(_ *kernel.Config, o *kernel.Options) { o.Store = cleared{h.store} })
	if err := next.OverloadEnded(t.Context()); err != nil {
		t.Error(err)
	}
	if es := h.events(t, wire.Query{Type: phases.EventLatch}); len(es) != 1 {
		t.Errorf("%+v", es)
	}
}
