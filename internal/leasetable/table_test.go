package leasetable_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/leases"
)

var (
	t0    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	coder = leases.Holder{Runtime: "r", Session: "s", Agent: "coder", Credential: "uid 1000"}
)

// rows returns the leases of a table by id.
func rows(table *leasetable.Table) map[string]leases.Lease {
	out := map[string]leases.Lease{}
	for l := range table.All() {
		out[l.ID] = l
	}
	return out
}

// lease is one that lasts an hour and has ten uses.
func lease(id, parent string) leases.Lease {
	return leases.Lease{
		ID: id, Parent: parent, Holder: coder, Capability: "tool:exec", NotBefore: t0, ExpiresAt: t0.Add(time.Hour),
		MaxTTLS: 3600, MaxUses: 10,
		State: leases.Active, Created: t0, Boot: "b1", BootFrom: time.Hour, BootUntil: 2 * time.Hour,
		Token: []byte("token of " + id),
	}
}

// Each thing that a change rests on is looked at again when it is carried out, up to its bound; a change that does not
// hold any more changes nothing. The table has a (2 of 10 uses used), a/b below it, and old, which was revoked.
func TestChangesThatDoNotHold(t *testing.T) {
	at := leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour}
	late := leases.Instant{Wall: t0.Add(time.Hour), Boot: "b1", Since: 2 * time.Hour}
	mint := func(l leases.Lease, change func(l *leases.Lease, op *leases.Op)) leases.Op {
		op := leases.Op{Kind: leases.OpMint, At: at, Quota: 9}
		if change != nil {
			change(&l, &op)
		}
		op.Lease = l
		return op
	}
	stranger := coder
	stranger.Agent = "other"
	for _, tc := range []struct {
		name string
		op   leases.Op
		ok   bool
	}{
		{"mint", mint(lease("n", ""), nil), true},
		{"mint below a lease", mint(lease("a/n", "a"), func(l *leases.Lease, _ *leases.Op) { l.MaxUses = 8 }), true},
		{"mint with the id of another", mint(lease("a", ""), nil), false},
		{"mint above another", mint(lease("x", ""), nil), false},
		{"mint with the token of another",
			mint(lease("n", ""), func(l *leases.Lease, _ *leases.Op) { l.Token = []byte("token of a") }), false},
		{"mint below a lease that it does not name", mint(lease("a/n", ""), nil), false},
		{"mint below one that is not there", mint(lease("n/n", "n"), nil), false},
		{"mint below the one but next", mint(lease("a/b/n", "a"), nil), false},
		{"mint with the last of the quota", mint(lease("n", ""), func(_ *leases.Lease, op *leases.Op) { op.Quota = 4 }),
			true},
		{"mint with one more", mint(lease("n", ""), func(_ *leases.Lease, op *leases.Op) { op.Quota = 3 }), false},
		{"mint for another credential",
			mint(lease("n", ""), func(l *leases.Lease, op *leases.Op) { l.Holder.Credential, op.Quota = "x", 1 }), true},
		{"mint for no credential",
			mint(lease("n", ""), func(l *leases.Lease, op *leases.Op) { l.Holder.Credential, op.Quota = "", 0 }), true},
		{"mint with more uses than the parent has left",
			mint(lease("a/n", "a"), func(l *leases.Lease, _ *leases.Op) { l.MaxUses = 9 }), false},
		{"mint beyond the parent's end",
			mint(lease("a/n", "a"), func(l *leases.Lease, _ *leases.Op) { l.MaxUses, l.ExpiresAt = 1, l.ExpiresAt.Add(1) }),
			false},
		{"mint below one that was revoked",
			mint(lease("old/n", "old"), func(l *leases.Lease, _ *leases.Op) { l.MaxUses = 1 }), false},
		{"mint below one that is over",
			mint(lease("a/n", "a"), func(l *leases.Lease, op *leases.Op) { l.MaxUses, op.At = 1, late }), false},

		{"claim", leases.Op{Kind: leases.OpClaim, At: at, ID: "a/b", By: coder}, true},
		{"claim what is not there", leases.Op{Kind: leases.OpClaim, At: at, ID: "n", By: coder}, false},
		{"claim another's", leases.Op{Kind: leases.OpClaim, At: at, ID: "a", By: stranger}, false},
		{"claim what was revoked", leases.Op{Kind: leases.OpClaim, At: at, ID: "old", By: coder}, false},
		{"claim what is over", leases.Op{Kind: leases.OpClaim, At: late, ID: "a", By: coder}, false},

		{"renew", leases.Op{Kind: leases.OpRenew, At: at, ID: "a", Until: t0.Add(2 * time.Hour), Boot: "b1"}, true},
		{"renew up to the parent's end",
			leases.Op{Kind: leases.OpRenew, At: at, ID: "a/b", Until: t0.Add(time.Hour), Boot: "b1"}, true},
		{"renew beyond the parent's end",
			leases.Op{Kind: leases.OpRenew, At: at, ID: "a/b", Until: t0.Add(time.Hour + 1), Boot: "b1"}, false},
		{"renew what is not there", leases.Op{Kind: leases.OpRenew, At: at, ID: "n", Until: t0.Add(time.Hour), Boot: "b1"},
			false},
		{"renew what was revoked", leases.Op{Kind: leases.OpRenew, At: at, ID: "old", Until: t0.Add(time.Hour), Boot: "b1"},
			false},
		{"renew what is over", leases.Op{Kind: leases.OpRenew, At: late, ID: "a", Until: t0.Add(3 * time.Hour), Boot: "b1"},
			false},

		{"revoke", leases.Op{Kind: leases.OpRevoke, At: at, ID: "a"}, true},
		{"revoke what is not there", leases.Op{Kind: leases.OpRevoke, At: at, ID: "n"}, false},
		{"revoke one's own", leases.Op{Kind: leases.OpRevoke, At: at, ID: "a", Runtime: "r", Owner: "uid 1000"}, true},
		{"revoke another credential's", leases.Op{Kind: leases.OpRevoke, At: at, ID: "a", Runtime: "r", Owner: "uid 1001"},
			false},
		{"revoke another runtime's", leases.Op{Kind: leases.OpRevoke, At: at, ID: "a", Runtime: "x", Owner: "uid 1000"},
			false},
		{"something else", leases.Op{Kind: "lend", At: at, ID: "a"}, false},
	} {
		table := &leasetable.Table{}
		for _, l := range []leases.Lease{lease("a", ""), lease("a/b", "a"), lease("old", ""), lease("x/y", "")} {
			l.MaxUses = 10
			if l.Parent != "" {
				l.MaxUses = 5
			}
			if err := table.Apply(&leases.Op{Kind: leases.OpMint, At: at, Lease: l, Quota: 9}); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range []leases.Op{{Kind: leases.OpClaim, ID: "a"}, {Kind: leases.OpClaim, ID: "a"},
			{Kind: leases.OpRevoke, ID: "old"}} {
			if op.At, op.By = at, coder; table.Apply(&op) != nil {
				t.Fatal(op)
			}
		}
		before := rows(table)
		err := table.Apply(&tc.op)
		switch {
		case tc.ok && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.ok && cmp.Equal(before, rows(table)):
			t.Errorf("%s: nothing has changed", tc.name)
		case !tc.ok && !errors.Is(err, leasetable.ErrStale):
			t.Errorf("%s: %v, want ErrStale", tc.name, err)
		case !tc.ok && !cmp.Equal(before, rows(table)):
			t.Errorf("%s: refused, and yet:\n%s", tc.name, cmp.Diff(before, rows(table)))
		}
	}
}

// What a change changes, and nothing else.
func TestWhatChangesChange(t *testing.T) {
	at := leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour}
	table := &leasetable.Table{}
	apply := func(op leases.Op) {
		t.Helper()
		op.At = at
		if err := table.Apply(&op); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]leases.Lease{}
	same := func(name string) {
		t.Helper()
		if diff := cmp.Diff(want, rows(table)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, l := range []leases.Lease{lease("a", ""), lease("a/b", "a"), lease("ab", "")} {
		l.MaxUses = 2
		want[l.ID] = l
		zone := time.FixedZone("", 3600)
		l.NotBefore, l.ExpiresAt, l.Created = l.NotBefore.In(zone), l.ExpiresAt.In(zone), l.Created.In(zone)
		apply(leases.Op{Kind: leases.OpMint, Lease: l, Quota: 9})
	}
	same("minted, times in UTC")

	apply(leases.Op{Kind: leases.OpClaim, ID: "a/b", By: coder})
	for _, id := range []string{"a", "a/b"} {
		l := want[id]
		l.Uses = 1
		want[id] = l
	}
	same("claimed once, with the one above")
	copied := table.Clone()
	apply(leases.Op{Kind: leases.OpClaim, ID: "a", By: coder})
	l := want["a"]
	l.Uses, l.State = 2, leases.Exhausted
	want["a"] = l
	same("the last use of a")
	if rows(copied)["a"].Uses != 1 {
		t.Error("a copy of the table has changed")
	}

	apply(leases.Op{Kind: leases.OpRenew, ID: "ab", Until: t0.Add(3 * time.Hour), Boot: "b1", BootUntil: 4 * time.Hour})
	l = want["ab"]
	l.ExpiresAt, l.BootUntil = t0.Add(3*time.Hour), 4*time.Hour
	want["ab"] = l
	same("renewed on the same boot")
	at.Boot, at.Since = "b2", time.Minute
	apply(leases.Op{Kind: leases.OpRenew, ID: "ab", Until: t0.Add(4 * time.Hour), Boot: "b2", BootUntil: time.Hour})
	l.ExpiresAt, l.Boot, l.BootFrom, l.BootUntil = t0.Add(4*time.Hour), "b2", 0, time.Hour
	want["ab"] = l
	same("renewed on another boot")

	apply(leases.Op{Kind: leases.OpRevokePrefix, ID: "a"})
	l = want["a/b"]
	l.State = leases.Revoked
	want["a/b"] = l
	same("revoked at a and below it: a is exhausted, ab lies beside it")
}

// A revocation below an id reaches leases of the caller and leases without a
// credential, of the caller's runtime.
func TestRevocationsReach(t *testing.T) {
	at := leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour}
	table := &leasetable.Table{}
	for id, h := range map[string]leases.Holder{
		"p/mine": coder, "p/none": {Runtime: "r"}, "p/theirs": {Runtime: "r", Credential: "uid 1001"},
		"p/elsewhere":      {Runtime: "x", Credential: "uid 1000"},
		"p/none-elsewhere": {Runtime: "x"}, "q": coder,
	} {
		l := lease(id, "")
		l.Holder = h
		if err := table.Apply(&leases.Op{Kind: leases.OpMint, At: at, Lease: l, Quota: 9}); err != nil {
			t.Fatal(id, err)
		}
	}
	revoked := func() (out []string) {
		for id, l := range rows(table) {
			if l.State == leases.Revoked {
				out = append(out, id)
			}
		}
		slices.Sort(out)
		return out
	}
	if err := table.Apply(&leases.Op{Kind: leases.OpRevokePrefix, At: at, ID: "p", Runtime: "r",
		Owner: "uid 1000"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p/mine", "p/none"}, revoked()); diff != "" {
		t.Errorf("by an owner (-want +got):\n%s", diff)
	}
	if err := table.Apply(&leases.Op{Kind: leases.OpRevokePrefix, At: at, ID: "p"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p/elsewhere", "p/mine", "p/none", "p/none-elsewhere", "p/theirs"},
		revoked()); diff != "" {
		t.Errorf("by a person (-want +got):\n%s", diff)
	}
}

// Each member of a query selects by itself, and its limit holds.
func TestQueriesSelect(t *testing.T) {
	at := leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour}
	table := &leasetable.Table{}
	for _, id := range []string{"a", "a/b", "ab", "c"} {
		l := lease(id, "")
		if id == "a/b" {
			l.Parent, l.MaxUses = "a", 1
		}
		if id == "c" {
			l.Holder = leases.Holder{Runtime: "r2", Session: "s2", Agent: "a2", Credential: "c2"}
			l.ExpiresAt, l.BootUntil = t0.Add(time.Minute), time.Hour+time.Minute
		}
		if err := table.Apply(&leases.Op{Kind: leases.OpMint, At: at, Lease: l, Quota: 9}); err != nil {
			t.Fatal(err)
		}
	}
	late := leases.Instant{Wall: t0.Add(time.Minute), Boot: "b1", Since: time.Hour + time.Minute}
	for name, tc := range map[string]struct {
		q    leases.Query
		want []string
	}{
		"everything":       {leases.Query{}, []string{"a", "a/b", "ab", "c"}},
		"below":            {leases.Query{Prefix: "a"}, []string{"a", "a/b"}},
		"of a runtime":     {leases.Query{Holder: leases.Holder{Runtime: "r2"}}, []string{"c"}},
		"of a session":     {leases.Query{Holder: leases.Holder{Session: "s2"}}, []string{"c"}},
		"of an agent":      {leases.Query{Holder: leases.Holder{Agent: "a2"}}, []string{"c"}},
		"of a credential":  {leases.Query{Holder: leases.Holder{Credential: "c2"}}, []string{"c"}},
		"of none like it":  {leases.Query{Holder: leases.Holder{Runtime: "r2", Agent: "coder"}}, nil},
		"after":            {leases.Query{After: "a/b"}, []string{"ab", "c"}},
		"active":           {leases.Query{State: leases.Active, At: late}, []string{"a", "a/b", "ab"}},
		"expired":          {leases.Query{State: leases.Expired, At: late}, []string{"c"}},
		"the first two":    {leases.Query{Limit: 2}, []string{"a", "a/b"}},
		"the one after it": {leases.Query{Limit: 1, After: "a/b"}, []string{"ab"}},
	} {
		var got []string
		for _, l := range table.Leases(tc.q) {
			got = append(got, l.ID)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 1000: 1000, 1001: 1000} {
		if q := (leases.Query{Limit: limit}); q.EffectiveLimit() != want {
			t.Errorf("limit %d: %d, want %d", limit, q.EffectiveLimit(), want)
		}
	}

	var held []string
	for _, l := range table.Held(coder, at) {
		held = append(held, l.ID)
	}
	if diff := cmp.Diff([]string{"a", "a/b", "ab"}, held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if l := table.LeaseByToken([]byte("token of ab")); l == nil || l.ID != "ab" {
		t.Errorf("by its token: %+v", l)
	}
	empty := lease("empty", "")
	empty.Token = nil
	if err := table.Apply(&leases.Op{Kind: leases.OpMint, At: at, Lease: empty, Quota: 9}); err != nil {
		t.Fatal(err)
	}
	if table.LeaseByToken(nil) != nil || table.LeaseByToken([]byte("other")) != nil || table.Lease("n") != nil {
		t.Error("a lease is found that is not there")
	}

	// What ends sooner comes first.
	if err := table.Apply(&leases.Op{Kind: leases.OpRenew, At: at, ID: "a", Until: t0.Add(2 * time.Hour), Boot: "b1",
		BootUntil: 3 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	held = nil
	for _, l := range table.Held(coder, at) {
		held = append(held, l.ID)
	}
	if diff := cmp.Diff([]string{"a/b", "ab", "empty", "a"}, held); diff != "" {
		t.Errorf("held, the soonest to end first (-want +got):\n%s", diff)
	}
}

// The highest time that was seen does not go back, and what ended before a time is forgotten.
func TestTablesForget(t *testing.T) {
	table := &leasetable.Table{}
	for _, id := range []string{"a", "b"} {
		l := lease(id, "")
		if id == "b" {
			l.ExpiresAt = l.ExpiresAt.Add(1)
		}
		if err := table.Apply(&leases.Op{Kind: leases.OpMint, At: leases.Instant{Wall: t0}, Lease: l, Quota: 9}); err != nil {
			t.Fatal(err)
		}
	}
	table.Saw(t0.Add(1))
	table.Saw(t0)
	if !table.High().Equal(t0.Add(1)) {
		t.Errorf("seen: %v", table.High())
	}
	table.Prune(t0.Add(time.Hour))
	if len(rows(table)) != 2 {
		t.Error("forgotten with its last moment")
	}
	table.Prune(t0.Add(time.Hour + 1))
	if _, ok := rows(table)["b"]; !ok || len(rows(table)) != 1 {
		t.Errorf("%+v", rows(table))
	}
	table.SetHigh(t0)
	if !table.High().Equal(t0) {
		t.Errorf("set: %v", table.High())
	}
}
