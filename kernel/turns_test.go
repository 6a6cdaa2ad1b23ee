package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A turn whose hook does not say how long it took is measured, and takes of the chain's time.
func TestTurnsAreMeasured(t *testing.T) {
	slow := func(kernel.Turn) (kernel.Outcome, error) {
		time.Sleep(20 * time.Millisecond)
		return kernel.Outcome{}, nil
	}
	h := newHost(t, []hook{{name: "a", imports: []string{"mint_lease"}, run: slow}, {name: "b", imports: []string{"mint_lease"}, run: slow}},
		func(c *kernel.Config, _ *kernel.Options) { c.ChainBudget = 10 * time.Millisecond })
	v := h.fails(t, invocation(phases.PreTool), phases.KindDeadline)
	if len(v.Hooks) != 2 || v.Hooks[0].DurationUS < 20_000 || v.Hooks[1].Decision != phases.HookError || !strings.Contains(v.Reason, "used up the chain's time") {
		t.Errorf("%+v", v.Hooks)
	}
}

// What an observing hook would have called stands in its report, and so do its notes.
func TestWishesAreNoted(t *testing.T) {
	h := newHost(t, []hook{{name: "o", mode: phases.Observe, run: func(kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Wishes: []hostcalls.Wish{{Call: "request_lease"}}, Notes: []string{"own"}}, nil
	}}})
	v := h.allowed(t, invocation(phases.PreTool))
	if len(v.Hooks) != 1 || strings.Join(v.Hooks[0].Notes, "; ") != "own; observed only: would have called request_lease" {
		t.Errorf("%+v", v.Hooks)
	}
}

// A kernel that is not healthy says so until the store takes something, also when another
// process has reported the gap.
func TestRecoverAfterAnotherHasReported(t *testing.T) {
	f := &faulty{Store: memory.New()}
	path := t.TempDir() + "/spool"
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = f, path })
	// Every call fails in turn until the invocation is without a record.
	for n := 1; h.Health().OK && n < 20; n++ {
		f.arm(n, 0, false)
		_, _ = h.Invoke(t.Context(), invocation(phases.PreTool))
		f.disarm()
	}
	if h.Health().OK {
		t.Fatal("it is healthy")
	}
	other := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = f.Store, path })
	if err := other.Recover(t.Context()); err != nil || len(other.events(t, kernel.EventQuery{Type: phases.EventGap})) != 1 {
		t.Fatalf("%v", err)
	}
	if h.Health().OK {
		t.Error("the other has not written for this one")
	}
	for n := 1; n < 20; n++ {
		f.arm(n, 0, false)
		err := h.Recover(t.Context())
		if f.disarm() == "" {
			break
		}
		if !errors.Is(err, kernel.ErrUnavailable) || h.Health().OK {
			t.Errorf("call %d failed: %v, %+v", n, err, h.Health())
		}
	}
	if err := h.Recover(t.Context()); err != nil || !h.Health().OK {
		t.Errorf("%v, %+v", err, h.Health())
	}
}

// A configuration of which nothing is to be announced takes a plain notice.
func TestAnnouncedOnceOrNotAtAll(t *testing.T) {
	h := newHost(t, nil)
	cfg := configOf(nil)
	cfg.Revision = "rev-2"
	cfg.Announce = func(context.Context) (*kernel.Announcement, error) { return nil, nil }
	if err := h.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	es := h.events(t, kernel.EventQuery{Type: phases.EventNotice})
	if len(es) != 1 || es[0].Decision != "" || es[0].Reason != "configuration in use: rev-2" || es[0].PolicyRevision != "rev-2" {
		t.Errorf("%+v", es)
	}
}
