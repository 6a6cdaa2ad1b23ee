package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// script is a hook that makes lease calls: those that it was given last.
type script struct {
	mu      sync.Mutex
	calls   []string // "mint {...}"
	effects []phases.Effect
	fault   error
	replies []string // the reply, or the errno with its document
}

func (s *script) say(list ...string) { s.mu.Lock(); defer s.mu.Unlock(); s.calls = list }

func (s *script) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.replies) == 0 {
		return ""
	}
	return s.replies[len(s.replies)-1]
}

func (s *script) run(t kernel.Turn) (kernel.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = nil
	for _, c := range s.calls {
		name, request, _ := strings.Cut(c, " ")
		l := t.Session.Leases
		f := map[string]func(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error){
			"mint": l.Mint, "revoke": l.Revoke, "check": l.Check, "request": l.Request,
		}[name]
		raw, err := f(context.Background(), t.Session.Actor, jsontext.Value(request))
		var r *hostcalls.Refusal
		switch {
		case errors.As(err, &r):
			s.replies = append(s.replies, fmt.Sprintf("%d %s", r.Errno, r.Reply))
		case err != nil:
			return kernel.Outcome{}, err
		default:
			s.replies = append(s.replies, string(raw))
		}
	}
	return kernel.Outcome{Effects: s.effects}, s.fault
}

func broker(s *script) hook {
	return hook{name: "broker", priority: 100, tier: phases.Trusted, imports: []string{"mint_lease"},
		caps: []string{"block", "request_approval", "annotate"}, run: s.run}
}

const mintSrv = `{"id":"s-1/lent","capability":"tool:write","scope":{"paths":["/srv/**"]},"ttl_s":60`

func TestHookMints(t *testing.T) {
	s := &script{}
	h := newHost(t, []hook{broker(s)}, required)
	s.say("mint "+mintSrv+"}", `check {"id":"s-1/lent"}`, `check {"capability":"tool:write"}`)
	h.allowed(t, write("/srv/a")) // minted and used in one transaction
	var seen struct {
		Active bool        `json:"active"`
		Lease  leases.View `json:"lease"`
	}
	if err := json.Unmarshal([]byte(s.last()), &seen); err != nil || !seen.Active || seen.Lease.ID != "s-1/lent" {
		t.Errorf("%s: %v", s.last(), err)
	}
	if !strings.Contains(s.replies[0], `"token":"blt_`) || strings.Contains(s.last(), "token") {
		t.Errorf("tokens: %s, %s", s.replies[0], s.last())
	}
	s.say(`check {"id":"s-1/lent"}`)
	h.blocked(t, write("/srv/a"), "needs a lease")
	if !strings.Contains(s.last(), `"active":false`) || !strings.Contains(s.last(), `"state":"exhausted"`) {
		t.Error(s.last())
	}
	if got := h.leaseEvents(t); got != "minted claimed" {
		t.Errorf("events %s", got)
	}
	e := h.events(t, wire.Query{Type: phases.EventLease})[0]
	if e.Binding != "broker" || e.Tier != phases.Trusted || e.DecidedBy != leases.ByHook ||
		!strings.Contains(string(e.Output), `"invocation":"`+e.Invocation) {
		t.Errorf("%+v", e)
	}
}

// Leases that a turn makes come about only with an allow; its revocations always do. A turn that
// failed changes no lease.
func TestLeaseCallsAreTransactions(t *testing.T) {
	s := &script{}
	h := newHost(t, []hook{broker(s)}, reviewed)
	h.lend(t, leases.Request{ID: "s-1/old"})
	s.say("mint "+mintSrv+"}", `mint {"renew":"s-1/old","ttl_s":60}`, `revoke {"id":"s-1/old"}`)
	s.fault = phases.NewFault(phases.KindTrap, "it failed", nil)
	h.fails(t, write("/srv/a"), phases.KindTrap)
	if got := h.leaseEvents(t); got != "minted" {
		t.Errorf("after a turn that failed: %s", got)
	}
	s.fault, s.effects = nil, []phases.Effect{block("no")}
	h.invoke(t, write("/srv/a"))
	if got := h.leaseEvents(t); got != "minted revoked" {
		t.Errorf("after a block: %s", got)
	}
	s.effects = []phases.Effect{ask("may it?")}
	s.say("mint " + mintSrv + "}")
	id := h.pending(t, write("/srv/a"))
	if _, err := h.Lease(t.Context(), "s-1/lent"); !errors.Is(err, leases.ErrUnknown) {
		t.Errorf("minted before the person said yes: %v", err)
	}
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	h.allowed(t, write("/srv/a"))
	if l, err := h.Lease(t.Context(), "s-1/lent"); err != nil || l.UsesLeft != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestLeaseCallsRefuse(t *testing.T) {
	s := &script{}
	h := newHost(t, []hook{broker(s)}, func(c *kernel.Config, _ *kernel.Options) { c.MaxLeaseTTL = 2 * time.Minute })
	mine, theirs := ours, ours
	mine.Credential, theirs.Credential = "uid 1", "uid 2"
	for id, who := range map[string]leases.Holder{"mine": mine, "theirs": theirs} {
		if _, err := h.MintLease(t.Context(),
			leases.Request{ID: id, Capability: "tool:write", Scope: &leases.Scope{Paths: phases.Scope{"/srv/**"}}, TTLS: 60,
				MaxTTLS: 90}, who, "dev"); err != nil {
			t.Fatal(err)
		}
	}
	unknown := `-1 {"error":"no such lease, or not yours"}`
	for _, c := range [][2]string{
		{`mint {}`, "-3 "}, {`mint []`, "-3 "}, {`mint {"capability":"tool:write","scope":{},"ttl_s":1,"more":1}`, "-3 "},
		{`mint {"capability":"tool:write","capability":"tool:exec","scope":{},"ttl_s":1}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":121}`, "-2 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":0}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":-5}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":1,"max_uses":-1}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{"paths":["/srv/../etc"]},"ttl_s":1}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{"paths":null},"ttl_s":1}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":1,"holder":{"session":"a\nb","agent":""}}`, "-3 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":1,"parent":"mine"}`, "-2 "},
		{`mint {"capability":"tool:write","scope":{"paths":["/srv/a"]},"ttl_s":1,"parent":"theirs"}`, "-2 "},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":1,"parent":"nobody"}`, unknown},
		{`mint {"capability":"tool:write","scope":{},"ttl_s":1,"for":"nobody"}`, "-1 "},
		{`mint {"renew":"nobody","ttl_s":60}`, unknown}, {`mint {"renew":"theirs","ttl_s":60}`, unknown},
		{`mint {"renew":"mine","ttl_s":91}`, "-2 "}, {`mint {"renew":"mine","ttl_s":0}`, "-3 "},
		{`mint {"renew":"mine","ttl_s":60,"more":1}`, "-3 "}, {`mint {"more":1,"renew":"mine","ttl_s":60}`, "-3 "},
		{`mint {"renew":"mine","ttl_s":"60"}`, "-3 "}, {`mint {"renew":1,"ttl_s":60}`, "-3 "},
		{`mint {"renew":"mine","renew":"mine","ttl_s":60}`, "-3 "},
		{`revoke {"id":"mine","more":1}`, "-3 "}, {`revoke {"prefix":"mine","more":1}`, "-3 "}, {`revoke []`, "-3 "},
		{`check {"id":"mine","more":1}`, "-3 "}, {`check []`, "-3 "}, {`check {"id":"mine","requests":true}`, "-3 "},
		{`check {"id":"mine","capability":"tool:write"}`, "-3 "},
		{`check {"requests":true,"capability":"tool:write"}`, "-3 "}, {`check {"scope":{}}`, "-3 "},
		{`request {"capability":"tool:write","scope":{},"ttl_s":1,"reason":"r","more":1}`, "-3 "}, {`request []`, "-3 "},
		{`revoke {"id":"nobody"}`, unknown}, {`revoke {"id":"theirs"}`, unknown}, {`revoke {}`, "-3 "},
		{`revoke {"id":"mine","prefix":"mine"}`, "-3 "}, {`revoke {"prefix":".."}`, "-3 "},
		{`check {"id":"nobody"}`, unknown}, {`check {"id":"theirs"}`, unknown}, {`check {"token":"blt_AAAA"}`, unknown},
		{`check {}`, "-3 "}, {`check {"id":"mine","token":"blt_AAAA"}`, "-3 "},
		{`check {"capability":"*"}`, "-3 "}, {`check {"capability":"tool:write","scope":{"paths":["x"]}}`, "-3 "},
		{`check {"id":"mine","scope":{}}`, "-3 "},
		{`request {"capability":"tool:write","scope":{},"ttl_s":1}`, "-3 "},
		{`request {"capability":"tool:write","scope":{},"ttl_s":1,"reason":"r","id":"x"}`, "-3 "},
		{`request {"capability":"tool:write","scope":{},"ttl_s":1,"reason":"r","parent":"theirs"}`, unknown},
		{`request {"capability":"tool:write","scope":{"paths":["/srv/a"]},"ttl_s":1,"reason":"r","parent":"mine"}`, "-6 "},
	} {
		s.say(c[0])
		h.allowed(t, write("/srv/a"), kernel.InvokeOptions{Credential: "uid 1"})
		if !strings.HasPrefix(s.last(), c[1]) {
			t.Errorf("%s: %s, want %s", c[0], s.last(), c[1])
		}
	}
	// None of that has changed, taken or used one's own.
	s.say(`check {"id":"mine"}`)
	h.allowed(t, write("/srv/a"), kernel.InvokeOptions{Credential: "uid 1"})
	if !strings.Contains(s.last(), `"active":true`) || !strings.Contains(s.last(), `"id":"mine"`) {
		t.Errorf("one's own: %s", s.last())
	}
	// Taking back everything below a name reaches one's own credential only.
	s.say(`revoke {"prefix":"theirs"}`, `revoke {"prefix":"mine"}`, `check {"id":"mine"}`)
	h.allowed(t, write("/srv/a"), kernel.InvokeOptions{Credential: "uid 1"})
	if !strings.Contains(s.last(), `"active":false`) || !strings.Contains(s.last(), `"id":"mine"`) {
		t.Errorf("after it was taken back, in the same turn: %s", s.last())
	}
	for id, want := range map[string]leases.State{"mine": leases.Revoked, "theirs": leases.Active} {
		if l, err := h.Lease(t.Context(), id); err != nil || l.State != want {
			t.Errorf("%s: %+v, %v", id, l, err)
		}
	}
}

const wish = `request {"capability":"tool:write","scope":{"paths":["/srv/a"]},"ttl_s":60,"reason":"to note SECRET"}`

func TestRequestedLeaseIsForAPerson(t *testing.T) {
	s := &script{}
	asker := hook{name: "asker", imports: []string{"request_lease"}, caps: []string{"request_lease"}, run: s.run}
	h := newHost(t, []hook{asker}, required, reviewed)
	s.say(wish, wish)
	h.blocked(t, write("/srv/a"), "needs a lease") // the request counts all the same
	if !strings.HasPrefix(s.last(), "-6 ") || s.replies[0] != s.last() {
		t.Fatalf("%s, %s", s.replies[0], s.last())
	}
	h.blocked(t, write("/srv/a"), "needs a lease")
	list, err := h.Approvals(t.Context(), approvals.Query{})
	if err != nil || len(list) != 1 || list[0].Kind != approvals.KindLease || list[0].State != approvals.Pending ||
		strings.Contains(list[0].Reason, "SECRET") ||
		!strings.Contains(string(list[0].Details), "/srv/a") || list[0].Hooks[0].Hook != "asker" {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := h.decide(t, list[0].ID, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	h.allowed(t, write("/srv/a"))
	if !strings.Contains(s.replies[0], `"person":"dev"`) || !strings.HasPrefix(s.replies[1], "-3 ") {
		t.Errorf("%q", s.replies)
	}
	h.blocked(t, write("/srv/a"), "needs a lease") // used up; the next request is a new question
	if got := h.leaseEvents(t); got != "requested minted claimed requested" {
		t.Errorf("events: %s", got)
	}
	if got := h.approvalEvents(t); got != "requested approved consumed requested" {
		t.Errorf("events: %s", got)
	}
	list, _ = h.Approvals(t.Context(), approvals.Query{State: approvals.Pending})
	if err := h.decide(t, list[0].ID, approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	h.blocked(t, write("/srv/a"), "needs a lease")
	if !strings.HasPrefix(s.last(), "-2 ") {
		t.Errorf("after a denial: %s", s.last())
	}
}

func TestRequestedLeaseByRule(t *testing.T) {
	s := &script{}
	asker := hook{name: "asker", imports: []string{"request_lease"}, caps: []string{"request_lease"}, run: s.run}
	h := newHost(t, []hook{asker}, required, func(c *kernel.Config, _ *kernel.Options) {
		c.LeaseRules = []kernel.LeaseRule{
			{Capability: "tool:*", Scope: leases.Scope{Paths: phases.Scope{"/srv/secret/**"}}, Decision: kernel.LeaseDeny},
			{Capability: "tool:write", Scope: leases.Scope{Paths: phases.Scope{"/srv/**"}}, MaxTTL: time.Minute, MaxUses: 2,
				Agents: "^coder$", Decision: kernel.LeaseGrant},
		}
	})
	for _, c := range [][2]string{
		{`"scope":{"paths":["/srv/secret/a"]},"ttl_s":60`, "-2"}, {`"scope":{"paths":["/srv/**"]},"ttl_s":60`, "-2"},
		{`"scope":{},"ttl_s":60`, "-2"},
		{`"scope":{"paths":["/srv/a"]},"ttl_s":61`, "-6"}, {`"scope":{"paths":["/srv/a"]},"ttl_s":60,"max_uses":3`, "-6"},
		{`"scope":{"paths":["/etc/a"]},"ttl_s":60`, "-6"}, {`"scope":{"paths":["/srv/a"]},"ttl_s":60`, `{`},
	} {
		s.say(`request {"capability":"tool:write","reason":"r",` + c[0] + `}`)
		h.invoke(t, write("/srv/a"))
		if !strings.HasPrefix(s.last(), c[1]) {
			t.Errorf("%s: %s, want %s", c[0], s.last(), c[1])
		}
	}
	other := write("/srv/a")
	other.Agent = "coder2"
	h.invoke(t, other)
	if !strings.HasPrefix(s.last(), "-6") {
		t.Errorf("an agent that the rule does not name: %s", s.last())
	}
	if got := h.leaseEvents(t); got != "refused refused refused requested requested requested minted claimed requested" {
		t.Errorf("events: %s", got)
	}
}

// A trusted hook sees what waits and answers it.
func TestTrustedHookAnswersRequests(t *testing.T) {
	ask, answer := &script{}, &script{}
	asker := hook{name: "asker", imports: []string{"request_lease"}, caps: []string{"request_lease"}, run: ask.run}
	h := newHost(t, []hook{asker, broker(answer)}, required)
	ask.say(wish)
	h.blocked(t, write("/srv/a"), "needs a lease")
	ask.say()
	answer.say(`check {"requests":true}`)
	h.blocked(t, write("/srv/a"), "needs a lease")
	var seen struct {
		Active   bool                  `json:"active"`
		Requests []kernel.LeaseRequest `json:"requests"`
	}
	if err := json.Unmarshal([]byte(answer.last()), &seen); err != nil || len(seen.Requests) != 1 ||
		seen.Requests[0].Hook != "asker" {
		t.Fatalf("%s: %v", answer.last(), err)
	}
	with := func(rest string) string {
		return `mint {"for":"` + seen.Requests[0].ID + `","capability":"tool:write","ttl_s":30,` + rest + `}`
	}
	for _, rest := range []string{`"scope":{"paths":["/srv/**"]}`, `"scope":{}`,
		`"scope":{"paths":["/srv/a"]},"max_uses":3`, `"scope":{"paths":["/srv/a"]},"max_ttl_s":3600`} {
		answer.say(with(rest))
		h.blocked(t, write("/srv/a"), "needs a lease")
		if !strings.HasPrefix(answer.last(), "-2 ") {
			t.Errorf("%s: more than was asked for: %s", rest, answer.last())
		}
	}
	answer.say(with(`"scope":{"paths":["/srv/a"]}`))
	elsewhere := write("/srv/a")
	elsewhere.Session = "s-2"
	if h.invoke(t, elsewhere); strings.HasPrefix(answer.last(), "{") {
		t.Errorf("in another session: %s", answer.last())
	}
	answer.say(with(`"scope":{"paths":["/srv/a"]}`))
	h.allowed(t, write("/srv/a"))
	if got := h.approvalEvents(t); got != "requested superseded" {
		t.Errorf("events: %s", got)
	}
}

func spawn(leases ...string) phases.Invocation {
	inv := invocation(phases.Spawn)
	list, _ := json.Marshal(leases)
	inv.Action = jsontext.Value(`{"child":{"agent":"helper","leases":` + string(list) + `}}`)
	return inv
}

func TestChildrenGetWhatIsPassedOn(t *testing.T) {
	h := newHost(t, nil, required)
	h.lend(t, leases.Request{ID: "s-1/a", MaxUses: 4})
	h.lend(t, leases.Request{ID: "s-1/b"})
	helper := write("/srv/a")
	helper.Agent = "helper"
	h.allowed(t, invocation(phases.Spawn))
	h.blocked(t, helper, "needs a lease") // nothing by default
	h.blocked(t, spawn("nobody"), "not yours")
	v := h.allowed(t, spawn("s-1/a"))
	h.allowed(t, helper)
	list, err := h.Leases(t.Context(), leases.Query{Holder: leases.Holder{Agent: "helper"}})
	if err != nil || len(list) != 1 || list[0].Parent != "s-1/a" || list[0].UsesLeft != 3 ||
		!strings.Contains(strings.Join(v.Notes, " "), list[0].ID) {
		t.Fatalf("%+v, %v, notes %q", list, err, v.Notes)
	}
	if p, err := h.Lease(t.Context(), "s-1/a"); err != nil || p.UsesLeft != 3 {
		t.Errorf("what the child used counts on the parent: %+v, %v", p, err)
	}
	child := spawn("s-1/b")
	child.Agent = "helper"
	h.blocked(t, child, "not yours") // the child does not hold a lease that was not passed on
	child = spawn(list[0].ID)
	child.Agent = "helper"
	h.allowed(t, child)
	if err := h.RevokeLease(t.Context(), "s-1/a", true, "dev"); err != nil {
		t.Fatal(err)
	}
	h.blocked(t, helper, "needs a lease")
	h.allowed(t, write("/srv/a")) // the other one is untouched
	h.blocked(t, spawn("s-1/a"), "revoked")
}
