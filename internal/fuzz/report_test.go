package fuzz_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/page/pagetest"
	"github.com/belay-hooks/belay/phases"
)

// Whatever a hook is called and an input holds, the page shows it as text.
func TestPageOfHostileFindings(t *testing.T) {
	r := fuzz.Result{Hook: pagetest.Hostile, Version: pagetest.Hostile, Digest: "sha256:00", Runs: 12345, Stopped: true,
		Findings: []fuzz.Finding{{Class: fuzz.ClassFlip, Severity: fuzz.High, Phase: phases.PreTool, Text: pagetest.Hostile,
			How: pagetest.Hostile, Input: pagetest.Hostile, File: pagetest.Hostile}},
		Phases: []fuzz.PhaseStats{{Phase: phases.PreTool, Runs: 12345, Fuel: 1 << 40, Memory: 1 << 20}},
		Counts: []fuzz.Count{{Decision: phases.Block, Kind: phases.KindTrap, Runs: 3}},
	}
	b, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b)
	if b, err = (&fuzz.Result{Hook: "quiet"}).HTML(); err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b)
}
