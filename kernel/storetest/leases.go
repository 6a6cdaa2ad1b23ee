package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var coder = leases.Holder{Runtime: "r", Session: "s", Agent: "coder", Credential: "uid 1000"}

const thisBoot = "boot-1"

// at is a moment after T0 on both clocks.
func at(d time.Duration) leases.Instant {
	return leases.Instant{Wall: T0.Add(d), Boot: thisBoot, Since: time.Hour + d}
}

// lease returns a lease of one minute from T0.
func lease(id string, uses int64) leases.Lease {
	l := leases.Lease{
		ID: id, Holder: coder, Capability: "tool:exec", Scope: leases.Scope{Paths: phases.Scope{"/srv/**"}}.Normalize(),
		NotBefore: T0, ExpiresAt: T0.Add(time.Minute), MaxTTLS: 120, MaxUses: uses,
		Issuer: leases.Issuer{Kind: leases.ByPerson, Person: "dev"},
		State:  leases.Active, Created: T0, Boot: thisBoot, BootFrom: time.Hour, BootUntil: time.Hour + time.Minute,
		Token: []byte("hash of " + id),
	}
	return l
}

func child(id, parent string, depth int, uses int64) leases.Lease {
	l := lease(id, uses)
	l.Parent, l.Depth = parent, depth
	return l
}

func mint(l leases.Lease) leases.Op {
	return leases.Op{Kind: leases.OpMint, At: at(0), Lease: l, Quota: 50}
}

func claim(id string, when leases.Instant) leases.Op {
	return leases.Op{Kind: leases.OpClaim, At: when, ID: id, By: coder}
}

func revoke(id string) leases.Op { return leases.Op{Kind: leases.OpRevoke, At: at(0), ID: id} }

func ops(list ...leases.Op) kernel.Batch { return kernel.Batch{Now: T0, Leases: list} }

func leaseOf(t *testing.T, s kernel.Store, id string) leases.Lease {
	t.Helper()
	l, err := s.Lease(t.Context(), id)
	if err != nil || l == nil {
		t.Fatalf("lease %s: %v, %v", id, l, err)
	}
	return *l
}

func wantUses(t *testing.T, s kernel.Store, id string, uses int64, state leases.State) {
	t.Helper()
	if l := leaseOf(t, s, id); l.Uses != uses || l.State != state {
		t.Errorf("lease %s: %d uses, %s; want %d, %s", id, l.Uses, l.State, uses, state)
	}
}

func leasesRoundTrip(t *testing.T, store kernel.Store) {
	want := lease("s/coder/one", 3)
	want.Scope.Args = leases.Digests{"sha256:" + fmt.Sprintf("%064x", 7)}
	commit(t, store, ops(mint(want)))
	got := leaseOf(t, store, want.ID)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by id: %s", diff)
	}
	byToken, err := store.LeaseByToken(t.Context(), want.Token)
	if err != nil || byToken == nil || byToken.ID != want.ID {
		t.Errorf("by token: %v, %v", byToken, err)
	}
	for _, miss := range []string{"s/coder", "s/coder/one/x", "", "hash of s/coder/one"} {
		if l, err := store.Lease(t.Context(), miss); l != nil || err != nil {
			t.Errorf("lease %q: %v, %v", miss, l, err)
		}
	}
	if l, err := store.LeaseByToken(t.Context(), []byte{}); l != nil || err != nil {
		t.Errorf("empty token: %v, %v", l, err)
	}
}

func leaseClaims(t *testing.T, store kernel.Store) {
	commit(t, store, ops(mint(lease("a", 2)), mint(lease("open", 1))))
	commit(t, store, ops(claim("a", at(0))))
	wantUses(t, store, "a", 1, leases.Active)
	other := claim("a", at(0))
	for name, change := range map[string]func(*leases.Holder){
		"runtime": func(h *leases.Holder) { h.Runtime = "x" }, "session": func(h *leases.Holder) { h.Session = "x" },
		"agent": func(h *leases.Holder) { h.Agent = "" }, "credential": func(h *leases.Holder) { h.Credential = "uid 1001" },
	} {
		t.Run(name, func(t *testing.T) {
			op := other
			change(&op.By)
			wantConflict(t, store, ops(op))
		})
	}
	wantConflict(t, store, ops(claim("b", at(0))))
	commit(t, store, ops(claim("a", at(0))))
	wantUses(t, store, "a", 2, leases.Exhausted)
	wantConflict(t, store, ops(claim("a", at(0))))

	// All or nothing: the first claim of a batch goes with the last one, events too.
	b := ops(claim("open", at(0)), claim("a", at(0)))
	b.Events = []phases.Event{event("e-1")}
	wantConflict(t, store, b)
	wantUses(t, store, "open", 0, leases.Active)
	if list, err := store.Events(t.Context(), wire.Query{ID: "e-1"}); err != nil || len(list) != 0 {
		t.Errorf("events of a claim that did not hold: %v, %v", list, err)
	}
}

func leasesByHolder(t *testing.T, store kernel.Store) {
	long, anyone, other, done := lease("long", 1), lease("anyone", 1), lease("other", 1), lease("done", 1)
	long.ExpiresAt, long.BootUntil = T0.Add(2*time.Minute), time.Hour+2*time.Minute
	anyone.Holder.Credential, other.Holder.Agent = "", "else"
	commit(t, store,
		ops(mint(long), mint(anyone), mint(other), mint(done), claim("done", at(0)), mint(lease("p", 5)),
			mint(child("p/c", "p", 1, 1)), revoke("p")))
	held := func(h leases.Holder, when leases.Instant) string {
		t.Helper()
		list, err := store.HeldLeases(t.Context(), h, when)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, l := range list {
			out += l.ID + " "
		}
		return out
	}
	if got := held(coder, at(0)); got != "anyone long " {
		t.Errorf("held: %s", got)
	}
	if got := held(coder, at(time.Minute)); got != "long " {
		t.Errorf("held after a minute: %s", got)
	}
	stranger := coder
	stranger.Credential = "uid 2"
	if got := held(stranger, at(0)); got != "anyone " {
		t.Errorf("held by another credential: %s", got)
	}
	// A child is not held once a lease above it is used up.
	commit(t, store, ops(mint(lease("q", 2)), mint(child("q/c", "q", 1, 2)), mint(child("q/c/d", "q/c", 2, 1))))
	if got := held(coder, at(0)); got != "anyone q q/c q/c/d long " {
		t.Errorf("held with children: %s", got)
	}
	commit(t, store, ops(claim("q", at(0)), claim("q", at(0))))
	if got := held(coder, at(0)); got != "anyone long " {
		t.Errorf("held when what is above is used up: %s", got)
	}
}

func leaseClocks(t *testing.T, store kernel.Store) {
	l := lease("a", 100)
	l.NotBefore, l.BootFrom = T0.Add(10*time.Second), time.Hour+10*time.Second
	commit(t, store, ops(mint(l)))
	hour := func(d time.Duration, shift time.Duration) leases.Instant {
		i := at(d)
		i.Wall = i.Wall.Add(shift)
		return i
	}
	reboot := func(d time.Duration) leases.Instant {
		return leases.Instant{Wall: T0.Add(d), Boot: "boot-2", Since: time.Minute}
	}
	noBoot := func(d time.Duration) leases.Instant { return leases.Instant{Wall: T0.Add(d)} }
	for name, c := range map[string]struct {
		when leases.Instant
		good bool
	}{
		"before":                         {at(9 * time.Second), false},
		"begins":                         {at(10 * time.Second), true},
		"last moment":                    {at(time.Minute - 1), true},
		"end":                            {at(time.Minute), false},
		"clock set back does not extend": {hour(time.Minute, -time.Hour), false},
		"clock set forth does not end":   {hour(30*time.Second, time.Hour), true},
		"clock set forth does not begin": {hour(time.Second, time.Hour), false},
		"another boot goes by the wall":  {reboot(30 * time.Second), true},
		"another boot, over":             {reboot(time.Minute), false},
		"another boot, before":           {reboot(time.Second), false},
		"no boot clock":                  {noBoot(30 * time.Second), true},
		"no boot clock, over":            {noBoot(time.Minute), false},
	} {
		err := error(nil)
		if _, err = store.Commit(t.Context(), evented(ops(claim("a", c.when)))); err != nil &&
			!errors.Is(err, kernel.ErrConflict) {
			t.Fatal(err)
		}
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The store has seen a later time: after a reboot the clock cannot go back behind it.
	commit(t, store, kernel.Batch{Now: T0.Add(time.Hour), Events: []phases.Event{event("later")}})
	wantConflict(t, store, ops(claim("a", reboot(30*time.Second))))
	if high, err := store.LeaseClock(t.Context()); err != nil || high.Before(T0.Add(time.Hour-time.Second)) {
		t.Errorf("highest time %v, %v", high, err)
	}
	commit(t, store, ops(claim("a", at(30*time.Second)))) // on the same boot its own clock counts
}

func leaseTrees(t *testing.T, store kernel.Store) {
	commit(t, store,
		ops(mint(lease("t", 10)), mint(child("t/a", "t", 1, 5)), mint(child("t/a/x", "t/a", 2, 2)),
			mint(child("t/b", "t", 1, 5)), mint(lease("t2", 1))))
	commit(t, store, ops(claim("t/a/x", at(0))))
	for id, n := range map[string]int64{"t": 1, "t/a": 1, "t/a/x": 1, "t/b": 0} {
		wantUses(t, store, id, n, leases.Active)
	}
	// What the children may use together is what the parent may.
	for range 5 {
		commit(t, store, ops(claim("t/b", at(0))))
	}
	for range 4 {
		commit(t, store, ops(claim("t", at(0))))
	}
	wantUses(t, store, "t", 10, leases.Exhausted)
	wantConflict(t, store, ops(claim("t/a", at(0))))

	commit(t, store,
		ops(mint(lease("u", 10)), mint(child("u/a", "u", 1, 5)), mint(child("u/a/x", "u/a", 2, 2)), mint(lease("u-2", 1))))
	commit(t, store, ops(revoke("u/a")))
	wantUses(t, store, "u/a/x", 0, leases.Revoked)
	wantConflict(t, store, ops(claim("u/a/x", at(0))))
	commit(t, store, ops(claim("u", at(0)), claim("u-2", at(0))))
	commit(t, store, ops(mint(lease("v/1/a", 1)), mint(lease("v/1/b", 1)), mint(lease("v/10", 1))))
	commit(t, store, ops(leases.Op{Kind: leases.OpRevokePrefix, At: at(0), ID: "v/1"}))
	wantUses(t, store, "v/1/a", 0, leases.Revoked)
	wantUses(t, store, "v/1/b", 0, leases.Revoked)
	wantUses(t, store, "v/10", 0, leases.Active)
	commit(t, store, ops(leases.Op{Kind: leases.OpRevokePrefix, At: at(0), ID: "missing"}))
	wantConflict(t, store, ops(revoke("missing")))
}

func leaseMints(t *testing.T, store kernel.Store) {
	commit(t, store,
		ops(mint(lease("a/b", 2)), mint(lease("gone", 2)), mint(lease("used", 1)), revoke("gone"), claim("used", at(0))))
	for name, op := range map[string]leases.Op{
		"taken":                     mint(lease("a/b", 1)),
		"above another":             mint(lease("a", 1)),
		"below another, no parent":  mint(lease("a/b/c", 1)),
		"parent missing":            mint(child("n/c", "n", 1, 1)),
		"parent revoked":            mint(child("gone/c", "gone", 1, 1)),
		"parent used up":            mint(child("used/c", "used", 1, 1)),
		"more uses than the parent": mint(child("a/b/c", "a/b", 1, 3)),
	} {
		t.Run(name, func(t *testing.T) { wantConflict(t, store, ops(op)) })
	}
	long := child("a/b/c", "a/b", 1, 1)
	long.ExpiresAt = long.ExpiresAt.Add(1)
	wantConflict(t, store, ops(mint(long)))
	late := mint(child("a/b/c", "a/b", 1, 1))
	late.At = at(time.Minute)
	wantConflict(t, store, ops(late))
	same := lease("c", 1)
	same.Token = []byte("hash of a/b")
	if _, err := store.Commit(t.Context(), evented(ops(mint(same)))); err == nil {
		t.Error("a token was given twice")
	}
	quota := mint(lease("d", 1))
	quota.Quota = 1
	wantConflict(t, store, ops(quota))
	quota.Quota = 2 // a/b lives; gone and used do not
	commit(t, store, ops(quota))
	quota.Lease, quota.Quota = lease("e", 1), 0
	quota.Lease.Holder.Credential = "" // a person's, for any holder of the session: no quota to take from
	commit(t, store, ops(quota))
}

func leaseRenewals(t *testing.T, s kernel.Store) {
	commit(t, s, ops(mint(lease("a", 2)), mint(child("a/c", "a", 1, 1))))
	renew := func(id string, when leases.Instant, until time.Duration) leases.Op {
		return leases.Op{Kind: leases.OpRenew, At: when, ID: id, Until: T0.Add(until), Boot: thisBoot,
			BootUntil: time.Hour + until}
	}
	wantConflict(t, s, ops(renew("a/c", at(0), 90*time.Second)))
	commit(t, s, ops(renew("a", at(0), 90*time.Second)))
	commit(t, s, ops(renew("a/c", at(0), 90*time.Second), claim("a/c", at(80*time.Second))))
	wantConflict(t, s, ops(renew("a", at(90*time.Second), 100*time.Second)))
	wantConflict(t, s, ops(renew("b", at(0), 100*time.Second)))
	commit(t, s, ops(revoke("a")))
	wantConflict(t, s, ops(renew("a", at(0), 100*time.Second)))
}

func leasesForgotten(t *testing.T, s kernel.Store) {
	commit(t, s, ops(mint(lease("a", 1))))
	prune(t, s, T0.Add(leases.Retention))
	leaseOf(t, s, "a")
	prune(t, s, T0.Add(leases.Retention+time.Hour))
	if l, err := s.Lease(t.Context(), "a"); l != nil || err != nil {
		t.Errorf("after its time: %v, %v", l, err)
	}
}
