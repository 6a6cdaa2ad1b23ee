package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func runsOfSession(t *testing.T, store kernel.Store) {
	s1 := wire.Session{Runtime: "r", Session: "s-1"}
	bag := phases.Metadata{"k": {Value: jsontext.Value(`1`)}}
	write := func(session, run string, version int64, m phases.Metadata, at time.Time) {
		t.Helper()
		commit(t, store, kernel.Batch{Now: at, Calls: []kernel.RunWrite{{Key: phases.RunKey{Runtime: "r", Session: session,
			Run: run}, Version: version, Metadata: m}}})
	}
	names := func(prefix string, at time.Time) string {
		t.Helper()
		list, err := store.RunsOf(t.Context(), s1, prefix, at)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range list {
			if r.Version != 1 || string(r.Metadata["k"].Value) != "1" {
				t.Errorf("%s: %+v", r.Run, r.RunState)
			}
			out = append(out, r.Run)
		}
		return strings.Join(out, " ")
	}
	if got := names("a", T0); got != "" {
		t.Errorf("of nothing: %s", got)
	}
	for _, run := range []string{"ab", "b", "aa", "a", "A"} {
		write("s-1", run, 0, bag, T0)
	}
	write("s-2", "ac", 0, bag, T0)
	write("s-1", "ad", 0, nil, T0)
	write("s-1", "ae", 0, bag, T0)
	write("s-1", "ae", 1, nil, T0) // emptied
	later := T0.Add(time.Hour)
	write("s-1", "af", 0, bag, later)
	end := T0.Add(kernel.MetadataTTL)
	for prefix, want := range map[string]string{"a": "a aa ab af", "aa": "aa", "x": "", "b": "b"} {
		if got := names(prefix, end); got != want {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
	if got := names("a", end.Add(1)); got != "af" {
		t.Errorf("after their time: %q", got)
	}
	many := kernel.Batch{Now: later}
	for n := range kernel.MaxRunsOf + 10 {
		many.Calls = append(many.Calls, kernel.RunWrite{Key: phases.RunKey{Runtime: "r", Session: "s-1",
			Run: fmt.Sprintf("m%04d", n)}, Metadata: bag})
	}
	commit(t, store, many)
	if got := strings.Fields(names("m", later)); len(got) != kernel.MaxRunsOf || got[0] != "m0000" {
		t.Errorf("of many: %d, from %v", len(got), got[:1])
	}
}
