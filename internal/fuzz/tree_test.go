package fuzz

import (
	"math/rand/v2"
	"testing"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Growth upon growth is bounded: inputs stay near the limit of an input.
func TestMutationsAreBounded(t *testing.T) {
	m := newMutator(rand.New(rand.NewPCG(1, 1)), nil)
	doc, err := parse([]byte(seeds(phases.PreSend, tiers.Match{})[0]))
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		m.mutate(doc)
		if n := doc.size(); n > 24*phases.MaxInputBytes {
			t.Fatalf("%d bytes", n)
		} else if n > phases.MaxInputBytes {
			if doc, err = parse([]byte(seeds(phases.PreSend, tiers.Match{})[0])); err != nil {
				t.Fatal(err)
			}
		}
	}
}
