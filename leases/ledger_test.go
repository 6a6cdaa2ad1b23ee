package leases_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var (
	t0    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	coder = leases.Holder{Runtime: "r", Session: "s", Agent: "coder", Credential: "uid 1000"}
	dev   = leases.Issuer{Kind: leases.ByPerson, Person: "dev"}
)

// clock can be set and rebooted.
type clock struct {
	wall  time.Time
	boot  string
	since time.Duration
}

func (c *clock) Now() time.Time                { return c.wall }
func (c *clock) Boot() (string, time.Duration) { return c.boot, c.since }
func (c *clock) pass(d time.Duration)          { c.wall, c.since = c.wall.Add(d), c.since+d }

// world is a ledger with its store, which carries out what the ledger plans.
type world struct {
	*leases.Ledger
	*clock
	table *leasetable.Table
	fatal func(...any)
	read  *leases.Lease // what a caller has read before the rest happened; nil: it reads it now
}

type tableStore struct{ *leasetable.Table }

func (s tableStore) Lease(_ context.Context, id string) (*leases.Lease, error) {
	return s.Table.Lease(id), nil
}
func (s tableStore) LeaseByToken(_ context.Context, h []byte) (*leases.Lease, error) {
	return s.Table.LeaseByToken(h), nil
}
func (s tableStore) HeldLeases(_ context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	return s.Held(h, at), nil
}
func (s tableStore) Leases(_ context.Context, q leases.Query) ([]leases.Lease, error) {
	return s.Table.Leases(q), nil
}
func (s tableStore) LeaseClock(context.Context) (time.Time, error) { return s.High(), nil }

func newWorld(fatal func(...any)) *world {
	c := &clock{wall: t0, boot: "b1", since: time.Hour}
	table := &leasetable.Table{}
	return &world{Ledger: &leases.Ledger{Store: tableStore{table}, Clock: c, Key: make([]byte, 32)}, clock: c,
		table: table, fatal: fatal}
}

func (w *world) do(op leases.Op, err error) error {
	if err != nil {
		return err
	}
	if err := w.table.Apply(&op); err != nil {
		return err
	}
	w.table.Saw(w.wall)
	return nil
}

func (w *world) mint(r leases.Request) (leases.Minted, error) {
	if r.Capability == "" {
		r.Capability = "tool:exec"
	}
	if r.Scope == nil {
		r.Scope = &leases.Scope{}
	}
	m, err := w.Mint(context.Background(), r, coder, dev, leases.Rule{})
	return m, w.do(m.Op, err)
}

func (w *world) must(r leases.Request) leases.Minted {
	m, err := w.mint(r)
	if err != nil {
		w.fatal(err)
	}
	return m
}

func (w *world) claim(id string, by leases.Holder) error {
	return w.do(w.Claim(leases.At(w.clock), id, by), nil)
}

func TestMintRefuses(t *testing.T) {
	w := newWorld(t.Fatal)
	w.must(leases.Request{ID: "p", TTLS: 60, MaxTTLS: 120, MaxUses: 5, Scope: &leases.Scope{Paths: phases.Scope{"/a/**"}},
		DelayS: 0})
	w.must(leases.Request{ID: "gone", TTLS: 60})
	if err := w.do(w.Revoke(t.Context(), "gone", false)); err != nil {
		t.Fatal(err)
	}
	w.must(leases.Request{ID: "short", TTLS: 1})
	w.must(leases.Request{ID: "short/c", TTLS: 1})
	w.pass(time.Second)
	sub := &leases.Scope{Paths: phases.Scope{"/a/b"}}
	for name, c := range map[string]struct {
		r     leases.Request
		class error
		text  string
	}{
		"zero ttl":             {leases.Request{TTLS: 0}, leases.ErrInvalid, "ttl_s"},
		"negative ttl":         {leases.Request{TTLS: -1}, leases.ErrInvalid, "ttl_s"},
		"ttl over the maximum": {leases.Request{TTLS: 3601}, leases.ErrWider, "refused, not shortened"},
		"max over the maximum": {leases.Request{TTLS: 1, MaxTTLS: 3601}, leases.ErrWider, "refused"},
		"ttl that overflows":   {leases.Request{TTLS: 1 << 62}, leases.ErrWider, "refused"},
		"ttl over its own max": {leases.Request{TTLS: 61, MaxTTLS: 60}, leases.ErrWider, "max_ttl_s"},
		"negative uses":        {leases.Request{TTLS: 1, MaxUses: -1}, leases.ErrInvalid, "max_uses"},
		"too many uses":        {leases.Request{TTLS: 1, MaxUses: leases.MaxUses + 1}, leases.ErrInvalid, "max_uses"},
		"negative delay":       {leases.Request{TTLS: 1, DelayS: -1}, leases.ErrInvalid, "delay_s"},
		"no capability":        {leases.Request{TTLS: 1, Capability: " "}, leases.ErrInvalid, "capability"},
		"every capability":     {leases.Request{TTLS: 1, Capability: "*"}, leases.ErrInvalid, "capability"},
		"odd capability":       {leases.Request{TTLS: 1, Capability: "tool:\u200bexec"}, leases.ErrInvalid, "capability"},
		"id with ..":           {leases.Request{TTLS: 1, ID: "a/../b"}, leases.ErrInvalid, "id"},
		"id with blanks":       {leases.Request{TTLS: 1, ID: "a b"}, leases.ErrInvalid, "id"},
		"id of many parts":     {leases.Request{TTLS: 1, ID: strings.Repeat("a/", 16) + "a"}, leases.ErrInvalid, "id"},
		"scope with ..": {leases.Request{TTLS: 1, Scope: &leases.Scope{Paths: phases.Scope{"/a/.."}}},
			leases.ErrInvalid, "scope"},
		"id taken":       {leases.Request{TTLS: 1, ID: "gone"}, leases.ErrInvalid, "id"},
		"unknown parent": {leases.Request{TTLS: 1, Parent: "nobody"}, leases.ErrUnknown, "no such lease"},
		"unknown parent, with id": {leases.Request{TTLS: 1, Parent: "nobody", ID: "nobody/x"}, leases.ErrUnknown,
			"no such lease"},
		"id beside the parent":   {leases.Request{TTLS: 1, Parent: "p", ID: "q/x"}, leases.ErrInvalid, "below"},
		"revoked parent":         {leases.Request{TTLS: 1, Parent: "gone"}, leases.ErrOver, "revoked"},
		"expired parent":         {leases.Request{TTLS: 1, Parent: "short"}, leases.ErrOver, "expired"},
		"expired parent's child": {leases.Request{TTLS: 1, Parent: "short/c"}, leases.ErrOver, "expired"},
		"wider scope":            {leases.Request{TTLS: 1, Parent: "p"}, leases.ErrWider, "scope"},
		"other paths": {leases.Request{TTLS: 1, Parent: "p",
			Scope: &leases.Scope{Paths: phases.Scope{"/a/b", "/b"}}}, leases.ErrWider, "scope"},
		"other capability": {leases.Request{TTLS: 1, Parent: "p", Scope: sub, Capability: "tool:*"}, leases.ErrWider,
			"capability"},
		"more uses": {leases.Request{TTLS: 1, Parent: "p", Scope: sub, MaxUses: 6}, leases.ErrWider, "uses"},
		"longer":    {leases.Request{TTLS: 60, Parent: "p", Scope: sub}, leases.ErrWider, "outlive"},
		"longer by waiting": {leases.Request{TTLS: 50, DelayS: 50, Parent: "p", Scope: sub}, leases.ErrWider,
			"outlive"},
		"longer max_ttl": {leases.Request{TTLS: 1, MaxTTLS: 121, Parent: "p", Scope: sub}, leases.ErrWider,
			"max_ttl"},
	} {
		if _, err := w.mint(c.r); !errors.Is(err, c.class) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.class, c.text)
		}
	}
	if _, err := w.Mint(t.Context(), leases.Request{TTLS: 1, Capability: "a:b"}, coder, dev,
		leases.Rule{}); !errors.Is(err, leases.ErrInvalid) {
		t.Errorf("no scope: %v", err)
	}
	w.must(leases.Request{TTLS: 59, Parent: "p", Scope: sub, MaxUses: 5})

	other := coder
	other.Credential = "uid 1001"
	if _, err := w.Mint(t.Context(), leases.Request{TTLS: 1, Parent: "p", Scope: sub, Capability: "tool:exec"}, other, dev,
		leases.Rule{}); !errors.Is(err, leases.ErrWider) {
		t.Errorf("a child of another credential: %v", err)
	}
}

func TestDepth(t *testing.T) {
	w := newWorld(t.Fatal)
	id := "d"
	w.must(leases.Request{ID: id, TTLS: 60})
	for range leases.MaxDepth {
		id += "/d"
		w.must(leases.Request{ID: id, TTLS: 60})
	}
	if _, err := w.mint(leases.Request{ID: id + "/d", TTLS: 60}); !errors.Is(err, leases.ErrWider) {
		t.Errorf("one too deep: %v", err)
	}
}

func TestQuota(t *testing.T) {
	w := newWorld(t.Fatal)
	w.Quota = 3
	for range 3 {
		w.must(leases.Request{TTLS: 60})
	}
	if _, err := w.mint(leases.Request{TTLS: 60}); !errors.Is(err, leases.ErrQuota) {
		t.Errorf("one over the quota: %v", err)
	}
	other := coder
	other.Agent, other.Session = "else", "else" // only names
	if _, err := w.Mint(t.Context(), leases.Request{TTLS: 60, Capability: "a:b", Scope: &leases.Scope{}}, other, dev,
		leases.Rule{}); !errors.Is(err, leases.ErrQuota) {
		t.Errorf("another session of the same credential: %v", err)
	}
	w.pass(time.Minute)
	w.must(leases.Request{TTLS: 60})
}

// Unknown and another holder's look the same, by id and by token.
func TestUnknownAndNotYours(t *testing.T) {
	w := newWorld(t.Fatal)
	m := w.must(leases.Request{ID: "mine", TTLS: 60})
	if l, err := w.Get(t.Context(), m.Token, &coder); err != nil || l.ID != "mine" {
		t.Fatalf("own token: %v, %v", l, err)
	}
	stranger := coder
	stranger.Agent = "other"
	var texts []string
	for _, name := range []string{"mine", "nobody's", m.Token, leases.TokenPrefix + "AAAA", ""} {
		l, err := w.Get(t.Context(), name, &stranger)
		if l != nil || !errors.Is(err, leases.ErrUnknown) {
			t.Errorf("%q: %v, %v", name, l, err)
		}
		texts = append(texts, fmt.Sprintf("%#v", err))
	}
	for i, s := range texts[1:] {
		if s != texts[0] {
			t.Errorf("answer %d differs: %s and %s", i+1, s, texts[0])
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", m.Op.Lease), m.Token) || !strings.HasPrefix(m.Token, "blt_") ||
		len(m.Token) != 4+43 {
		t.Error("the token is kept, or is no token")
	}
}

// A lease is its holder's, in every member, for those who look as for those who claim.
func TestHolderIsCompared(t *testing.T) {
	w := newWorld(t.Fatal)
	m := w.must(leases.Request{ID: "mine", TTLS: 60})
	for name, change := range map[string]func(*leases.Holder){
		"runtime":    func(h *leases.Holder) { h.Runtime = "other" },
		"session":    func(h *leases.Holder) { h.Session = "other" },
		"agent":      func(h *leases.Holder) { h.Agent = "other" },
		"credential": func(h *leases.Holder) { h.Credential = "other" },
		"no session": func(h *leases.Holder) { h.Session = "" },
	} {
		who := coder
		change(&who)
		if l, err := w.Get(t.Context(), m.Token, &who); l != nil || !errors.Is(err, leases.ErrUnknown) {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		if err := w.claim("mine", who); err == nil {
			t.Errorf("%s: claimed", name)
		}
	}
	if err := w.claim("mine", coder); err != nil {
		t.Error(err)
	}
}

// A token that was used up, revoked or is over does not come back.
func TestReplay(t *testing.T) {
	w := newWorld(t.Fatal)
	m := w.must(leases.Request{ID: "once", TTLS: 60})
	if err := w.claim("once", coder); err != nil {
		t.Fatal(err)
	}
	if err := w.claim("once", coder); err == nil {
		t.Error("used twice")
	}
	if l, err := w.Get(t.Context(), m.Token, &coder); err != nil || l.StateAt(leases.At(w.clock)) != leases.Exhausted {
		t.Errorf("after its use: %v, %v", l, err)
	}
	if _, err := w.mint(leases.Request{ID: "once", TTLS: 60}); err == nil {
		t.Error("the id was given again")
	}
}

// Revoke refuses an invalid id, of one lease or of a branch.
func TestRevokeRefusesWhatIsNoID(t *testing.T) {
	w := newWorld(t.Fatal)
	for _, id := range []string{"", "/", "a//b", "a/", strings.Repeat("a", 1000)} {
		for _, prefix := range []bool{false, true} {
			if op, err := w.Revoke(t.Context(), id, prefix); !errors.Is(err, leases.ErrInvalid) || op.ID != "" {
				t.Errorf("%.20q, prefix %v: %+v, %v", id, prefix, op, err)
			}
		}
	}
}

// The clock set back and forth by an hour makes no lease longer.
func TestClockSkew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t.Fatal)
		w.must(leases.Request{ID: "a", TTLS: 60, MaxTTLS: 300, MaxUses: 1000})
		boots, lived := false, time.Duration(0)
		end := time.Minute
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				w.wall = w.wall.Add(time.Hour)
			case 1:
				w.wall = w.wall.Add(-time.Hour)
			case 2:
				w.boot, w.since, boots = w.boot+"'", time.Second, true
			case 3:
				if l := w.table.Lease("a"); !boots {
					if err := w.do(w.Renew(context.Background(), l, time.Minute)); err == nil {
						end = lived + time.Minute
					}
				}
			default:
				d := time.Duration(rapid.IntRange(1, 40).Draw(t, "s")) * time.Second
				w.pass(d)
				lived += d
			}
			w.table.Saw(w.wall)
			if err := w.claim("a", coder); err == nil {
				if lived >= end && !boots {
					t.Fatalf("claimed after %v of %v", lived, end)
				}
				if lived >= 300*time.Second && !boots {
					t.Fatal("renewed beyond max_ttl")
				}
			} else if !boots && lived < end {
				t.Fatalf("not claimed after %v of %v: %v", lived, end, err)
			}
		}
	})
}

// After a reboot the wall clock decides, and never goes back behind the latest time that was seen.
func TestReboot(t *testing.T) {
	w := newWorld(t.Fatal)
	w.must(leases.Request{ID: "a", TTLS: 60, MaxUses: 10})
	w.boot, w.since = "b2", 0
	w.pass(30 * time.Second)
	if err := w.claim("a", coder); err != nil {
		t.Errorf("half way: %v", err)
	}
	w.pass(time.Hour)
	w.table.Saw(w.wall)
	w.wall = w.wall.Add(-time.Hour)
	if err := w.claim("a", coder); err == nil {
		t.Error("claimed with the clock set back")
	}
}

func TestRenew(t *testing.T) {
	w := newWorld(t.Fatal)
	w.must(leases.Request{ID: "a", TTLS: 60, MaxTTLS: 100, MaxUses: 2})
	w.must(leases.Request{ID: "a/c", TTLS: 60, MaxTTLS: 100})
	renew := func(id string, ttl time.Duration) error {
		return w.do(w.Renew(t.Context(), w.table.Lease(id), ttl))
	}
	w.pass(30 * time.Second)
	for name, c := range map[string]struct {
		id    string
		ttl   time.Duration
		class error
	}{
		"zero": {"a", 0, leases.ErrInvalid}, "negative": {"a", -time.Hour, leases.ErrInvalid},
		"over its max":          {"a", 71 * time.Second, leases.ErrWider},
		"over the parent's end": {"a/c", 40 * time.Second, leases.ErrWider},
		"shorter":               {"a", 10 * time.Second, leases.ErrInvalid},
	} {
		if err := renew(c.id, c.ttl); !errors.Is(err, c.class) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(renew("a", 70*time.Second), renew("a/c", 70*time.Second)); err != nil {
		t.Fatal(err)
	}
	w.pass(69 * time.Second)
	if err := w.claim("a/c", coder); err != nil {
		t.Error(err)
	}
	w.pass(time.Second)
	if err := renew("a", time.Second); !errors.Is(err, leases.ErrOver) {
		t.Errorf("after its end: %v", err)
	}
}

// TestChildrenAreContained grows random trees: whatever a child asks for, what it
// gets is contained in its parent in every dimension, and in all above it.
func TestChildrenAreContained(t *testing.T) {
	trees := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		for range 1000 {
			growTree(t, r)
			trees++
		}
	})
	if !testing.Short() && trees < 100_000 { // with -short rapid checks less
		t.Errorf("only %d trees", trees)
	}
}
