package storetest

import (
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func eventsRoundTrip(t *testing.T, store kernel.Store) {
	event := phases.Event{
		ID: "e-1", Type: phases.EventHook, Time: T0.In(time.FixedZone("X", 3600)), Invocation: "i", Phase: phases.PreTool,
		Runtime: "r",
		Session: "s", Agent: "a", Run: "run", User: "u", Tool: "exec", Binding: "b", HookDigest: "sha256:00",
		HookVersion: "1.0.0",
		Tier:        phases.Trusted, Signer: "k", Mode: phases.Enforce, Pass: phases.PassMutate, PolicyRevision: "p",
		Enforced: phases.EnforcedDirect,
		Decision: "block", Reason: "why", Kind: phases.KindPolicy, DecidedBy: "b", Input: jsontext.Value(`{"a":[1,2.50]}`),
		Output: jsontext.Value(`{"b":null}`), InputDigest: "hmac-sha256:1", OutputDigest: "hmac-sha256:2",
		Masked:  []string{"/input/a"},
		Changed: []string{"/args"}, Detail: "d", Logs: []string{"l"}, Notes: []string{"n"}, Fuel: 1, MemoryPeak: 2,
		Hostcalls: 3, DurationUS: 4,
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	r := commit(t, store, kernel.Batch{Events: []phases.Event{event}})
	if r != (kernel.Receipt{First: 1, Last: 1}) {
		t.Errorf("receipt %+v, want 1 to 1", r)
	}
	got := all(t, store)
	if len(got) == 1 {
		if _, ok := restrict.Parse(got[0].Restrictions); !ok {
			t.Errorf("the event does not record what restricts: %q", got[0].Restrictions)
		}
		event.Restrictions = got[0].Restrictions
	}
	event.Seq, event.Time = 1, T0
	if diff := cmp.Diff([]phases.Event{event}, got); diff != "" {
		t.Errorf("stored event differs (-want +got):\n%s", diff)
	}
}

func eventsNumbered(t *testing.T, s kernel.Store) {
	commit(t, s, kernel.Batch{Events: []phases.Event{event("a"), event("b")}})
	r := commit(t, s, kernel.Batch{Events: []phases.Event{event("c"), event("d"), event("e")}})
	if r != (kernel.Receipt{First: 3, Last: 5}) {
		t.Errorf("receipt %+v, want 3 to 5", r)
	}
	for i, e := range all(t, s) {
		if want := "abcde"[i : i+1]; e.Seq != int64(i+1) || e.ID != want {
			t.Errorf("event %d is %d %q, want %q", i+1, e.Seq, e.ID, want)
		}
	}
}

func queries(t *testing.T, store kernel.Store) {
	var batch kernel.Batch
	pick := func(i int, of ...string) string { return of[i%len(of)] }
	for i := range 48 {
		e := event("e" + strconv.Itoa(i))
		e.Time = T0.Add(time.Duration(i%7) * time.Minute)
		e.Type = phases.EventType(pick(i, "hook", "verdict"))
		e.Phase = phases.Phase(pick(i/2, "pre_tool", "spawn", "audit"))
		e.Runtime, e.Session, e.Agent = pick(i/3, "r1", "r2"), pick(i/4, "s1", "s2", "s3"), pick(i/5, "a1", "a2")
		e.Tool = pick(i/2, "exec", "read", `mcp__"x"'; --`, "")
		e.Invocation, e.Binding = pick(i/6, "i1", "i2"), pick(i/7, "b1", "b2")
		e.Decision, e.Kind = pick(i, "block", "allow", "none"), phases.Kind(pick(i/2, "policy", "trap"))
		batch.Events = append(batch.Events, e)
	}
	commit(t, store, batch)
	events := all(t, store)
	for _, query := range []wire.Query{
		{}, {After: 40}, {Before: 5}, {After: 10, Before: 20}, {Since: T0.Add(3 * time.Minute)},
		{Until: T0.Add(3 * time.Minute)},
		{ID: "e7"}, {Type: "hook"}, {Except: "hook"}, {Phase: "spawn"}, {Runtime: "r2"}, {Session: "s3"}, {Agent: "a2"},
		{Tool: "exec"}, {Tool: `mcp__"x"'; --`}, {Invocation: "i2"}, {Binding: "b2"},
		{Decision: "allow"}, {Kind: "trap"}, {Session: "missing"}, {Session: "s1", Phase: "audit", Kind: "policy"},
	} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{0, 1, 3} {
				query.Newest, query.Limit = newest, limit
				var want []phases.Event
				for _, e := range events {
					if query.Match(&e) {
						want = append(want, e)
					}
				}
				if n := query.EffectiveLimit(); len(want) > n && newest {
					want = want[len(want)-n:]
				} else if len(want) > n {
					want = want[:n]
				}
				got, err := store.Events(t.Context(), query)
				if err != nil {
					t.Fatalf("Events(%+v): %v", query, err)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("Events(%+v) (-want +got):\n%s", query, diff)
				}
			}
		}
	}
}

func limits(t *testing.T, s kernel.Store) {
	var b kernel.Batch
	for i := range wire.DefaultLimit + 5 {
		b.Events = append(b.Events, event(strconv.Itoa(i)))
	}
	commit(t, s, b)
	got, err := s.Events(t.Context(), wire.Query{})
	if err != nil || len(got) != wire.DefaultLimit {
		t.Errorf("a query without a limit gave %d events, %v", len(got), err)
	}
}

func oddText(t *testing.T, s kernel.Store) {
	text := "nul \x00 quote ' \" \\ \r\n \x1b[31m \u202e 🧗"
	e := event("a")
	e.Session, e.Reason = text, text
	commit(t, s, kernel.Batch{Events: []phases.Event{e},
		StateWrites: []kernel.StateWrite{{Namespace: text, Key: text, Value: []byte(text)}}})
	es, err := s.Events(t.Context(), wire.Query{Session: text})
	if err != nil || len(es) != 1 || es[0].Session != text || es[0].Reason != text {
		t.Errorf("events: %+v, %v", es, err)
	}
	if v, err := s.HookState(t.Context(), text, text); err != nil || string(v.Value) != text {
		t.Errorf("state: %q, %v", v.Value, err)
	}
}
