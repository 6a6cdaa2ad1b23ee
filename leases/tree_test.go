package leases_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func pick(r *rand.Rand, from ...string) []string {
	if r.IntN(3) == 0 {
		return nil
	}
	out := []string{}
	for range 1 + r.IntN(3) {
		out = append(out, from[r.IntN(len(from))])
	}
	return out
}

func randomScope(r *rand.Rand) *leases.Scope {
	return &leases.Scope{
		Paths: pick(r, "*", "/a/**", "/a/b/**", "/a/b/c", "/x"), Hosts: pick(r, "*", "*.x:*", "a.x:80", "a.x:1-100"),
		Tools: pick(r, "*", "mcp:*", "mcp:a:*", "mcp:a:b", "exec"), Args: pick(r, "*", digest(1), digest(2)),
	}
}

// growTree grows one tree of up to six leases.
func growTree(t *rapid.T, r *rand.Rand) {
	w := newWorld(t.Fatal)
	ids := []string{"0"}
	w.must(leases.Request{ID: "0", Capability: "mcp:*", Scope: randomScope(r), TTLS: 1 + r.Int64N(100),
		MaxTTLS: 100 + r.Int64N(100), MaxUses: 1 + r.Int64N(9)})
	for n := range 8 {
		w.pass(time.Duration(r.IntN(5)) * time.Second)
		w.wall = w.wall.Add(time.Duration(r.IntN(3)-1) * time.Hour)
		if r.IntN(4) == 0 {
			_ = w.claim(ids[r.IntN(len(ids))], coder)
		}
		up := ids[r.IntN(len(ids))]
		parent := w.table.Lease(up)
		req := leases.Request{
			ID: fmt.Sprintf("%s/%d", up, n), Capability: []string{"mcp:*", "mcp:a:*", "mcp:a", "tool:exec"}[r.IntN(4)],
			Scope: randomScope(r),
			TTLS:  1 + r.Int64N(60), MaxUses: 1 + r.Int64N(6),
		}
		if r.IntN(2) == 0 {
			s := parent.Scope.Narrow(*req.Scope)
			req.Scope, req.Capability = &s, parent.Capability
		}
		m, err := w.mint(req)
		if err != nil {
			continue
		}
		ids = append(ids, m.Op.Lease.ID)
		l := w.table.Lease(m.Op.Lease.ID)
		for p := parent; ; p = w.table.Lease(p.Parent) {
			switch {
			case !p.Scope.Contains(l.Scope),
				!(phases.Scope{p.Capability}).Contains(phases.ScopeTool, phases.Scope{l.Capability}),
				p.ID == l.Parent && l.MaxUses > p.MaxUses-p.Uses, l.ExpiresAt.After(p.ExpiresAt), l.NotBefore.Before(p.NotBefore),
				l.Boot == p.Boot && (l.BootUntil > p.BootUntil || l.BootFrom < p.BootFrom), l.MaxTTLS > p.MaxTTLS,
				l.Depth <= p.Depth:
				t.Fatalf("child beyond what is above it:\n%+v\n%+v", l, p)
			}
			if p.Parent == "" {
				break
			}
		}
	}
}
