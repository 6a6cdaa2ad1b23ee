package kernel

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// shelf is a store of leases; nothing else of it is asked.
type shelf struct {
	Store
	list []leases.Lease
	err  error
}

func (s *shelf) Lease(_ context.Context, id string) (*leases.Lease, error) {
	for _, l := range s.list {
		if l.ID == id {
			return &l, s.err
		}
	}
	return nil, s.err
}

func (s *shelf) LeaseByToken(_ context.Context, hash []byte) (*leases.Lease, error) {
	for _, l := range s.list {
		if string(l.Token) == string(hash) {
			return &l, s.err
		}
	}
	return nil, s.err
}

func (s *shelf) HeldLeases(context.Context, leases.Holder, leases.Instant) ([]leases.Lease, error) {
	return append([]leases.Lease(nil), s.list...), s.err
}

func (s *shelf) Leases(context.Context, leases.Query) ([]leases.Lease, error) {
	return append([]leases.Lease(nil), s.list...), s.err
}

// shown is what the desk shows of all leases, by each of its methods.
func shown(t *testing.T, d *desk, at leases.Instant, holder leases.Holder) (one, byToken, held, all string) {
	t.Helper()
	word := func(l *leases.Lease) string {
		s := l.ID + " " + string(l.State)
		if l.Uses > 0 {
			s += " used"
		}
		if l.Boot != "" {
			s += " until " + l.ExpiresAt.Format("05") + " " + l.Boot + " " + l.BootUntil.String()
		}
		return s
	}
	var ones, tokens, holds, alls []string
	for _, id := range []string{"a", "a/b", "m", "gone"} {
		l, err := d.Lease(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		k, err := d.LeaseByToken(t.Context(), []byte("hash of "+id))
		if err != nil {
			t.Fatal(err)
		}
		if (l == nil) != (k == nil) {
			t.Errorf("%s: by id %v, by token %v", id, l, k)
		}
		if l != nil && k != nil {
			ones, tokens = append(ones, word(l)), append(tokens, word(k))
		}
	}
	list, err := d.HeldLeases(t.Context(), holder, at)
	if err != nil {
		t.Fatal(err)
	}
	for n := range list {
		holds = append(holds, list[n].ID)
	}
	if list, err = d.Leases(t.Context(), leases.Query{AsStored: true}); err != nil {
		t.Fatal(err)
	}
	for n := range list {
		alls = append(alls, word(&list[n]))
	}
	return strings.Join(ones, ", "), strings.Join(tokens, ", "), strings.Join(holds, " "), strings.Join(alls, ", ")
}

// The desk shows leases as the planned changes leave them, whichever way they are looked up.
func TestDeskShowsPlannedChanges(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := leases.Instant{Wall: start}
	who := leases.Holder{Runtime: "r", Session: "s", Agent: "a", Credential: "c"}
	lease := func(id string, minutes int) leases.Lease {
		return leases.Lease{ID: id, Holder: who, Token: []byte("hash of " + id), State: leases.Active, MaxUses: 1,
			NotBefore: start, ExpiresAt: start.Add(time.Duration(minutes) * time.Minute)}
	}
	others := lease("m", 5)
	others.Holder.Session = "another"
	mint := func(l leases.Lease) *leases.Op { return &leases.Op{Kind: leases.OpMint, Lease: l} }
	until := start.Add(42 * time.Second)
	const both = "a active, a/b active"
	for name, c := range map[string]struct {
		ops       []*leases.Op
		one, held string
	}{
		"nothing planned":            {nil, both, "a/b a"},
		"minted":                     {[]*leases.Op{mint(lease("m", 5))}, both + ", m active", "m a/b a"},
		"minted, as long":            {[]*leases.Op{mint(lease("m", 10))}, both + ", m active", "a/b m a"},
		"minted for another session": {[]*leases.Op{mint(others)}, both + ", m active", "a/b a"},
		"minted and revoked": {[]*leases.Op{mint(lease("m", 5)), {Kind: leases.OpRevoke, ID: "m"}},
			both + ", m revoked", "a/b a"},
		"revoked":         {[]*leases.Op{{Kind: leases.OpRevoke, ID: "a"}}, "a revoked, a/b revoked", ""},
		"revoked below":   {[]*leases.Op{{Kind: leases.OpRevoke, ID: "a/b"}}, "a active, a/b revoked", "a"},
		"all revoked":     {[]*leases.Op{{Kind: leases.OpRevokePrefix, ID: "a"}}, "a revoked, a/b revoked", ""},
		"another revoked": {[]*leases.Op{{Kind: leases.OpRevoke, ID: "x"}}, both, "a/b a"},
		"of another credential": {[]*leases.Op{{Kind: leases.OpRevoke, ID: "a", Owner: "x", Runtime: "r"}}, both,
			"a/b a"},
		"of another runtime": {[]*leases.Op{{Kind: leases.OpRevoke, ID: "a", Owner: "c", Runtime: "x"}}, both,
			"a/b a"},
		"claimed":         {[]*leases.Op{{Kind: leases.OpClaim, ID: "a"}}, "a active used, a/b active", "a/b"},
		"another claimed": {[]*leases.Op{{Kind: leases.OpClaim, ID: "x"}}, both, "a/b a"},
		"renewed": {[]*leases.Op{{Kind: leases.OpRenew, ID: "a", Until: until, Boot: "boot", BootUntil: time.Hour}},
			"a active until 42 boot 1h0m0s, a/b active", "a a/b"},
		"another renewed": {[]*leases.Op{{Kind: leases.OpRenew, ID: "x", Until: until, Boot: "boot"}}, both, "a/b a"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{Store: &shelf{list: []leases.Lease{lease("a", 20), lease("a/b", 10)}}, ops: c.ops}
			one, byToken, held, all := shown(t, d, at, who)
			if one != c.one || byToken != c.one || held != c.held || all != c.one {
				t.Errorf("one by one %q, by token %q, all %q, want %q; held %q, want %q", one, byToken, all, c.one, held, c.held)
			}
		})
	}
	// What a query leaves out stays out also when it is only planned.
	d := &desk{Store: &shelf{}, ops: []*leases.Op{mint(lease("m", 5))}}
	if list, err := d.Leases(t.Context(), leases.Query{Prefix: "x"}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	// A revoked lease stays revoked, and one that was used up stays so.
	spent := lease("a", 20)
	spent.State = leases.Exhausted
	d = &desk{Store: &shelf{list: []leases.Lease{spent}}, ops: []*leases.Op{{Kind: leases.OpRevoke, ID: "a"}}}
	if l, err := d.Lease(t.Context(), "a"); err != nil || l.State != leases.Exhausted {
		t.Errorf("%+v, %v", l, err)
	}
	broken := errors.New("broken")
	d = &desk{Store: &shelf{list: []leases.Lease{lease("a", 20)}, err: broken}}
	_, err1 := d.Lease(t.Context(), "a")
	_, err2 := d.LeaseByToken(t.Context(), []byte("hash of a"))
	held, err3 := d.HeldLeases(t.Context(), who, at)
	all, err4 := d.Leases(t.Context(), leases.Query{})
	for n, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, broken) {
			t.Errorf("%d: %v", n, err)
		}
	}
	if held != nil || all != nil {
		t.Errorf("beside an error: %v %v", held, all)
	}
}

// A lease that answers a request is contained in it, in every dimension, up to the bound.
func TestAnswersAreWithinTheRequest(t *testing.T) {
	narrow, wide := leases.Scope{Paths: phases.Scope{"/srv/a/**"}}, leases.Scope{Paths: phases.Scope{"/srv/**"}}
	asked := leases.Request{Capability: "tool:write", Scope: &wide, TTLS: 60, MaxTTLS: 120, MaxUses: 3}
	for name, c := range map[string]struct {
		change func(*leases.Request)
		ok     bool
	}{
		"the same":             {func(*leases.Request) {}, true},
		"narrower":             {func(r *leases.Request) { r.Scope = &narrow }, true},
		"no scope":             {func(r *leases.Request) { r.Scope = nil }, false},
		"wider":                {func(r *leases.Request) { r.Scope = &leases.Scope{} }, false},
		"another capability":   {func(r *leases.Request) { r.Capability = "tool:exec" }, false},
		"as long as may be":    {func(r *leases.Request) { r.TTLS, r.MaxTTLS = 120, 0 }, true},
		"a second too long":    {func(r *leases.Request) { r.TTLS = 121 }, false},
		"renewed for too long": {func(r *leases.Request) { r.MaxTTLS = 121 }, false},
		"fewer uses":           {func(r *leases.Request) { r.MaxUses = 0 }, true},
		"a use too many":       {func(r *leases.Request) { r.MaxUses = 4 }, false},
	} {
		r := asked
		c.change(&r)
		err := within(&r, &asked)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, leases.ErrWider) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Both sides count one use where none is named.
	one := leases.Request{Capability: "tool:write", Scope: &wide, TTLS: 60}
	if err := within(&one, &one); err != nil {
		t.Error(err)
	}
	two := one
	two.MaxUses = 2
	if err := within(&two, &one); !errors.Is(err, leases.ErrWider) {
		t.Errorf("two uses for one: %v", err)
	}
	if err := within(&leases.Request{Capability: "tool:write", Scope: &wide, TTLS: 60, MaxUses: 1}, &one); err != nil {
		t.Error(err)
	}
}

// Rules are checked at their bounds, and fit requests within their scope.
func TestLeaseRules(t *testing.T) {
	scope := leases.Scope{Paths: phases.Scope{"/srv/**"}}
	rule := LeaseRule{Capability: "tool:write", Scope: scope, MaxTTL: time.Minute, MaxUses: 2, Agents: "^coder$",
		Decision: LeaseGrant}
	for name, c := range map[string]struct {
		change func(*LeaseRule)
		ok     bool
	}{
		"as it is":         {func(*LeaseRule) {}, true},
		"deny":             {func(r *LeaseRule) { r.Decision = LeaseDeny }, true},
		"ask":              {func(r *LeaseRule) { r.Decision = LeaseAsk }, true},
		"no decision":      {func(r *LeaseRule) { r.Decision = "" }, false},
		"no capability":    {func(r *LeaseRule) { r.Capability = "" }, false},
		"no such path":     {func(r *LeaseRule) { r.Scope = leases.Scope{Paths: phases.Scope{"srv"}} }, false},
		"no time":          {func(r *LeaseRule) { r.MaxTTL = 0 }, true},
		"less than none":   {func(r *LeaseRule) { r.MaxTTL = -1 }, false},
		"the longest":      {func(r *LeaseRule) { r.MaxTTL = leases.MaxLifetime }, true},
		"too long":         {func(r *LeaseRule) { r.MaxTTL = leases.MaxLifetime + 1 }, false},
		"no uses":          {func(r *LeaseRule) { r.MaxUses = 0 }, true},
		"fewer than none":  {func(r *LeaseRule) { r.MaxUses = -1 }, false},
		"most uses":        {func(r *LeaseRule) { r.MaxUses = leases.MaxUses }, true},
		"too many uses":    {func(r *LeaseRule) { r.MaxUses = leases.MaxUses + 1 }, false},
		"agents, no regex": {func(r *LeaseRule) { r.Agents = "(" }, false},
	} {
		r := rule
		c.change(&r)
		if _, err := r.compile(3); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	compiled, err := LeaseRule{Capability: "tool:write", Decision: LeaseGrant}.compile(3)
	if err != nil || compiled.n != 3 || compiled.MaxTTL != leases.DefaultMaxTTL || compiled.MaxUses != 1 ||
		!compiled.agents.Match("any") {
		t.Errorf("%+v, %v", compiled, err)
	}
	// Without either a rule gives one use for the default time.
	for uses, want := range map[int64]bool{0: true, 1: true, 2: false} {
		if got := compiled.fits(&leases.Request{Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 1, MaxUses: uses},
			"x"); got != want {
			t.Errorf("%d uses: %v", uses, got)
		}
	}
	asked := leases.Request{Capability: "tool:write", Scope: &scope, TTLS: 60, MaxUses: 2}
	beside := leases.Scope{Paths: phases.Scope{"/etc/**"}}
	for name, c := range map[string]struct {
		agent       string
		change      func(*leases.Request)
		grant, deny bool
	}{
		"at every bound":       {"coder", func(*leases.Request) {}, true, true},
		"another agent":        {"other", func(*leases.Request) {}, false, false},
		"another capability":   {"coder", func(r *leases.Request) { r.Capability = "tool:exec" }, false, false},
		"a second more":        {"coder", func(r *leases.Request) { r.TTLS = 61 }, false, true},
		"renewed for longer":   {"coder", func(r *leases.Request) { r.TTLS, r.MaxTTLS = 1, 61 }, false, true},
		"renewed for as long":  {"coder", func(r *leases.Request) { r.TTLS, r.MaxTTLS = 1, 60 }, true, true},
		"a use more":           {"coder", func(r *leases.Request) { r.MaxUses = 3 }, false, true},
		"below another lease":  {"coder", func(r *leases.Request) { r.Parent = "p" }, false, true},
		"a wider scope":        {"coder", func(r *leases.Request) { r.Scope = &leases.Scope{} }, false, true},
		"a scope beside":       {"coder", func(r *leases.Request) { r.Scope = &beside }, false, false},
		"a capability of more": {"coder", func(r *leases.Request) { r.Capability = "tool:*" }, false, true},
	} {
		r := asked
		c.change(&r)
		grant, err := rule.compile(0)
		if err != nil {
			t.Fatal(err)
		}
		denies := rule
		denies.Decision = LeaseDeny
		deny, err := denies.compile(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := grant.fits(&r, c.agent); got != c.grant {
			t.Errorf("%s: granted %v", name, got)
		}
		if got := deny.fits(&r, c.agent); got != c.deny {
			t.Errorf("%s: denied %v", name, got)
		}
	}
	// A denial fits nothing that overlaps it in all dimensions but one.
	full := leases.Scope{Paths: phases.Scope{"/srv/**"}, Hosts: phases.Scope{"a.example:443"},
		Tools: phases.Scope{"write"}, Args: leases.Digests{digestOf("1")}}
	deny, err := LeaseRule{Capability: "tool:write", Scope: full, Decision: LeaseDeny}.compile(0)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*leases.Scope){
		"":      func(*leases.Scope) {},
		"paths": func(s *leases.Scope) { s.Paths = phases.Scope{"/etc/**"} },
		"hosts": func(s *leases.Scope) { s.Hosts = phases.Scope{"b.example:443"} },
		"tools": func(s *leases.Scope) { s.Tools = phases.Scope{"read"} },
		"args":  func(s *leases.Scope) { s.Args = leases.Digests{digestOf("2")} },
	} {
		s := full.Clone()
		change(&s)
		if got := deny.fits(&leases.Request{Capability: "tool:write", Scope: &s, TTLS: 1}, "a"); got != (name == "") {
			t.Errorf("other %q: %v", name, got)
		}
	}
}

func digestOf(s string) string { return "sha256:" + strings.Repeat(s, 64) }

// A rule for leases fits phases, tools, and names the capability that the action needs.
func TestRequiredLeaseFits(t *testing.T) {
	in := func(p phases.Phase, action string) *phases.Invocation {
		return &phases.Invocation{Phase: p, Action: []byte(action)}
	}
	tool := in(phases.PreTool, `{"tool":"exec","args":{}}`)
	post := in(phases.PostTool, `{"tool":"exec","result":1}`)
	send := in(phases.PreSend, `{"provider":"p","model":"m"}`)
	spawn := in(phases.Spawn, `{"child":{"agent":"helper"}}`)
	for name, c := range map[string]struct {
		rule RequireLease
		inv  *phases.Invocation
		fits bool
		need string
	}{
		"a tool":              {RequireLease{Capability: "tool:*"}, tool, true, "tool:exec"},
		"a tool by name":      {RequireLease{Capability: "tool:x"}, tool, true, "tool:x"},
		"this tool":           {RequireLease{Capability: "a:b", Tools: phases.Scope{"exec"}}, tool, true, "a:b"},
		"another tool":        {RequireLease{Capability: "a:b", Tools: phases.Scope{"write"}}, tool, false, "a:b"},
		"by default pre_tool": {RequireLease{Capability: "tool:*"}, post, false, "tool:exec"},
		"named": {RequireLease{Capability: "tool:*", Phases: []phases.Phase{phases.PostTool}}, post, true,
			"tool:exec"},
		"tools of pre_tool only": {RequireLease{Capability: "tool:*", Tools: phases.Scope{"write"},
			Phases: []phases.Phase{phases.PostTool}}, post, true, "tool:exec"},
		"not named": {RequireLease{Capability: "tool:*", Phases: []phases.Phase{phases.PostTool}}, tool, false,
			"tool:exec"},
		"a model": {RequireLease{Capability: "model:*", Phases: []phases.Phase{phases.PreSend}}, send, true,
			"model:m"},
		"a child": {RequireLease{Capability: "spawn:*", Phases: []phases.Phase{phases.Spawn}}, spawn, true,
			"spawn:helper"},
	} {
		if got := c.rule.matches(c.inv); got != c.fits {
			t.Errorf("%s: %v", name, got)
		}
		if got := c.rule.needs(c.inv); got != c.need {
			t.Errorf("%s: needs %q, want %q", name, got, c.need)
		}
	}
}
