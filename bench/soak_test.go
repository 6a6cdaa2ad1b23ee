package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// A short soak with a reload in each quarter: the daemon decides every event as the mix says, or the run fails.
func TestShortSoak(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{settings: settings{root: root, soak: 2 * time.Second}, work: t.TempDir()}
	defer y.close()
	page, _, err := runSoak(t.Context(), y)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| quarter 1 |", "| quarter 4 |", "| whole |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%s lacks %q", page, want)
		}
	}
	if strings.Contains(string(page), " 0 reloads") {
		t.Errorf("nothing was reloaded: %s", page)
	}
}

func TestSoakEvents(t *testing.T) {
	text := strings.Repeat("a line\n", soakMost)
	one, same := newEvents(3, text), newEvents(3, text)
	seen := map[phases.Phase]bool{}
	least, most := soakMost, 0
	for range 2000 {
		inv, want := one.next()
		again, wanted := same.next()
		if string(inv.Action) != string(again.Action) || want != wanted {
			t.Fatal("events differ from one run to the next")
		}
		if err := inv.Validate(); err != nil {
			t.Fatalf("%s: %v", inv.Phase, err)
		}
		seen[inv.Phase] = true
		least, most = min(least, len(inv.Action)), max(most, len(inv.Action))
	}
	if len(seen) != len(phases.Phases()) || least > 300 || most < soakMost/2 {
		t.Errorf("%d phases, %d to %d bytes", len(seen), least, most)
	}
}

func TestSoakFigures(t *testing.T) {
	s := stretch{name: "quarter 1", took: []time.Duration{time.Millisecond, 2 * time.Millisecond, 30 * time.Millisecond},
		from: reading{at: time.Second, processor: time.Second, disk: 1000},
		to:   reading{at: 2 * time.Second, processor: time.Second + 6*time.Millisecond, disk: 10_000, resident: 5e7}}
	if got := strings.Join(s.cells(), " "); got != "quarter 1 3 2.00 3.0 2.0 2.0 30 50" {
		t.Error(got)
	}
	next := stretch{took: []time.Duration{4 * time.Millisecond}, from: s.to, to: reading{at: 3 * time.Second}}
	if all := whole([]stretch{s, next}); len(all.took) != 4 || percentile(all.took, 50) != 2*time.Millisecond ||
		all.from.at != time.Second || all.to.at != 3*time.Second {
		t.Errorf("%+v", all)
	}
}
