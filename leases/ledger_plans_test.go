package leases_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var errDisk = errors.New("the disk does not answer")

// faulty is a store of which one call, counted from 1, fails, also when it would have found something.
type faulty struct {
	leases.Store
	fails, calls int
}

func (f *faulty) err() error {
	if f.calls++; f.calls == f.fails {
		return errDisk
	}
	return nil
}

func (f *faulty) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	l, err := f.Store.Lease(ctx, id)
	return l, errors.Join(err, f.err())
}

func (f *faulty) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	l, err := f.Store.LeaseByToken(ctx, hash)
	return l, errors.Join(err, f.err())
}

func (f *faulty) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	l, err := f.Store.Leases(ctx, q)
	return l, errors.Join(err, f.err())
}

func (f *faulty) LeaseClock(ctx context.Context) (time.Time, error) {
	at, err := f.Store.LeaseClock(ctx)
	return at, errors.Join(err, f.err())
}

// Nothing is planned on what a store could not tell, whichever call it was.
func TestNoPlanWithoutTheStore(t *testing.T) {
	w := newWorld(t.Fatal)
	p := w.must(leases.Request{ID: "p", TTLS: 60, MaxTTLS: 600, MaxUses: 5})
	w.must(leases.Request{ID: "p/c", TTLS: 60, MaxTTLS: 600})
	w.pass(time.Second)
	request := leases.Request{Capability: "tool:exec", Scope: &leases.Scope{}, TTLS: 1}
	mint := func(id, parent string) func(context.Context) (any, bool, error) {
		return func(ctx context.Context) (any, bool, error) {
			r := request
			r.ID, r.Parent = id, parent
			m, err := w.Mint(ctx, r, coder, dev, leases.Rule{})
			return m, m.Token == "" && m.Op.Kind == "", err
		}
	}
	for name, plan := range map[string]func(context.Context) (made any, nothing bool, err error){
		"mint":              mint("", ""),
		"mint with id":      mint("n", ""),
		"mint below":        mint("p/c/n", "p/c"),
		"mint below, no id": mint("", "p"),
		"renew": func(ctx context.Context) (any, bool, error) {
			op, err := w.Renew(ctx, w.table.Lease("p/c"), 59*time.Second)
			return op, op.Kind == "", err
		},
		"revoke prefix": func(ctx context.Context) (any, bool, error) {
			op, err := w.Revoke(ctx, "p", true)
			return op, op.Kind == "", err
		},
		"revoke": func(ctx context.Context) (any, bool, error) {
			op, err := w.Revoke(ctx, "p", false)
			return op, err != nil || op.Kind == "", err // callers look at the error
		},
		"get": func(ctx context.Context) (any, bool, error) {
			l, err := w.Get(ctx, "p", nil)
			return l, l == nil, err
		},
		"get by token": func(ctx context.Context) (any, bool, error) {
			l, err := w.Get(ctx, p.Token, nil)
			return l, l == nil, err
		},
		"now": func(ctx context.Context) (any, bool, error) {
			at, err := w.Ledger.Now(ctx)
			return at, err != nil, err
		},
	} {
		for n := 1; ; n++ {
			f := &faulty{Store: tableStore{w.table}, fails: n}
			w.Store = f
			made, nothing, err := plan(t.Context())
			if f.calls < n {
				if n == 1 || err != nil || nothing {
					t.Errorf("%s: nothing fails in %d calls: %+v, %v", name, f.calls, made, err)
				}
				break
			}
			if !errors.Is(err, errDisk) || !nothing {
				t.Errorf("%s, call %d fails: %+v, %v", name, n, made, err)
			}
		}
	}
}

// A lease has the terms that were asked for, and defaults for the others.
func TestMintPlansWhatWasAsked(t *testing.T) {
	w := newWorld(t.Fatal)
	w.table.Saw(t0.Add(time.Minute))
	w.must(leases.Request{ID: "p", TTLS: 600, MaxUses: 9})
	for _, tc := range []struct {
		name  string
		r     leases.Request
		below string // what the id lies below, where it is made
		want  leases.Lease
	}{
		{"the least", leases.Request{TTLS: 60}, "s/coder/", leases.Lease{
			MaxTTLS: 60, MaxUses: 1, NotBefore: t0, ExpiresAt: t0.Add(time.Minute), BootFrom: time.Hour,
			BootUntil: time.Hour + time.Minute,
		}},
		{"everything", leases.Request{ID: "x/y", TTLS: 60, MaxTTLS: 90, MaxUses: 7, DelayS: 30}, "", leases.Lease{
			ID: "x/y", MaxTTLS: 90, MaxUses: 7, NotBefore: t0.Add(30 * time.Second), ExpiresAt: t0.Add(90 * time.Second),
			BootFrom: time.Hour + 30*time.Second, BootUntil: time.Hour + 90*time.Second,
		}},
		{"below another", leases.Request{Parent: "p", TTLS: 30, DelayS: 30, MaxUses: 2}, "p/", leases.Lease{
			Parent: "p", Depth: 1, MaxTTLS: 30, MaxUses: 2, NotBefore: t0.Add(30 * time.Second),
			ExpiresAt: t0.Add(60 * time.Second),
			BootFrom:  time.Hour + 30*time.Second, BootUntil: time.Hour + 60*time.Second,
		}},
	} {
		m, err := w.mint(tc.r)
		if err != nil {
			t.Fatal(tc.name, err)
		}
		got := m.Op.Lease
		want := tc.want
		want.Holder, want.Capability, want.Issuer, want.State, want.Created, want.Boot = coder, "tool:exec", dev,
			leases.Active, t0, "b1"
		want.Scope, want.Token = (leases.Scope{}).Normalize(), w.Hash(m.Token)
		if rest, ok := strings.CutPrefix(got.ID, tc.below); tc.below != "" && ok && len(rest) == 16 {
			want.ID = got.ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		op := leases.Op{Kind: leases.OpMint,
			At: leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour, High: t0.Add(time.Minute)}, Quota: leases.DefaultQuota}
		if diff := cmp.Diff(op, m.Op, cmpopts.IgnoreFields(leases.Op{}, "Lease")); diff != "" {
			t.Errorf("%s: the plan (-want +got):\n%s", tc.name, diff)
		}
	}
	a, b := w.must(leases.Request{TTLS: 1}), w.must(leases.Request{TTLS: 1})
	if a.Token == b.Token || bytes.Equal(w.Hash(a.Token), w.Hash(b.Token)) || a.Op.Lease.ID == b.Op.Lease.ID {
		t.Error("two leases have one token or one id")
	}
}

// A child never begins before its parent nor ends behind it, also where the wall clock was set between the two: on
// the same boot what remains by the boot clock counts.
func TestChildrenWhenTheWallClockWasSet(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   time.Duration
		boot  string
		ttl   int64
		class error
		text  string
		want  leases.Lease
	}{
		{"set forward", 30 * time.Minute, "b1", 30, nil, "",
			leases.Lease{NotBefore: t0.Add(30 * time.Minute), ExpiresAt: t0.Add(time.Minute), BootFrom: time.Hour,
				BootUntil: time.Hour + 30*time.Second}},
		{"set back", -30 * time.Minute, "b1", 30, nil, "",
			leases.Lease{NotBefore: t0, ExpiresAt: t0.Add(-30*time.Minute + 30*time.Second), BootFrom: time.Hour,
				BootUntil: time.Hour + 30*time.Second}},
		{"set back, all of its time", -30 * time.Minute, "b1", 60, nil, "",
			leases.Lease{NotBefore: t0, ExpiresAt: t0.Add(-29 * time.Minute), BootFrom: time.Hour,
				BootUntil: time.Hour + time.Minute}},
		{"set forward, longer than it remains", 30 * time.Minute, "b1", 61, leases.ErrWider, "it would outlive the parent",
			leases.Lease{}},
		{"set back, another boot", -30 * time.Minute, "b2", 30, leases.ErrWider, "it would begin before the parent",
			leases.Lease{}},
		{"set forward, another boot", 30 * time.Minute, "b2", 30, leases.ErrOver, "the parent is expired", leases.Lease{}},
	} {
		w := newWorld(t.Fatal)
		w.must(leases.Request{ID: "p", TTLS: 60, MaxTTLS: 600, MaxUses: 5})
		w.wall, w.boot = w.wall.Add(tc.set), tc.boot
		m, err := w.mint(leases.Request{ID: "p/c", TTLS: tc.ttl})
		refused(t, tc.name, err, tc.class, tc.text)
		l := m.Op.Lease
		got := leases.Lease{NotBefore: l.NotBefore, ExpiresAt: l.ExpiresAt, BootFrom: l.BootFrom, BootUntil: l.BootUntil}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// What stands above an id is its parent, and every other answer is refused by name.
func TestParentsOfIDs(t *testing.T) {
	w := newWorld(t.Fatal)
	w.must(leases.Request{ID: "a", TTLS: 60, MaxUses: 9})
	w.must(leases.Request{ID: "a/b/c", TTLS: 60})
	for _, tc := range []struct {
		name, id, parent string
		class            error
		text             string
	}{
		{"the nearest above it", "a/b/d", "a", nil, ""},
		{"found", "a/b/e", "", nil, ""},
		{"none above it", "n/n", "", nil, ""},
		{"the one but next", "a/b/c/d", "a", leases.ErrInvalid, "parent: the lease just above the id is another one"},
		{"not above it", "n", "a", leases.ErrInvalid, "id: must lie below the parent's"},
		{"not there", "m/n", "m", leases.ErrUnknown, "no such lease, or not yours"},
		{"taken", "a/b/c", "", leases.ErrInvalid, "id: there is a lease with this id or below it"},
		{"above one", "a/b", "", leases.ErrInvalid, "id: there is a lease with this id or below it"},
	} {
		m, err := w.mint(leases.Request{ID: tc.id, Parent: tc.parent, TTLS: 1})
		refused(t, tc.name, err, tc.class, tc.text)
		if strings.HasPrefix(tc.id, "a/") && err == nil && m.Op.Lease.Parent != "a" {
			t.Errorf("%s: below %q", tc.name, m.Op.Lease.Parent)
		}
	}
	deep := strings.TrimSuffix(strings.Repeat("a/", leases.MaxSegments), "/")
	w = newWorld(t.Fatal)
	w.must(leases.Request{ID: deep, TTLS: 60})
	_, err := w.mint(leases.Request{Parent: deep, TTLS: 1})
	refused(t, "an id that would have too many parts", err, leases.ErrInvalid, "id: an id has at most 16 parts")
}

func TestQuotaOfCredentials(t *testing.T) {
	w := newWorld(t.Fatal)
	w.Quota = 2
	nobody := coder
	nobody.Credential = ""
	request := leases.Request{TTLS: 60, Capability: "a:b", Scope: &leases.Scope{}}
	for n := range 4 { // a lease of no credential counts for no quota
		m, err := w.Mint(t.Context(), request, nobody, dev, leases.Rule{})
		if err := w.do(m.Op, err); err != nil || m.Op.Quota != 2 {
			t.Fatalf("%d: %v, %+v", n, err, m.Op)
		}
	}
	w.must(leases.Request{TTLS: 60})
	w.must(leases.Request{TTLS: 60})
	_, err := w.mint(leases.Request{TTLS: 60})
	refused(t, "the third", err, leases.ErrQuota,
		"the holder's credential has too many leases: revoke some, or wait until they end")
}

// A renewal extends a lease to the end of its max_ttl_s or of its parent at most, and never shortens it.
func TestBoundsOfRenewing(t *testing.T) {
	for _, tc := range []struct {
		name   string
		parent int64 // seconds that the parent lasts; 0: there is none
		change func(w *world)
		ttl    time.Duration
		class  error
		text   string
		until  time.Duration // after t0
	}{
		{"the shortest", 0, func(w *world) { w.pass(59 * time.Second) }, time.Second, nil, "", 60 * time.Second},
		{"shorter", 0, func(w *world) { w.pass(59 * time.Second) }, time.Second - 1, leases.ErrInvalid,
			"ttl_s is at least 1 second", 0},
		{"as long as it lasts", 0, func(w *world) { w.pass(10 * time.Second) }, 50 * time.Second, nil, "", 60 * time.Second},
		{"shorter than it lasts", 0, func(w *world) { w.pass(10 * time.Second) }, 50*time.Second - 1, leases.ErrInvalid,
			"the lease lasts longer already: to end it, revoke it", 0},
		{"all that is left", 0, func(w *world) { w.pass(10 * time.Second) }, 90 * time.Second, nil, "", 100 * time.Second},
		{"more than is left", 0, func(w *world) { w.pass(10 * time.Second) }, 90*time.Second + 1, leases.ErrWider,
			"the lease would last longer than its max_ttl_s", 0},
		{"longer than any lease", 0, func(w *world) {}, leases.MaxLifetime + 1, leases.ErrWider,
			"the lease would last longer than its max_ttl_s", 0},
		{"after its end", 0, func(w *world) { w.pass(60 * time.Second) }, time.Second, leases.ErrOver, "the lease is expired",
			0},
		{"after it was revoked", 0, func(w *world) { _ = w.do(w.Revoke(context.Background(), "p/c", false)) }, time.Minute,
			leases.ErrOver, "the lease is revoked", 0},
		{"all that is left on another boot", 0, func(w *world) { w.pass(10 * time.Second); w.boot = "b2" }, 90 * time.Second,
			nil, "", 100 * time.Second},
		{"more than is left on another boot", 0, func(w *world) { w.pass(10 * time.Second); w.boot = "b2" },
			90*time.Second + 1, leases.ErrWider,
			"the lease would last longer than its max_ttl_s", 0},
		{"set back on another boot", 0, func(w *world) {
			w.pass(10 * time.Second)
			w.boot, w.wall = "b2", t0.Add(-time.Hour)
			w.table.Saw(t0)
		},
			100 * time.Second, nil, "", -time.Hour + 100*time.Second},
		{"up to the parent's end", 80, func(w *world) { w.pass(10 * time.Second) }, 70 * time.Second, nil, "",
			80 * time.Second},
		{"beyond the parent's end", 80, func(w *world) { w.pass(10 * time.Second) }, 70*time.Second + 1, leases.ErrWider,
			"it would outlive the parent", 0},
		{"up to the parent's end, with the wall clock set forward", 80, func(w *world) { w.wall = w.wall.Add(time.Hour) },
			80 * time.Second, nil, "", 80 * time.Second},
		{"after the parent was revoked", 80, func(w *world) { _ = w.do(w.Revoke(context.Background(), "p", false)) },
			70 * time.Second, leases.ErrOver,
			"the lease is revoked", 0},
		{"after the parent was revoked since the lease was read", 80, func(w *world) {
			read := w.table.Lease("p/c")
			_ = w.do(w.Revoke(context.Background(), "p", false))
			w.read = read
		}, 70 * time.Second, leases.ErrOver, "the parent is not active", 0},
	} {
		w := newWorld(t.Fatal)
		if tc.parent > 0 {
			w.must(leases.Request{ID: "p", TTLS: tc.parent, MaxTTLS: 100, MaxUses: 5})
		}
		w.must(leases.Request{ID: "p/c", TTLS: 60, MaxTTLS: 100})
		tc.change(w)
		op, err := w.Renew(t.Context(), or(w.read, w.table.Lease("p/c")), tc.ttl)
		refused(t, tc.name, err, tc.class, tc.text)
		if tc.text != "" {
			if !cmp.Equal(leases.Op{}, op) {
				t.Errorf("%s: %+v", tc.name, op)
			}
			continue
		}
		at := leases.At(w.clock)
		at.High = w.table.High()
		want := leases.Op{Kind: leases.OpRenew, At: at, ID: "p/c", Until: t0.Add(tc.until), Boot: at.Boot,
			BootUntil: at.Since + tc.ttl}
		if diff := cmp.Diff(want, op); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// or is the first lease that is there.
func or(a, b *leases.Lease) *leases.Lease {
	if a != nil {
		return a
	}
	return b
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

// A view shows how the lease stands, and the token only to the caller that has just made it.
func TestViewsOfLeases(t *testing.T) {
	l := lease("a/b", "a")
	l.Uses, l.Issuer, l.Scope = 3, dev, leases.Scope{Paths: phases.Scope{"/a"}}
	want := &leases.View{
		ID: "a/b", State: leases.Expired, Capability: "tool:exec", Scope: l.Scope, Holder: coder, NotBefore: l.NotBefore,
		ExpiresAt: l.ExpiresAt,
		UsesLeft:  7, Parent: "a", Issuer: dev, Token: "blt_x",
	}
	if diff := cmp.Diff(want, leases.ViewOf(&l, leases.Instant{Boot: "b1", Since: 2 * time.Hour}, "blt_x")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := l.Clone()
	if diff := cmp.Diff(l, c); diff != "" {
		t.Errorf("a copy (-want +got):\n%s", diff)
	}
	c.Token[0], c.Scope.Paths[0] = 'x', "/b"
	if l.Token[0] == 'x' || l.Scope.Paths[0] == "/b" {
		t.Error("a copy shares what it holds")
	}
}

// Digests cover what they name, and only digests are covered.
func TestDigestsOfScopes(t *testing.T) {
	one, two, bad := digest(1), digest(2), "sha256:1"
	for _, tc := range []struct {
		a, b           leases.Digests
		contains, same bool
		both           leases.Digests
	}{
		{nil, nil, true, true, leases.Digests{"*"}},
		{nil, leases.Digests{"*"}, true, true, leases.Digests{"*"}},
		{leases.Digests{one, "*"}, nil, true, true, leases.Digests{"*"}},
		{nil, leases.Digests{one}, true, false, leases.Digests{one}},
		{leases.Digests{one}, nil, false, false, leases.Digests{one}},
		{nil, leases.Digests{bad}, false, false, leases.Digests{}},
		{leases.Digests{bad}, leases.Digests{bad}, false, true, leases.Digests{}},
		{leases.Digests{two, one, one}, leases.Digests{one, two}, true, true, leases.Digests{one, two}},
		{leases.Digests{one, two}, leases.Digests{two}, true, false, leases.Digests{two}},
		{leases.Digests{one}, leases.Digests{one, two}, false, false, leases.Digests{one}},
		{leases.Digests{one}, leases.Digests{}, true, false, leases.Digests{}},
		{leases.Digests{}, leases.Digests{}, true, true, leases.Digests{}},
	} {
		a, b := leases.Scope{Args: tc.a}, leases.Scope{Args: tc.b}
		if a.Contains(b) != tc.contains || a.Equal(b) != tc.same {
			t.Errorf("%v and %v: contains %v, equal %v", tc.a, tc.b, a.Contains(b), a.Equal(b))
		}
		if got := a.Narrow(b).Args; !slices.Equal(got, tc.both) || (got == nil) != (tc.both == nil) {
			t.Errorf("%v narrowed by %v: %v", tc.a, tc.b, got)
		}
	}
	many := leases.Scope{}
	for i := range leases.MaxDigests {
		many.Args = append(many.Args, digest(i))
	}
	refused(t, "as many as there may be", many.Validate(), nil, "")
	many.Args = append(many.Args, "*")
	refused(t, "one more", many.Validate(), leases.ErrInvalid, "scope: /args: more than 256 digests")
	for _, hex := range []string{strings.Repeat("a", 63), strings.Repeat("a", 65), strings.Repeat("g", 64),
		strings.Repeat("A", 64)} {
		s := leases.Scope{Args: leases.Digests{one, "sha256:" + hex}}
		refused(t, hex, s.Validate(), leases.ErrInvalid, "scope: /args/1: not sha256: and 64 hexadecimal digits")
	}
}

// The digest of a call is that of its arguments; of anything else, that of the action without what differs from one to
// the next.
func TestDigestsOfActions(t *testing.T) {
	args, err := phases.Digest(jsontext.Value(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	none, err := phases.Digest(jsontext.Value(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	post := phases.Invocation{Phase: phases.PostTool, Action: jsontext.Value(`{"tool":"x","args":{"a":1},"result":"r"}`)}
	request := phases.Invocation{Phase: phases.PreSend, Action: jsontext.Value(`{"model":"m","messages":[]}`)}
	whole, err := phases.ActionDigest(request)
	if err != nil || whole == "" {
		t.Fatal(whole, err)
	}
	for name, tc := range map[string]struct {
		inv  phases.Invocation
		want string
	}{
		"before a call":     {call("x", `{ "a" : 1 }`), args},
		"after a call":      {post, args},
		"without arguments": {phases.Invocation{Phase: phases.PreTool, Action: jsontext.Value(`{"tool":"x"}`)}, none},
		"of a request":      {request, whole},
	} {
		if got := leases.ArgsDigest(tc.inv); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
