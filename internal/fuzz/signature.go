package fuzz

import (
	"fmt"
	"hash/fnv"
	"math/bits"
)

// signature is equal for runs that did about the same: decision, calls, and fuel to
// within a quarter of its size.
func signature(plan *plan, result *result) string {
	hash64 := fnv.New64a()
	for i := range result.turns {
		turn := &result.turns[i]
		fuel := uint64(max(turn.fuel, 1))
		n := bits.Len64(fuel)
		fmt.Fprintf(hash64, "%s %d.%d %d|", turn.pass, n, fuel>>max(n-3, 0), bits.Len(uint(turn.calls)))
		for j, s := range turn.sites {
			if j < 64 && (j == 0 || turn.sites[j-1].call.Name != s.call.Name) {
				hash64.Write([]byte(s.call.Name))
			}
		}
		for _, e := range turn.effects {
			hash64.Write([]byte(e.Kind))
		}
		if turn.fault != nil {
			hash64.Write([]byte(turn.fault.Kind))
		}
	}
	return fmt.Sprintf("%s %s %s %d %x", plan.inv.Phase, result.verdict.Decision, result.verdict.Kind, plan.config,
		hash64.Sum64())
}
