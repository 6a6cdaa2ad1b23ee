package fuzz

import (
	"fmt"
	"hash/fnv"
	"math/bits"
)

// signature is equal for runs that did about the same: decision, calls, and fuel to
// within a quarter of its size.
func signature(p *plan, r *result) string {
	h := fnv.New64a()
	for i := range r.turns {
		t := &r.turns[i]
		fuel := uint64(max(t.fuel, 1))
		n := bits.Len64(fuel)
		fmt.Fprintf(h, "%s %d.%d %d|", t.pass, n, fuel>>max(n-3, 0), bits.Len(uint(t.calls)))
		for j, s := range t.sites {
			if j < 64 && (j == 0 || t.sites[j-1].call.Name != s.call.Name) {
				h.Write([]byte(s.call.Name))
			}
		}
		for _, e := range t.effects {
			h.Write([]byte(e.Kind))
		}
		if t.fault != nil {
			h.Write([]byte(t.fault.Kind))
		}
	}
	return fmt.Sprintf("%s %s %s %d %x", p.inv.Phase, r.verdict.Decision, r.verdict.Kind, p.config, h.Sum64())
}
