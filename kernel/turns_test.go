package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A turn whose hook does not say how long it took is measured, and takes of the chain's time.
func TestTurnsAreMeasured(t *testing.T) {
	slow := func(kernel.Turn) (kernel.Outcome, error) {
		time.Sleep(20 * time.Millisecond)
		return kernel.Outcome{}, nil
	}
	h := newHost(t,
		[]hook{{name: "a", imports: []string{"mint_lease"}, run: slow},
			{name: "b", imports: []string{"mint_lease"}, run: slow}},
		func(c *kernel.Config, _ *kernel.Options) { c.ChainBudget = 10 * time.Millisecond })
	v := h.fails(t, invocation(phases.PreTool), phases.KindDeadline)
	if len(v.Hooks) != 1 || v.Hooks[0].DurationUS < 20_000 || v.Hooks[0].Decision != phases.HookError ||
		!strings.Contains(v.Reason, "the chain's time was used up") {
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
	if err := other.Recover(t.Context()); err != nil ||
		len(other.events(t, wire.Query{Type: phases.EventGap})) != 1 {
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

// Metadata that a hook writes as it is already stored is not written again.
func TestMetadataThatIsTheSameIsNotWritten(t *testing.T) {
	inv := invocation(phases.PreTool)
	value := "1"
	h := newHost(t, []hook{{name: "a", caps: []string{"annotate"}, run: func(kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Effects: []phases.Effect{annotate("k", value)}}, nil
	}}})
	version := func() int64 {
		h.allowed(t, inv)
		run, err := h.store.RunState(t.Context(), inv.RunKey(), h.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return run.Version
	}
	first, second := version(), version()
	value = "2"
	if third := version(); first != second || third == second {
		t.Errorf("versions %d, %d, %d", first, second, third)
	}
}

// The id of a refusal stays when it has the form of one; any other is replaced.
func TestIDsOfRefusals(t *testing.T) {
	h := newHost(t, nil)
	for id, keep := range map[string]bool{
		"019ca945-0a00-77ab-b063-3425d0697f5a": true, "": false, "019ca945-0a00-77ab-b063-3425d0697f5": false,
		"019ca945-0a00-77ab-b063-3425d0697f5g": false,
	} {
		inv := invocation(phases.PreTool)
		inv.ID = id
		v, err := h.Refuse(t.Context(),
			kernel.Refusal{Invocation: inv, Fault: phases.NewFault(phases.KindProtocol, "no", nil)})
		if err == nil || len(v.ID) != 36 || (v.ID == id) != keep && len(id) == 36 || id == "" && v.ID == "" {
			t.Errorf("%q: %q, %v", id, v.ID, err)
		}
		if es := h.events(t, wire.Query{Invocation: v.ID}); len(es) != 1 || es[0].PolicyRevision != "rev-1" ||
			es[0].Session != "s-1" || es[0].Agent != "coder" || es[0].Run != "r-1" {
			t.Errorf("%q: %+v", id, es)
		}
	}
}

// A configuration is announced once: then it is not asked again what there is to say.
func TestAnnouncersAreAskedOnce(t *testing.T) {
	asked := 0
	h := newHost(t, nil, func(c *kernel.Config, _ *kernel.Options) {
		c.Announce = func(context.Context) (*kernel.Announcement, error) { asked++; return nil, nil }
	})
	h.allowed(t, invocation(phases.PreTool))
	h.allowed(t, invocation(phases.PreTool))
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// A renewal reaches up to the longest life of a lease, and no number is too large to be refused.
func TestRenewalsAtTheBound(t *testing.T) {
	most := int64(leases.MaxLifetime / time.Second)
	for ttl, want := range map[int64]string{most: "{", most + 1: "-2 ", 1 << 62: "-2 ", -1: "-3 "} {
		s := &script{}
		h := newHost(t, []hook{broker(s)}, onBoot(&boot{}))
		h.lend(t, leases.Request{ID: "s-1/a", MaxTTLS: most})
		s.say(fmt.Sprintf(`mint {"renew":"s-1/a","ttl_s":%d}`, ttl))
		h.invoke(t, write("/srv/a"))
		if !strings.HasPrefix(s.last(), want) {
			t.Errorf("%d: %s, want %s", ttl, s.last(), want)
		}
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
	es := h.events(t, wire.Query{Type: phases.EventNotice})
	if len(es) != 1 || es[0].Decision != "" || es[0].Reason != "configuration in use: rev-2" ||
		es[0].PolicyRevision != "rev-2" {
		t.Errorf("%+v", es)
	}
}
