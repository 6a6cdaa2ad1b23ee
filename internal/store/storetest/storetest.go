// Package storetest is the contract of kernel.Store as tests: every
// implementation runs the same suite. It decides what a store must do and never
// how.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// T0 is the time at which the tests begin.
var T0 = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// Run runs the suite. open returns a new and empty store; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) kernel.Store) {
	for name, f := range map[string]func(*testing.T, kernel.Store){
		"events round trip":                      eventsRoundTrip,
		"events are numbered":                    eventsNumbered,
		"queries agree with Match":               queries,
		"limits":                                 limits,
		"all or nothing":                         allOrNothing,
		"run metadata":                           runMetadata,
		"run metadata expires":                   runExpiry,
		"hook state":                             hookState,
		"state usage":                            stateUsage,
		"latches":                                latches,
		"latch of a whole runtime":               latchOfRuntime,
		"unlatched condition":                    unlatched,
		"concurrent increments":                  concurrentIncrements,
		"cancelled commit":                       cancelled,
		"closed":                                 closed,
		"what it keeps is its own":               ownership,
		"empty batch":                            emptyBatch,
		"odd text survives":                      oddText,
		"a latch needs no events":                latchAlone,
		"conflict leaves no traces":              conflictTraces,
		"the log grows with events":              logGrows,
		"old events are compacted":               compacts,
		"checkpoints are dropped":                dropsCheckpoints,
		"checkpoints":                            checkpoints,
		"approvals round trip":                   approvalsRoundTrip,
		"approvals take legal steps":             approvalSteps,
		"approvals run out":                      approvalsRunOut,
		"approvals are deduplicated and counted": approvalQuota,
		"approvals have holders":                 approvalHolders,
		"approvals give way":                     approvalsSuperseded,
		"approvals are decided once":             approvalsOnce,
		"approvals conflict as a whole":          approvalConflicts,
		"approvals are forgotten":                approvalsForgotten,
		"leases round trip":                      leasesRoundTrip,
		"lease claims":                           leaseClaims,
		"leases by holder":                       leasesByHolder,
		"lease clocks":                           leaseClocks,
		"lease trees":                            leaseTrees,
		"lease mints":                            leaseMints,
		"lease renewals":                         leaseRenewals,
		"leases agree with the model":            leaseModel,
		"leases are forgotten":                   leasesForgotten,
		"leases under contention":                leasesContended,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			f(t, s)
		})
	}
}

func event(id string) phases.Event {
	return phases.Event{ID: id, Type: phases.EventVerdict, Time: T0}
}

func commit(t *testing.T, s kernel.Store, b kernel.Batch) kernel.Receipt {
	t.Helper()
	if b.Now.IsZero() {
		b.Now = T0
	}
	r, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return r
}

func wantConflict(t *testing.T, s kernel.Store, b kernel.Batch) {
	t.Helper()
	if b.Now.IsZero() {
		b.Now = T0
	}
	if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrConflict) || errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit: %v, want ErrConflict and nothing else", err)
	}
}

func all(t *testing.T, s kernel.Store) []phases.Event {
	t.Helper()
	es, err := s.Events(t.Context(), kernel.EventQuery{Limit: kernel.MaxEventLimit})
	if err != nil {
		t.Fatalf("Events: %v", err)
	}
	return es
}

func eventsRoundTrip(t *testing.T, s kernel.Store) {
	e := phases.Event{
		ID: "e-1", Type: phases.EventHook, Time: T0.In(time.FixedZone("X", 3600)), Invocation: "i", Phase: phases.PreTool, Runtime: "r",
		Session: "s", Agent: "a", Run: "run", User: "u", Tool: "exec", Binding: "b", HookDigest: "sha256:00", HookVersion: "1.0.0",
		Tier: phases.Trusted, Signer: "k", Mode: phases.Enforce, Pass: phases.PassMutate, PolicyRevision: "p", Enforced: phases.EnforcedDirect,
		Decision: "block", Reason: "why", Kind: phases.KindPolicy, DecidedBy: "b", Input: jsontext.Value(`{"a":[1,2.50]}`),
		Output: jsontext.Value(`{"b":null}`), InputDigest: "hmac-sha256:1", OutputDigest: "hmac-sha256:2", Masked: []string{"/input/a"},
		Changed: []string{"/args"}, Detail: "d", Logs: []string{"l"}, Notes: []string{"n"}, Fuel: 1, MemoryPeak: 2, Hostcalls: 3, DurationUS: 4,
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	r := commit(t, s, kernel.Batch{Events: []phases.Event{e}})
	if r != (kernel.Receipt{First: 1, Last: 1}) {
		t.Errorf("receipt %+v, want 1 to 1", r)
	}
	e.Seq, e.Time = 1, T0
	if diff := cmp.Diff([]phases.Event{e}, all(t, s)); diff != "" {
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

func queries(t *testing.T, s kernel.Store) {
	var b kernel.Batch
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
		b.Events = append(b.Events, e)
	}
	commit(t, s, b)
	events := all(t, s)
	for _, q := range []kernel.EventQuery{
		{}, {After: 40}, {Before: 5}, {After: 10, Before: 20}, {Since: T0.Add(3 * time.Minute)}, {Until: T0.Add(3 * time.Minute)},
		{ID: "e7"}, {Type: "hook"}, {Except: "hook"}, {Phase: "spawn"}, {Runtime: "r2"}, {Session: "s3"}, {Agent: "a2"}, {Tool: "exec"}, {Tool: `mcp__"x"'; --`}, {Invocation: "i2"}, {Binding: "b2"},
		{Decision: "allow"}, {Kind: "trap"}, {Session: "nobody"}, {Session: "s1", Phase: "audit", Kind: "policy"},
	} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{0, 1, 3} {
				q.Newest, q.Limit = newest, limit
				var want []phases.Event
				for _, e := range events {
					if q.Match(&e) {
						want = append(want, e)
					}
				}
				if n := q.EffectiveLimit(); len(want) > n && newest {
					want = want[len(want)-n:]
				} else if len(want) > n {
					want = want[:n]
				}
				got, err := s.Events(t.Context(), q)
				if err != nil {
					t.Fatalf("Events(%+v): %v", q, err)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("Events(%+v) (-want +got):\n%s", q, diff)
				}
			}
		}
	}
}

func limits(t *testing.T, s kernel.Store) {
	var b kernel.Batch
	for i := range kernel.DefaultEventLimit + 5 {
		b.Events = append(b.Events, event(strconv.Itoa(i)))
	}
	commit(t, s, b)
	got, err := s.Events(t.Context(), kernel.EventQuery{})
	if err != nil || len(got) != kernel.DefaultEventLimit {
		t.Errorf("a query without a limit gave %d events, %v", len(got), err)
	}
}

func allOrNothing(t *testing.T, s kernel.Store) {
	commit(t, s, kernel.Batch{Events: []phases.Event{event("a")}})
	key := phases.RunKey{Runtime: "r", Session: "s"}
	bad := kernel.Batch{
		Now:         T0,
		Events:      []phases.Event{event("b"), event("a")}, // the second id is taken
		Run:         &kernel.RunWrite{Key: key, Metadata: phases.Metadata{"k": {Value: jsontext.Value("1")}}},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}},
		Latch:       &kernel.Latch{SessionKey: kernel.SessionKey{Runtime: "r", Session: "s"}, Since: T0},
	}
	if _, err := s.Commit(t.Context(), bad); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit with a taken id: %v, want ErrUnavailable", err)
	}
	// Text that is not UTF-8 cannot be encoded.
	broken := event("c")
	broken.Reason = "\xff"
	if _, err := s.Commit(t.Context(), kernel.Batch{Now: T0, Events: []phases.Event{broken}}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit with broken text: %v, want ErrUnavailable", err)
	}
	if _, err := s.Commit(t.Context(), kernel.Batch{Now: T0, Events: []phases.Event{event("")}}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit without an id: %v, want ErrUnavailable", err)
	}
	if es := all(t, s); len(es) != 1 {
		t.Errorf("%d events are left of refused batches", len(es)-1)
	}
	if r, err := s.RunState(t.Context(), key, T0); err != nil || r.Version != 0 || len(r.Metadata) != 0 {
		t.Errorf("metadata is left of a refused batch: %+v, %v", r, err)
	}
	if v, err := s.HookState(t.Context(), "n", "k"); err != nil || v.Version != 0 {
		t.Errorf("state is left of a refused batch: %+v, %v", v, err)
	}
	if ls, err := s.Latches(t.Context()); err != nil || len(ls) != 0 {
		t.Errorf("a latch is left of a refused batch: %+v, %v", ls, err)
	}
	if r := commit(t, s, kernel.Batch{Events: []phases.Event{event("d")}}); r.First != 2 {
		t.Errorf("the next event has number %d, want 2", r.First)
	}
}

func runMetadata(t *testing.T, s kernel.Store) {
	key := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	r, err := s.RunState(t.Context(), key, T0)
	if err != nil || r.Version != 0 || len(r.Metadata) != 0 {
		t.Fatalf("a run that nobody wrote: %+v, %v", r, err)
	}
	first := phases.Metadata{"k": {Value: jsontext.Value(`{"a": 1}`), Hook: "h", Tier: phases.Trusted}}
	w := kernel.RunWrite{Key: key, Metadata: first, Retries: map[string]int{"h": 2}}
	commit(t, s, kernel.Batch{Run: &w})
	wantConflict(t, s, kernel.Batch{Run: &w})
	r, err = s.RunState(t.Context(), key, T0)
	if err != nil || r.Version != 1 || r.Retries["h"] != 2 {
		t.Fatalf("RunState: %+v, %v", r, err)
	}
	if diff := cmp.Diff(phases.Metadata{"k": {Value: jsontext.Value(`{"a": 1}`), Hook: "h", Tier: phases.Trusted}}, r.Metadata, equalJSON); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	commit(t, s, kernel.Batch{Run: &kernel.RunWrite{Key: key, Version: 1}})
	if r, err = s.RunState(t.Context(), key, T0); err != nil || r.Version != 2 || len(r.Metadata) != 0 || len(r.Retries) != 0 {
		t.Errorf("after it was emptied: %+v, %v", r, err)
	}
	other := key
	other.Run = "2"
	if r, err = s.RunState(t.Context(), other, T0); err != nil || r.Version != 0 {
		t.Errorf("another run: %+v, %v", r, err)
	}
}

// equalJSON compares raw values by what they mean.
var equalJSON = cmp.Comparer(func(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
})

func runExpiry(t *testing.T, s kernel.Store) {
	key := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	bag := phases.Metadata{"k": {Value: jsontext.Value(`1`)}}
	commit(t, s, kernel.Batch{Run: &kernel.RunWrite{Key: key, Metadata: bag}})
	t1 := T0.Add(kernel.MetadataTTL)
	if r, err := s.RunState(t.Context(), key, t1); err != nil || len(r.Metadata) != 1 {
		t.Fatalf("at the end of its time: %+v, %v", r, err)
	}
	commit(t, s, kernel.Batch{Now: t1, TouchRun: &key})
	t2 := t1.Add(kernel.MetadataTTL)
	if r, err := s.RunState(t.Context(), key, t2); err != nil || len(r.Metadata) != 1 {
		t.Fatalf("after it was used again: %+v, %v", r, err)
	}
	t3 := t2.Add(1)
	r, err := s.RunState(t.Context(), key, t3)
	if err != nil || len(r.Metadata) != 0 || r.Version != 1 {
		t.Fatalf("after its time: %+v, %v", r, err)
	}
	commit(t, s, kernel.Batch{Now: t3, TouchRun: &key})
	if r, err := s.RunState(t.Context(), key, t3); err != nil || len(r.Metadata) != 0 {
		t.Errorf("a use brought back what had expired: %+v, %v", r, err)
	}
	if n, err := s.Prune(t.Context(), t2); err != nil || n != 0 {
		t.Errorf("Prune in time: %d, %v", n, err)
	}
	if n, err := s.Prune(t.Context(), t3); err != nil || n != 1 {
		t.Errorf("Prune after the time: %d, %v", n, err)
	}
	wantConflict(t, s, kernel.Batch{Now: t3, Run: &kernel.RunWrite{Key: key, Version: 1, Metadata: bag}})
	commit(t, s, kernel.Batch{Now: t3, Run: &kernel.RunWrite{Key: key, Metadata: bag}})
}

func hookState(t *testing.T, s kernel.Store) {
	write := func(v string) []kernel.StateWrite {
		return []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte(v)}}
	}
	read := func(ns, key string, version int64) []kernel.StateRead {
		return []kernel.StateRead{{Namespace: ns, Key: key, Version: version}}
	}
	get := func(ns, key string) kernel.StateValue {
		t.Helper()
		v, err := s.HookState(t.Context(), ns, key)
		if err != nil {
			t.Fatalf("HookState: %v", err)
		}
		return v
	}
	commit(t, s, kernel.Batch{StateReads: read("n", "k", 0), StateWrites: write("\x00one")})
	wantConflict(t, s, kernel.Batch{StateReads: read("n", "k", 0), StateWrites: write("lost")})
	first := get("n", "k")
	if string(first.Value) != "\x00one" || first.Version <= 0 {
		t.Fatalf("HookState: %q %d", first.Value, first.Version)
	}
	commit(t, s, kernel.Batch{StateReads: read("n", "k", first.Version), StateWrites: write("")})
	second := get("n", "k")
	if len(second.Value) != 0 || second.Version <= first.Version {
		t.Errorf("an empty value: %q %d", second.Value, second.Version)
	}
	wantConflict(t, s, kernel.Batch{StateReads: read("n", "k", first.Version)})
	wantConflict(t, s, kernel.Batch{StateReads: read("n", "other", 1)})
	if v := get("m", "k"); v.Version != 0 {
		t.Errorf("another namespace: %+v", v)
	}
	commit(t, s, kernel.Batch{StateReads: append(read("m", "k", 0), read("n", "k", second.Version)...)})

	// Removed and written again is not what was read before.
	commit(t, s, kernel.Batch{StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Delete: true}}})
	if v := get("n", "k"); v.Version != 0 || v.Value != nil {
		t.Errorf("after it was removed: %+v", v)
	}
	wantConflict(t, s, kernel.Batch{StateReads: read("n", "k", second.Version)})
	commit(t, s, kernel.Batch{StateReads: read("n", "k", 0), StateWrites: write("again")})
	if v := get("n", "k"); v.Version <= second.Version {
		t.Errorf("version %d after %d", v.Version, second.Version)
	}
	wantConflict(t, s, kernel.Batch{StateReads: read("n", "k", second.Version)})
}

func stateUsage(t *testing.T, s kernel.Store) {
	commit(t, s, kernel.Batch{StateWrites: []kernel.StateWrite{
		{Namespace: "n", Key: "ä", Value: []byte("123")}, {Namespace: "n", Key: "bb", Value: nil}, {Namespace: "m", Key: "x", Value: []byte("y")},
	}})
	u, err := s.StateUsage(t.Context(), "n")
	if want := (kernel.StateUsage{Keys: 2, Bytes: 7}); err != nil || u != want {
		t.Errorf("StateUsage: %+v, %v, want %+v", u, err, want)
	}
	if u, err = s.StateUsage(t.Context(), "none"); err != nil || u != (kernel.StateUsage{}) {
		t.Errorf("StateUsage of nothing: %+v, %v", u, err)
	}
}

func latches(t *testing.T, s kernel.Store) {
	k := kernel.SessionKey{Runtime: "r", Session: "s"}
	l := kernel.Latch{SessionKey: k, Reason: "first", Kind: phases.KindTrap, DecidedBy: "h", Invocation: "i", Since: T0.Add(time.Hour)}
	commit(t, s, kernel.Batch{Latch: &l, Events: []phases.Event{event("a")}})
	second := l
	second.Reason = "second"
	commit(t, s, kernel.Batch{Latch: &second, Events: []phases.Event{event("b")}})
	got, err := s.Latch(t.Context(), k)
	if err != nil || got == nil {
		t.Fatalf("Latch: %v, %v", got, err)
	}
	if diff := cmp.Diff(l, *got); diff != "" {
		t.Errorf("the first latch did not stay (-want +got):\n%s", diff)
	}
	older := kernel.Latch{SessionKey: kernel.SessionKey{Runtime: "z", Session: "z"}, Since: T0}
	commit(t, s, kernel.Batch{Latch: &older})
	ls, err := s.Latches(t.Context())
	if err != nil || len(ls) != 2 || ls[0].Runtime != "z" {
		t.Errorf("Latches: %+v, %v, want the older one first", ls, err)
	}
	if other, err := s.Latch(t.Context(), kernel.SessionKey{Runtime: "r", Session: "other"}); err != nil || other != nil {
		t.Errorf("another session: %v, %v", other, err)
	}
	commit(t, s, kernel.Batch{ClearLatch: &k, Events: []phases.Event{event("c")}})
	wantConflict(t, s, kernel.Batch{ClearLatch: &k, Events: []phases.Event{event("d")}})
	if got, err = s.Latch(t.Context(), k); err != nil || got != nil {
		t.Errorf("after clearing: %v, %v", got, err)
	}
}

// latchOfRuntime: a latch without a session holds every session of its runtime.
func latchOfRuntime(t *testing.T, s kernel.Store) {
	all, one, other := kernel.SessionKey{Runtime: "r"}, kernel.SessionKey{Runtime: "r", Session: "s"}, kernel.SessionKey{Runtime: "q", Session: "s"}
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{SessionKey: all, Reason: "all", Since: T0}})
	reason := func(k kernel.SessionKey) string {
		t.Helper()
		l, err := s.Latch(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if l == nil {
			return ""
		}
		return l.Reason
	}
	if a, b, c := reason(all), reason(one), reason(other); a != "all" || b != "all" || c != "" {
		t.Errorf("held by %q, %q, and another runtime by %q", a, b, c)
	}
	wantConflict(t, s, kernel.Batch{Unlatched: &one, Events: []phases.Event{event("a")}})
	commit(t, s, kernel.Batch{Unlatched: &other, Events: []phases.Event{event("b")}})

	// One of its own comes first, and clearing either leaves the other.
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{SessionKey: one, Reason: "one", Since: T0}})
	if got := reason(one); got != "one" {
		t.Errorf("a session with a latch of its own is held by %q", got)
	}
	commit(t, s, kernel.Batch{ClearLatch: &one})
	if got := reason(one); got != "all" {
		t.Errorf("after its own latch was cleared the session is held by %q", got)
	}
	wantConflict(t, s, kernel.Batch{ClearLatch: &one})
	commit(t, s, kernel.Batch{ClearLatch: &all})
	commit(t, s, kernel.Batch{Unlatched: &one, Events: []phases.Event{event("c")}})
}

func unlatched(t *testing.T, s kernel.Store) {
	k := kernel.SessionKey{Runtime: "r", Session: "s"}
	commit(t, s, kernel.Batch{Unlatched: &k, Events: []phases.Event{event("a")}})
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{SessionKey: k, Since: T0}})
	wantConflict(t, s, kernel.Batch{Unlatched: &k, Events: []phases.Event{event("b")}})
}

func concurrentIncrements(t *testing.T, s kernel.Store) {
	const workers, each = 8, 12
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				for {
					v, err := s.HookState(context.Background(), "n", "counter")
					if err != nil {
						t.Errorf("HookState: %v", err)
						return
					}
					n, _ := strconv.Atoi(string(v.Value))
					_, err = s.Commit(context.Background(), kernel.Batch{
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
	v, err := s.HookState(t.Context(), "n", "counter")
	if err != nil || string(v.Value) != strconv.Itoa(workers*each) {
		t.Errorf("counter is %q, %v; want %d", v.Value, err, workers*each)
	}
	es := all(t, s)
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
	if _, err := s.Commit(ctx, kernel.Batch{Now: T0, Events: []phases.Event{event("a")}}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Commit: %v, want ErrUnavailable", err)
	}
	if _, err := s.Events(ctx, kernel.EventQuery{}); !errors.Is(err, kernel.ErrUnavailable) {
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
	_, errEvents := s.Events(t.Context(), kernel.EventQuery{})
	_, errRun := s.RunState(t.Context(), phases.RunKey{}, T0)
	_, errState := s.HookState(t.Context(), "", "")
	_, errUsage := s.StateUsage(t.Context(), "")
	_, errLatch := s.Latch(t.Context(), kernel.SessionKey{})
	_, errLatches := s.Latches(t.Context())
	_, errPrune := s.Prune(t.Context(), T0)
	for i, err := range []error{errCommit, errEvents, errRun, errState, errUsage, errLatch, errLatches, errPrune} {
		if !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("call %d on a closed store: %v, want ErrUnavailable", i, err)
		}
	}
}

func ownership(t *testing.T, s kernel.Store) {
	value := []byte("abc")
	meta := phases.Metadata{"k": {Value: jsontext.Value(`"abc"`)}}
	e := event("a")
	e.Masked = []string{"/input"}
	key := phases.RunKey{Runtime: "r", Session: "s"}
	commit(t, s, kernel.Batch{
		Events: []phases.Event{e}, Run: &kernel.RunWrite{Key: key, Metadata: meta},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: value}},
	})
	value[0], meta["k"].Value[1], e.Masked[0] = 'X', 'X', "X"
	delete(meta, "k")
	for range 2 {
		v, err := s.HookState(t.Context(), "n", "k")
		if err != nil || string(v.Value) != "abc" {
			t.Errorf("state is %q, %v", v.Value, err)
		}
		r, err := s.RunState(t.Context(), key, T0)
		if err != nil || string(r.Metadata["k"].Value) != `"abc"` {
			t.Errorf("metadata is %v, %v", r.Metadata, err)
			return
		}
		es := all(t, s)
		if es[0].Masked[0] != "/input" {
			t.Errorf("event is %+v", es[0])
		}
		v.Value[0], r.Metadata["k"].Value[1], es[0].Masked[0] = 'Y', 'Y', "Y" // the reader's copies
	}
}

func emptyBatch(t *testing.T, s kernel.Store) {
	if r := commit(t, s, kernel.Batch{}); r != (kernel.Receipt{}) {
		t.Errorf("receipt %+v for nothing", r)
	}
}

func oddText(t *testing.T, s kernel.Store) {
	text := "nul \x00 quote ' \" \\ \r\n \x1b[31m \u202e 🧗"
	e := event("a")
	e.Session, e.Reason = text, text
	commit(t, s, kernel.Batch{Events: []phases.Event{e},
		StateWrites: []kernel.StateWrite{{Namespace: text, Key: text, Value: []byte(text)}}})
	es, err := s.Events(t.Context(), kernel.EventQuery{Session: text})
	if err != nil || len(es) != 1 || es[0].Session != text || es[0].Reason != text {
		t.Errorf("events: %+v, %v", es, err)
	}
	if v, err := s.HookState(t.Context(), text, text); err != nil || string(v.Value) != text {
		t.Errorf("state: %q, %v", v.Value, err)
	}
}

func latchAlone(t *testing.T, s kernel.Store) {
	k := kernel.SessionKey{} // runtimes that name no session share one latch
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{SessionKey: k, Reason: "r", Since: T0}})
	if l, err := s.Latch(t.Context(), k); err != nil || l == nil || l.Reason != "r" {
		t.Errorf("Latch: %v, %v", l, err)
	}
}

func conflictTraces(t *testing.T, s kernel.Store) {
	k := kernel.SessionKey{Runtime: "r", Session: "s"}
	key := phases.RunKey{Runtime: "r", Session: "s"}
	wantConflict(t, s, kernel.Batch{
		Events: []phases.Event{event("a")}, Latch: &kernel.Latch{SessionKey: k, Since: T0},
		Run:         &kernel.RunWrite{Key: key, Version: 7},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}},
	})
	wantConflict(t, s, kernel.Batch{
		Events: []phases.Event{event("a")}, Run: &kernel.RunWrite{Key: key},
		StateReads: []kernel.StateRead{{Namespace: "n", Key: "k", Version: 3}},
	})
	l, err1 := s.Latch(t.Context(), k)
	v, err2 := s.HookState(t.Context(), "n", "k")
	r, err3 := s.RunState(t.Context(), key, T0)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if l != nil || v.Version != 0 || r.Version != 0 || len(all(t, s)) != 0 {
		t.Errorf("a conflict left traces: %v %v %v %v", l, v, r, all(t, s))
	}
}
