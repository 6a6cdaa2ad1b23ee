package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// The events name the same latches as the rows, whatever happens: refusals of every kind,
// sessions with and without a name, old latches, clearing by a person, ends of causes,
// later verdicts, restarts, compactions.
func TestLatchesFromRowsAreThoseFromEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, key := memory.New(), newKeyOf(t, 1)
		k := openKernel(t, s)
		ctx := context.Background()
		sessions := rapid.SampledFrom([]string{"", "a", "b"})
		kinds := rapid.SampledFrom(phases.LatchKinds())
		ps := rapid.SampledFrom([]phases.Phase{phases.PrePlan, phases.Audit, phases.PostTool, phases.Spawn})
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"refuse": func(t *rapid.T) {
				inv := phases.Invocation{Phase: ps.Draw(t, "phase"), Runtime: "r", Session: sessions.Draw(t, "session")}
				inv.Action = actionOf(inv.Phase)
				r := kernel.Refusal{Invocation: inv, Fault: phases.NewFault(phases.KindStore, "no", nil), Unblockable: true,
					Why: kinds.Draw(t, "kind")}
				if v, _ := k.Refuse(ctx, r); v.Decision != phases.Block || v.Event == nil {
					t.Fatalf("%+v", v)
				}
			},
			"old": func(t *rapid.T) {
				n++
				b := latching(fmt.Sprint("old-", n), "r", sessions.Draw(t, "session"), "why", t0.Add(time.Duration(n)))
				if _, err := s.Commit(ctx, b); err != nil {
					t.Fatal(err)
				}
			},
			"clear": func(t *rapid.T) {
				err := k.ClearLatch(ctx, wire.Session{Runtime: "r", Session: sessions.Draw(t, "session")}, "op", nil)
				if err != nil && !errors.Is(err, kernel.ErrConflict) {
					t.Fatal(err)
				}
			},
			"ends": func(t *rapid.T) {
				if err := k.OverloadEnded(ctx); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) { k = openKernel(t, s) },
			"act": func(t *rapid.T) {
				inv := phases.Invocation{Phase: phases.Audit, Runtime: "r", Session: sessions.Draw(t, "session"),
					Action: actionOf(phases.Audit)}
				if v, err := k.Invoke(ctx, inv); err != nil || v.Event == nil {
					t.Fatalf("%+v, %v", v, err)
				}
			},
			"compact": func(t *rapid.T) {
				if size, err := s.LogSize(ctx); err != nil || size < 3 {
					return
				} else if err := announce(t, s, key, size-1, fmt.Sprint("c-", size)); err != nil &&
					!errors.Is(err, eventlog.ErrNothing) {
					t.Fatal(err)
				}
				if _, err := s.LogRemove(ctx, 1000); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				rows, err := s.Latches(ctx)
				if err != nil {
					t.Fatal(err)
				}
				got, err := eventlog.Latches(ctx, s, key.Verifier())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(rows, got); diff != "" {
					t.Fatalf("latches (-rows +events):\n%s", diff)
				}
			},
		})
	})
}

// covering covers nothing.
type covering struct{}

func (covering) JSON(raw jsontext.Value) (jsontext.Value, []string, error) { return raw, nil, nil }
func (covering) Text(s string) (string, error)                             { return s, nil }

type ticking struct{ now time.Time }

func (c *ticking) Now() time.Time { c.now = c.now.Add(time.Second); return c.now }

func openKernel(t fataler, s kernel.Store) *kernel.Kernel {
	loader := loaderFunc(func(context.Context, kernel.BindingSpec) (*kernel.Loaded, error) {
		return nil, errors.New("none")
	})
	k, err := kernel.Open(context.Background(), &kernel.Config{Revision: "r"},
		kernel.Options{Store: s, Loader: loader, Redactor: covering{}, Clock: &ticking{t0}, Retain: &kernel.Retention{}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type loaderFunc func(context.Context, kernel.BindingSpec) (*kernel.Loaded, error)

func (f loaderFunc) Load(ctx context.Context, s kernel.BindingSpec) (*kernel.Loaded, error) {
	return f(ctx, s)
}

func actionOf(p phases.Phase) jsontext.Value {
	return map[phases.Phase]jsontext.Value{
		phases.PrePlan:  jsontext.Value(`{"kind":"message","text":"hello"}`),
		phases.PostTool: jsontext.Value(`{"tool":"exec","result":"out"}`),
		phases.Spawn:    jsontext.Value(`{"child":{"agent":"helper"}}`),
		phases.Audit:    jsontext.Value(`{"kind":"notification","data":{"text":"hi"}}`),
	}[p]
}
