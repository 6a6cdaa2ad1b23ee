package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Tampered names the changed tables in both texts, and the rows only in the one for operators.
func TestTampered(t *testing.T) {
	var x kernel.Tampered
	if got := x.Error(); got != "rows that restrict were changed outside of belay" || got != x.Text() {
		t.Errorf("%q", got)
	}
	x.Seq = 1
	x.Add("latches", `"custom"`, "removed")
	x.Add("latches", "", "changed")
	x.Add("leases", `"a"`, "added")
	if got, want := x.Error(),
		`rows that restrict were changed outside of belay (latches, leases); event 1 records others: latches "custom" removed, latches changed, leases "a" added`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := x.Text(), "rows that restrict were changed outside of belay (latches, leases)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(&x, kernel.ErrTampered) || !errors.Is(&x, kernel.ErrUnavailable) {
		t.Error("not of its classes")
	}
	for n := range 2 * kernel.MaxTamperedRows {
		x.Add("runs", fmt.Sprint(n), "added")
	}
	if len(x.Rows) != kernel.MaxTamperedRows || kernel.MaxTamperedRows != 20 ||
		strings.Join(x.Tables, " ") != "latches leases runs" {
		t.Errorf("%d rows, tables %v", len(x.Rows), x.Tables)
	}
}

// broken is a store of which every call from one on fails with an error of its own.
type broken struct {
	kernel.Store
	err error
}

func (b *broken) Latch(ctx context.Context, k wire.Session) (*kernel.Latch, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.Store.Latch(ctx, k)
}

func (b *broken) Commit(ctx context.Context, x kernel.Batch) (kernel.Receipt, error) {
	if b.err != nil {
		return kernel.Receipt{}, b.err
	}
	return b.Store.Commit(ctx, x)
}

// What a store fails with has a kind and a text of its own, which an agent may be shown.
func TestKindsOfStoreFailures(t *testing.T) {
	tampered := &kernel.Tampered{Seq: 3}
	tampered.Add("latches", `"the session"`, "removed")
	for name, c := range map[string]struct {
		err        error
		kind       phases.Kind
		says, not  string
		healthSays string
	}{
		"another": {errors.New("disk /dev/sda1"), phases.KindStore, "the record could not be written", "sda1",
			"could not be written"},
		"rollback": {fmt.Errorf("%w: %w: head 3", kernel.ErrUnavailable, kernel.ErrRollback), phases.KindRollback,
			"the database went back behind its high-water mark: everything is blocked until `belay recover`", "head 3",
			"high-water mark"},
		"tampered": {fmt.Errorf("at the door: %w", tampered), phases.KindStore,
			"belay's store cannot be trusted: rows that restrict were changed outside of belay (latches)", "the session",
			"cannot be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &broken{Store: memory.New()}
			h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store = b })
			b.err = c.err
			v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
			if v.Decision != phases.Block || v.Kind != c.kind || !strings.Contains(v.Reason, c.says) ||
				strings.Contains(v.Reason, c.not) || !errors.Is(err, c.err) {
				t.Errorf("%s %s %q, %v", v.Decision, v.Kind, v.Reason, err)
			}
			if health := h.Health(); health.OK || !strings.Contains(health.Reason, c.healthSays) {
				t.Errorf("%+v", health)
			}
			b.err = nil
			if err := h.Recover(t.Context()); err != nil || !h.Health().OK {
				t.Errorf("%v, %+v", err, h.Health())
			}
		})
	}
}

// unrecorded is a store whose newest event does not record what restricts.
type unrecorded struct {
	kernel.Store
	newest []phases.Event
	err    error
	fails  error
	wrote  []kernel.Batch
}

func (o *unrecorded) Events(_ context.Context, q wire.Query) ([]phases.Event, error) {
	if !q.Newest || q.Limit != 1 {
		return nil, errors.New("only the newest event tells")
	}
	return o.newest, o.err
}

func (o *unrecorded) Commit(_ context.Context, b kernel.Batch) (kernel.Receipt, error) {
	o.wrote = append(o.wrote, b)
	return kernel.Receipt{}, o.fails
}

// Rows of a store from before its events recorded them are adopted with a notice, once.
func TestRowsOfOlderStoresAreAdopted(t *testing.T) {
	recorded := phases.Event{Seq: 9, Restrictions: "sha256:x"}
	for name, c := range map[string]struct {
		store  unrecorded
		adopts bool
		warns  bool
	}{
		"new":      {store: unrecorded{}},
		"recorded": {store: unrecorded{newest: []phases.Event{recorded}}},
		"older":    {store: unrecorded{newest: []phases.Event{{Seq: 9}}}, adopts: true},
		"older, read-only": {store: unrecorded{newest: []phases.Event{{Seq: 9}}, fails: kernel.ErrUnavailable}, adopts: true,
			warns: true},
		"unreadable": {store: unrecorded{newest: []phases.Event{{Seq: 9}}, err: kernel.ErrUnavailable}, warns: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.store.Store = memory.New()
			log, logged := logger()
			h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store, o.Logger = &c.store, log })
			if got := strings.Contains(logged.String(), "what restricts could not be adopted"); got != c.warns {
				t.Errorf("logged: %s", logged.String())
			}
			if !c.adopts {
				if len(c.store.wrote) != 0 {
					t.Errorf("%+v", c.store.wrote)
				}
				return
			}
			if len(c.store.wrote) != 1 || len(c.store.wrote[0].Events) != 1 {
				t.Fatalf("%+v", c.store.wrote)
			}
			e := c.store.wrote[0].Events[0]
			if e.Type != phases.EventNotice || e.Decision != kernel.DecisionAdopted || string(e.Output) != `{"after":9}` ||
				e.PolicyRevision != "rev-1" ||
				e.ID == "" || !e.Time.Equal(h.clock.Now()) || !strings.Contains(e.Reason, "taken as it is") ||
				!c.store.wrote[0].Now.Equal(h.clock.Now()) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A latch takes an event with all that it says; clearing it one that says who cleared it.
func TestEventsOfLatches(t *testing.T) {
	h := newHost(t, latching())
	l := h.latchOne(t)
	e := h.events(t, wire.Query{Type: phases.EventLatch})[0]
	if e.Decision != kernel.DecisionLatched || e.Runtime != l.Runtime || e.Session != l.Session || e.Reason != l.Reason ||
		e.Kind != l.Kind ||
		e.DecidedBy != l.DecidedBy || e.Invocation != l.Invocation || !e.Time.Equal(l.Since) || e.PolicyRevision != "rev-1" ||
		e.Agent != "coder" || e.Phase == "" {
		t.Errorf("%+v of %+v", e, l)
	}
	h.clock.add(time.Minute)
	other := wire.Session{Runtime: l.Runtime, Session: "another"}
	if err := h.ClearLatch(t.Context(), other, "dev", nil); !errors.Is(err, kernel.ErrConflict) {
		t.Errorf("no latch: %v", err)
	}
	if err := h.ClearLatch(t.Context(), l.Key(), "dev\n", nil); err != nil {
		t.Fatal(err)
	}
	c := h.events(t, wire.Query{Type: phases.EventLatch, Decision: "cleared"})
	if len(c) != 1 || c[0].User != phases.SafeLine("dev\n", 99) || c[0].Runtime != l.Runtime ||
		c[0].Session != l.Session || !c[0].Time.Equal(h.clock.Now()) || c[0].PolicyRevision != "rev-1" {
		t.Errorf("%+v", c)
	}
}
