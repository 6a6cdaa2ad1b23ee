package storetest

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func runMetadata(t *testing.T, store kernel.Store) {
	key := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	state, err := store.RunState(t.Context(), key, T0)
	if err != nil || state.Version != 0 || len(state.Metadata) != 0 {
		t.Fatalf("a run that no batch wrote: %+v, %v", state, err)
	}
	first := phases.Metadata{"k": {Value: jsontext.Value(`{"a": 1}`), Hook: "h", Tier: phases.Trusted}}
	w := kernel.RunWrite{Key: key, Metadata: first, Retries: map[string]int{"h": 2}}
	commit(t, store, kernel.Batch{Run: &w})
	wantConflict(t, store, kernel.Batch{Run: &w})
	state, err = store.RunState(t.Context(), key, T0)
	if err != nil || state.Version != 1 || state.Retries["h"] != 2 {
		t.Fatalf("RunState: %+v, %v", state, err)
	}
	if diff := cmp.Diff(phases.Metadata{"k": {Value: jsontext.Value(`{"a": 1}`), Hook: "h", Tier: phases.Trusted}},
		state.Metadata, equalJSON); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	commit(t, store, kernel.Batch{Run: &kernel.RunWrite{Key: key, Version: 1}})
	if state, err = store.RunState(t.Context(), key, T0); err != nil || state.Version != 2 || len(state.Metadata) != 0 ||
		len(state.Retries) != 0 {
		t.Errorf("after it was emptied: %+v, %v", state, err)
	}
	other := key
	other.Run = "2"
	if state, err = store.RunState(t.Context(), other, T0); err != nil || state.Version != 0 {
		t.Errorf("another run: %+v, %v", state, err)
	}
	// What is carried of calls is written beside the run, and rests on its versions as well.
	third := key
	third.Run = "3"
	calls := []kernel.RunWrite{{Key: other, Metadata: first}, {Key: third, Metadata: first}}
	commit(t, store, kernel.Batch{Run: &kernel.RunWrite{Key: key, Version: 2}, Calls: calls})
	wantConflict(t, store, kernel.Batch{Calls: []kernel.RunWrite{{Key: third, Metadata: first, Version: 1}, calls[0]}})
	for _, k := range []phases.RunKey{other, third} {
		if state, err = store.RunState(t.Context(), k, T0); err != nil || state.Version != 1 || len(state.Metadata) != 1 {
			t.Errorf("run %s: %+v, %v", k.Run, state, err)
		}
	}
}

func runExpiry(t *testing.T, store kernel.Store) {
	key := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	bag := phases.Metadata{"k": {Value: jsontext.Value(`1`)}}
	commit(t, store, kernel.Batch{Run: &kernel.RunWrite{Key: key, Metadata: bag}})
	t1 := T0.Add(kernel.MetadataTTL)
	if r, err := store.RunState(t.Context(), key, t1); err != nil || len(r.Metadata) != 1 {
		t.Fatalf("at the end of its time: %+v, %v", r, err)
	}
	commit(t, store, kernel.Batch{Now: t1, TouchRun: &key})
	time := t1.Add(kernel.MetadataTTL)
	if r, err := store.RunState(t.Context(), key, time); err != nil || len(r.Metadata) != 1 {
		t.Fatalf("after it was used again: %+v, %v", r, err)
	}
	t3 := time.Add(1)
	r, err := store.RunState(t.Context(), key, t3)
	if err != nil || len(r.Metadata) != 0 || r.Version != 1 {
		t.Fatalf("after its time: %+v, %v", r, err)
	}
	commit(t, store, kernel.Batch{Now: t3, TouchRun: &key})
	if r, err := store.RunState(t.Context(), key, t3); err != nil || len(r.Metadata) != 0 {
		t.Errorf("a use brought back what had expired: %+v, %v", r, err)
	}
	if n := prune(t, store, time); n != 0 {
		t.Errorf("Prune in time: %d", n)
	}
	if n := prune(t, store, t3); n != 1 {
		t.Errorf("Prune after the time: %d", n)
	}
	wantConflict(t, store, kernel.Batch{Now: t3, Run: &kernel.RunWrite{Key: key, Version: 1, Metadata: bag}})
	commit(t, store, kernel.Batch{Now: t3, Run: &kernel.RunWrite{Key: key, Metadata: bag}})
}

func hookState(t *testing.T, store kernel.Store) {
	write := func(v string) []kernel.StateWrite {
		return []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte(v)}}
	}
	read := func(ns, key string, version int64) []kernel.StateRead {
		return []kernel.StateRead{{Namespace: ns, Key: key, Version: version}}
	}
	get := func(ns, key string) kernel.StateValue {
		t.Helper()
		v, err := store.HookState(t.Context(), ns, key)
		if err != nil {
			t.Fatalf("HookState: %v", err)
		}
		return v
	}
	commit(t, store, kernel.Batch{StateReads: read("n", "k", 0), StateWrites: write("\x00one")})
	wantConflict(t, store, kernel.Batch{StateReads: read("n", "k", 0), StateWrites: write("lost")})
	first := get("n", "k")
	if string(first.Value) != "\x00one" || first.Version <= 0 {
		t.Fatalf("HookState: %q %d", first.Value, first.Version)
	}
	commit(t, store, kernel.Batch{StateReads: read("n", "k", first.Version), StateWrites: write("")})
	second := get("n", "k")
	if len(second.Value) != 0 || second.Version <= first.Version {
		t.Errorf("an empty value: %q %d", second.Value, second.Version)
	}
	wantConflict(t, store, kernel.Batch{StateReads: read("n", "k", first.Version)})
	wantConflict(t, store, kernel.Batch{StateReads: read("n", "other", 1)})
	if v := get("m", "k"); v.Version != 0 {
		t.Errorf("another namespace: %+v", v)
	}
	commit(t, store, kernel.Batch{StateReads: append(read("m", "k", 0), read("n", "k", second.Version)...)})

	// A value that is removed and written again is not the one that was read before.
	commit(t, store, kernel.Batch{StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Delete: true}}})
	if v := get("n", "k"); v.Version != 0 || v.Value != nil {
		t.Errorf("after it was removed: %+v", v)
	}
	wantConflict(t, store, kernel.Batch{StateReads: read("n", "k", second.Version)})
	commit(t, store, kernel.Batch{StateReads: read("n", "k", 0), StateWrites: write("again")})
	if v := get("n", "k"); v.Version <= second.Version {
		t.Errorf("version %d after %d", v.Version, second.Version)
	}
	wantConflict(t, store, kernel.Batch{StateReads: read("n", "k", second.Version)})
}

func stateUsage(t *testing.T, s kernel.Store) {
	commit(t, s, kernel.Batch{StateWrites: []kernel.StateWrite{
		{Namespace: "n", Key: "ä", Value: []byte("123")}, {Namespace: "n", Key: "bb", Value: nil},
		{Namespace: "m", Key: "x", Value: []byte("y")},
	}})
	u, err := s.StateUsage(t.Context(), "n")
	if want := (kernel.StateUsage{Keys: 2, Bytes: 7}); err != nil || u != want {
		t.Errorf("StateUsage: %+v, %v, want %+v", u, err, want)
	}
	if u, err = s.StateUsage(t.Context(), "none"); err != nil || u != (kernel.StateUsage{}) {
		t.Errorf("StateUsage of nothing: %+v, %v", u, err)
	}
}
