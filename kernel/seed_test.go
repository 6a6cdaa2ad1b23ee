package kernel_test

import (
	"encoding/hex"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// TestSeeds: each invocation has a seed of its own, which is logged, and its hooks get seeds that are made
// from it; a caller that replays one gives it.
func TestSeeds(t *testing.T) {
	var got []string
	look := func(tu kernel.Turn) (kernel.Outcome, error) {
		got = append(got, hex.EncodeToString(tu.Session.Seed[:]))
		return kernel.Outcome{}, nil
	}
	h := newHost(t, []hook{{name: "a", run: look}})
	seen := map[string]bool{hex.EncodeToString(make([]byte, 32)): true}
	for range 8 {
		h.invoke(t, invocation(phases.PreTool))
	}
	given := [32]byte{7, 31: 9}
	h.invoke(t, invocation(phases.PreTool), kernel.InvokeOptions{Seed: &given})
	verdicts := h.events(t, wire.Query{Type: phases.EventVerdict})
	if len(got) != 9 || len(verdicts) != 9 {
		t.Fatalf("%d turns, %d verdicts", len(got), len(verdicts))
	}
	for n, seed := range got {
		for _, s := range []string{seed, verdicts[n].Seed} {
			if seen[s] || len(s) != 64 {
				t.Errorf("invocation %d has the seed %q of another one", n, s)
			}
			seen[s] = true
		}
	}
	if verdicts[8].Seed != hex.EncodeToString(given[:]) {
		t.Errorf("given was %x, the log has %s", given, verdicts[8].Seed)
	}
}
