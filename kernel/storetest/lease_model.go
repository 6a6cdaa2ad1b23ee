package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
)

// leaseModel takes random steps with the store and with leasetable.Table, which must
// agree about every step and about the leases afterwards.
func leaseModel(t *testing.T, store kernel.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	model := &leasetable.Table{}
	ids := []string{"a", "a/b", "a/b/c", "a/c", "b", "b/a", "c/a"}
	for step := range 600 {
		id := ids[random.IntN(len(ids))]
		if random.IntN(20) == 0 {
			ids = append(ids, fmt.Sprintf("a%d", step), fmt.Sprintf("a%d/b", step))
		}
		when := at(time.Duration(random.IntN(100)) * time.Second)
		if random.IntN(3) == 0 {
			when.Boot, when.Since = "boot-2", time.Duration(random.IntN(7200))*time.Second
		}
		var op leases.Op
		switch k := random.IntN(10); {
		case k < 4:
			l := lease(id, int64(1+random.IntN(4)))
			for _, p := range leases.Prefixes(id) {
				if up := model.Lease(p); up != nil && random.IntN(8) > 0 {
					l.Parent, l.Depth = p, up.Depth+1
					break
				}
			}
			l.Token = fmt.Appendf(nil, "token %d", step)
			if d := time.Duration(random.IntN(60)) * time.Second; random.IntN(2) == 0 {
				l.ExpiresAt, l.BootUntil = l.ExpiresAt.Add(d-30*time.Second), l.BootUntil+d-30*time.Second
			}
			op = mint(l)
			op.At, op.Quota = when, 3+random.IntN(8)
		case k < 8:
			op = claim(id, when)
		case k == 8:
			d := time.Duration(50+random.IntN(60)) * time.Second
			op = leases.Op{Kind: leases.OpRenew, At: when, ID: id, Until: T0.Add(d), Boot: thisBoot, BootUntil: time.Hour + d}
		default:
			op = leases.Op{Kind: []leases.OpKind{leases.OpRevoke, leases.OpRevokePrefix}[random.IntN(2)], At: when, ID: id}
		}
		now := T0
		if random.IntN(200) == 0 {
			now = T0.Add(time.Duration(random.IntN(60)) * time.Second)
		}
		_, err := store.Commit(t.Context(), evented(kernel.Batch{Now: now, Leases: []leases.Op{op}}))
		want := model.Apply(&op)
		if err == nil {
			model.Saw(now)
		}
		if (err == nil) != (want == nil) || err != nil && !errors.Is(err, kernel.ErrConflict) {
			t.Fatalf("step %d: %s %s: store %v, model %v", step, op.Kind, op.ID, err, want)
		}
		if model.High().After(T0) {
			// The store may be a second behind: the same clock for both.
			high, err := store.LeaseClock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			model.SetHigh(high)
		}
		held, err := store.HeldLeases(t.Context(), coder, when)
		if diff := cmp.Diff(model.Held(coder, when), held, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("step %d: held: %v %s", step, err, diff)
		}
	}
	for _, q := range []leases.Query{{}, {Prefix: "a"}, {State: leases.Active, At: at(55 * time.Second)},
		{State: leases.Expired, At: at(55 * time.Second)}, {State: leases.Revoked}, {After: "a/b", Limit: 3}} {
		list, err := store.Leases(t.Context(), q)
		if diff := cmp.Diff(model.Leases(q), list, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%+v: %v %s", q, err, diff)
		}
	}
}
