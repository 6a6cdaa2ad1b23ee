package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func requester(s *script) hook {
	return hook{name: "asker", imports: []string{"request_lease"}, caps: []string{"request_lease"}, run: s.run}
}

// The item that a person reads of a request is redacted, and names its source and its subject.
func TestRequestsAreShownRedacted(t *testing.T) {
	s := &script{}
	h := newHost(t, []hook{requester(s)}, reviewed)
	s.say(`request {"capability":"tool:write","scope":{"paths":["/srv/SECRET"]},"ttl_s":60,"reason":"to note SECRET"}`)
	h.invoke(t, write("/srv/a"), kernel.InvokeOptions{Credential: "uid 1"})
	list, err := h.Approvals(t.Context(), approvals.Query{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	it := list[0]
	if len(it.Notes) != 1 || it.Notes[0] != queue.NoteRedacted("/details/somewhere") ||
		strings.Contains(string(it.Details), "SECRET") || it.Reason != "to note [redacted]" ||
		it.Hooks[0].Reason != it.Reason || it.Tool != "write" || it.Phase != phases.PreTool || it.By.Credential != "uid 1" ||
		it.By.Session != "s-1" ||
		!it.Expires.Equal(h.clock.Now().Add(queue.DefaultTimeout)) || !it.Created.Equal(h.clock.Now()) ||
		it.Invocation == "" {
		t.Errorf("%+v", it)
	}
	e := h.events(t, wire.Query{Type: phases.EventLease})
	if len(e) != 1 || e[0].Decision != "requested" || e[0].Invocation != it.Invocation || e[0].Phase != phases.PreTool ||
		e[0].Run != "r-1" || e[0].Tool != "write" || e[0].Binding != "asker" ||
		e[0].HookVersion != "1.0.0" || len(e[0].Masked) != 1 || e[0].Masked[0] != "/output/lease/somewhere" ||
		strings.Contains(string(e[0].Output), "SECRET") {
		t.Errorf("%+v %s", e, e[0].Output)
	}
	// One that waits is shown to hooks of the same session and credential only.
	answer := &script{}
	cfg := configOf([]hook{broker(answer)})
	h.loader.hooks = []hook{broker(answer)}
	if err := h.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change     func(*phases.Invocation)
		credential string
		sees       bool
	}{
		"its own":            {func(*phases.Invocation) {}, "uid 1", true},
		"another agent":      {func(i *phases.Invocation) { i.Agent = "other" }, "uid 1", true},
		"another session":    {func(i *phases.Invocation) { i.Session = "s-2" }, "uid 1", false},
		"another runtime":    {func(i *phases.Invocation) { i.Runtime = "codex" }, "uid 1", false},
		"another credential": {func(*phases.Invocation) {}, "uid 2", false},
	} {
		inv := write("/srv/a")
		c.change(&inv)
		answer.say(`check {"requests":true}`, `mint {"for":"`+it.ID+`","capability":"tool:exec","scope":{},"ttl_s":1}`)
		h.invoke(t, inv, kernel.InvokeOptions{Credential: c.credential})
		if got := strings.Contains(answer.replies[0], it.ID); got != c.sees {
			t.Errorf("%s: %s", name, answer.replies[0])
		}
		// The refusal depends on the requests that the hook sees: asking for more than was asked
		// differs from naming an unknown request.
		want := `-1 {"error":"no such request"}`
		if c.sees {
			want = `-2 {"error":"more than was asked for"}`
		}
		if answer.last() != want {
			t.Errorf("%s: %s, want %s", name, answer.last(), want)
		}
	}
}

// A full queue takes no request, and what gives way in one transaction gives way once.
func TestRequestsIntoAFullQueue(t *testing.T) {
	s := &script{}
	ask := func(n int) string {
		return fmt.Sprintf(`request {"capability":"tool:write","scope":{"paths":["/srv/%d"]},"ttl_s":60,"reason":"r"}`, n)
	}
	h := newHost(t, []hook{requester(s)}, reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Quota = 1 })
	s.say(ask(0))
	h.invoke(t, write("/srv/a"))
	s.say(ask(1))
	h.invoke(t, write("/srv/a"))
	if !strings.HasPrefix(s.last(), "-5 ") && !strings.Contains(s.last(), approvals.ErrQuota.Error()) {
		t.Errorf("beyond its own share: %s", s.last())
	}
	for n := range approvals.CredentialFactor {
		inv := write("/srv/a")
		inv.Session, inv.Agent = "crowd", fmt.Sprint(n)
		s.say(ask(2))
		h.invoke(t, inv)
	}
	quiet := write("/srv/a")
	quiet.Session, quiet.Agent = "quiet", "q"
	s.say(ask(3), ask(4))
	h.invoke(t, quiet)
	if !strings.HasPrefix(s.replies[0], "-6 ") || strings.HasPrefix(s.replies[1], "-6 ") {
		t.Errorf("%q", s.replies)
	}
}

// A denial or an approval that is not signed, or that is of another request, gives no lease.
func TestRequestsTakeTheirOwnSignature(t *testing.T) {
	wish := `request {"capability":"tool:write","scope":{"paths":["/srv/a"]},"ttl_s":60,"reason":"r"}`
	for name, c := range map[string]struct {
		verdict approvals.Verdict
		edit    func(*approvals.Item)
		text    string
	}{
		"approved, of another tool": {approvals.Approve, func(it *approvals.Item) { it.Tool = "read" },
			"what was approved is not the lease that is wanted"},
		"approved, other terms": {approvals.Approve, func(it *approvals.Item) {
			it.Details = []byte(strings.Replace(string(it.Details), "/srv/a", "/srv/b", 1))
		}, "what was approved is not the lease that is wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			h := newHost(t, []hook{requester(s)}, reviewed, forged(c.edit))
			s.say(wish)
			h.invoke(t, write("/srv/a"))
			list, err := h.Approvals(t.Context(), approvals.Query{})
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if err := h.decide(t, list[0].ID, c.verdict, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			v := h.fails(t, write("/srv/a"), phases.KindStore)
			if !strings.Contains(v.Reason, c.text) {
				t.Errorf("%q, want %q", v.Reason, c.text)
			}
			if got := h.leaseEvents(t); got != "requested" {
				t.Errorf("%s", got)
			}
		})
	}
	// The reviewer is gone: what they denied stops what rests on it, as a failure.
	for kind, verdict := range map[string]approvals.Verdict{"denied": approvals.Deny, "approved": approvals.Approve} {
		s := &script{}
		h := newHost(t, []hook{requester(s)}, reviewed)
		s.say(wish)
		h.invoke(t, write("/srv/a"))
		list, _ := h.Approvals(t.Context(), approvals.Query{})
		if err := h.decide(t, list[0].ID, verdict, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		if err := h.Reload(t.Context(), configOf(h.loader.hooks)); err != nil {
			t.Fatal(err)
		}
		v := h.fails(t, write("/srv/a"), phases.KindStore)
		if !strings.Contains(v.Reason, "what is stored as "+kind+" was not signed by a reviewer") {
			t.Errorf("%s: %q", kind, v.Reason)
		}
	}
	// The same for an ask.
	h := newHost(t, asking(), reviewed)
	if err := h.decide(t, h.pending(t, invocation(phases.PreTool)), approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), configOf(h.loader.hooks)); err != nil {
		t.Fatal(err)
	}
	if v := h.fails(t, invocation(phases.PreTool), phases.KindStore); !strings.Contains(v.Reason,
		"what is stored as denied was not signed by a reviewer") {
		t.Errorf("%q", v.Reason)
	}
}

// A rule that asks is no answer: the request is put to a person, also when rules behind it would answer.
func TestRuleThatAsks(t *testing.T) {
	s := &script{}
	rule := kernel.LeaseRule{Capability: "tool:write", Scope: leases.Scope{}}
	h := newHost(t, []hook{requester(s)}, reviewed, func(c *kernel.Config, _ *kernel.Options) {
		first, second := rule, rule
		first.Decision, second.Decision = kernel.LeaseAsk, kernel.LeaseGrant
		c.LeaseRules = []kernel.LeaseRule{first, second}
	})
	s.say(`request {"capability":"tool:write","scope":{"paths":["/srv/a"]},"ttl_s":60,"reason":"r"}`)
	h.invoke(t, write("/srv/a"))
	if !strings.HasPrefix(s.last(), "-6 ") {
		t.Errorf("%s", s.last())
	}
}

// Who a hook lends to, what one use of two rules costs, and what a spawn passes on.
func TestLendingInDetail(t *testing.T) {
	s := &script{}
	h := newHost(t, []hook{broker(s)}, func(c *kernel.Config, _ *kernel.Options) {
		c.RequireLease = []kernel.RequireLease{
			{Tools: phases.Scope{"write"}, Capability: "tool:write"},
			{Tools: phases.Scope{"write", "exec"}, Capability: "tool:*"},
		}
	})
	s.say(strings.Replace("mint "+mintSrv+`,"max_uses":2}`, `{`, `{"holder":{"session":"s-2","agent":"other"},`, 1))
	h.blocked(t, write("/srv/a"), "needs a lease")
	s.say()
	s.say("mint " + mintSrv + `,"max_uses":5,"max_ttl_s":600}`)
	v := h.allowed(t, write("/srv/a"))
	if n := strings.Count(strings.Join(v.Notes, "\n"), "one use taken"); n != 1 {
		t.Errorf("one action took %d uses: %v", n, v.Notes)
	}
	s.say(`mint {"holder":{"session":"s-2","agent":"other"},"id":"theirs","capability":"tool:write","scope":{},"ttl_s":60}`)
	h.allowed(t, write("/srv/a"))
	l, err := h.Lease(t.Context(), "theirs")
	if err != nil || l.Holder.Session != "s-2" || l.Holder.Agent != "other" || l.Holder.Runtime != "custom" {
		t.Errorf("%+v, %v", l, err)
	}
	s.say(`check {"capability":"tool:write","scope":{"paths":["/srv/x"]}}`,
		`check {"capability":"tool:write","scope":{"paths":["/etc/x"]}}`,
		`check {"capability":"tool:exec","scope":{"paths":["/srv/x"]}}`)
	h.allowed(t, write("/srv/a"))
	if !strings.Contains(s.replies[0], `"active":true`) || !strings.Contains(s.replies[0], "s-1/lent") ||
		s.replies[1] != `{"active":false}` || s.replies[2] != `{"active":false}` {
		t.Errorf("%q", s.replies)
	}
	// A renewal is shown with its new end, in the turn and afterwards.
	before, err := h.Lease(t.Context(), "s-1/lent")
	if err != nil {
		t.Fatal(err)
	}
	s.say(`mint {"renew":"s-1/lent","ttl_s":120}`, `check {"id":"s-1/lent"}`)
	h.invoke(t, write("/srv/a"))
	after, err := h.Lease(t.Context(), "s-1/lent")
	if err != nil || !after.ExpiresAt.After(before.ExpiresAt) || strings.Contains(s.replies[0], "token") {
		t.Errorf("%+v, %v", after, err)
	}
	for _, got := range s.replies { // the same in the turn as afterwards
		if !strings.Contains(got, `"expires_at":"`+after.ExpiresAt.Format(time.RFC3339Nano)) {
			t.Errorf("%s, want %v", got, after.ExpiresAt)
		}
	}
	// A hook that blocks lends nothing, and the lease that it revokes is gone.
	s.effects = []phases.Effect{block("no")}
	s.say("mint "+strings.Replace(mintSrv, "s-1/lent", "s-1/not", 1)+"}", `revoke {"prefix":"s-1"}`)
	h.invoke(t, write("/srv/a"))
	if _, err := h.Lease(t.Context(), "s-1/not"); !errors.Is(err, leases.ErrUnknown) {
		t.Errorf("%v", err)
	}
	if l, err := h.Lease(t.Context(), "s-1/lent"); err != nil || l.State != leases.Revoked {
		t.Errorf("%+v, %v", l, err)
	}
}

// A child gets what remains of a lease, and in its name.
func TestPassedOnInDetail(t *testing.T) {
	h := newHost(t, nil)
	holder := ours
	holder.Credential = "uid 1"
	if _, err := h.MintLease(t.Context(),
		leases.Request{ID: "s-1/a", Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 60, MaxUses: 4}, holder,
		"dev"); err != nil {
		t.Fatal(err)
	}
	act := write("/srv/a")
	if _, err := h.CheckLease(t.Context(),
		kernel.LeaseCheck{Holder: holder, Capability: "tool:write", Action: &act, Claim: true}); err != nil {
		t.Fatal(err)
	}
	h.allowed(t, spawn("s-1/a"), kernel.InvokeOptions{Credential: "uid 1"})
	list, err := h.Leases(t.Context(), leases.Query{Holder: leases.Holder{Agent: "helper"}})
	if err != nil || len(list) != 1 || list[0].UsesLeft != 3 || list[0].Holder.Credential != "uid 1" ||
		list[0].Holder.Session != "s-1" || list[0].Issuer.Kind != leases.BySpawn || list[0].Issuer.Invocation == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	// A blocked spawn passes nothing on.
	no := newHost(t,
		[]hook{{name: "no", phases: []phases.Phase{phases.Spawn}, caps: []string{"block"}, run: effects(block("no"))}})
	no.lend(t, leases.Request{ID: "s-1/a", MaxUses: 2})
	no.invoke(t, spawn("s-1/a"))
	if got := no.leaseEvents(t); got != "minted" {
		t.Errorf("%s", got)
	}
	// In the audit phase nothing is lent.
	audit := newHost(t, nil, required)
	audit.allowed(t, invocation(phases.Audit))
}

// raced is a store in which others take the place in the queue first, so many times.
type raced struct {
	kernel.Store
	lose  int
	tries int
}

func (r *raced) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if len(b.Approvals) > 0 && b.Approvals[len(b.Approvals)-1].Create != nil {
		if r.tries++; r.tries <= r.lose {
			return kernel.Receipt{}, kernel.ErrConflict
		}
	}
	return r.Store.Commit(ctx, b)
}

// A question is tried to be filed as often as the docs of the code say, and no more.
func TestQuestionsAreFiledInARace(t *testing.T) {
	for lose, want := range map[int]error{0: nil, 15: nil, 16: kernel.ErrConflict} {
		r := &raced{lose: lose}
		h := newHost(t, nil, reviewed, func(_ *kernel.Config, o *kernel.Options) { r.Store = o.Store; o.Store = r })
		if _, err := h.RequestApproval(t.Context(), proposal("a")); !errors.Is(err, want) || r.tries != min(lose+1, 16) {
			t.Errorf("lost %d times: %v after %d tries", lose, err, r.tries)
		}
	}
}

// What a question is filed with: its state, its time, its end.
func TestFiledQuestions(t *testing.T) {
	h := newHost(t, nil, reviewed)
	it, err := h.RequestApproval(t.Context(), proposal("a"))
	if err != nil || it.State != approvals.Pending || !it.Created.Equal(h.clock.Now()) ||
		!it.Expires.Equal(h.clock.Now().Add(queue.DefaultTimeout)) || it.ID == "" {
		t.Errorf("%+v, %v", it, err)
	}
	again, err := h.RequestApproval(t.Context(), proposal("a"))
	if err != nil || again.ID != it.ID {
		t.Errorf("%+v, %v", again, err)
	}
	if counts, err := h.ApprovalCounts(t.Context()); err != nil || counts[approvals.KindProposal] != 1 ||
		len(counts) != 1 {
		t.Errorf("%v, %v", counts, err)
	}
	if err := h.decide(t, it.ID, approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if again, err = h.RequestApproval(t.Context(), proposal("a")); err != nil || again.ID != it.ID ||
		again.State != approvals.Denied {
		t.Errorf("a denial holds: %+v, %v", again, err)
	}
	h.clock.add(queue.DefaultTimeout + time.Second)
	if again, err = h.RequestApproval(t.Context(), proposal("a")); err != nil || again.ID == it.ID {
		t.Errorf("a denial has run out: %+v, %v", again, err)
	}
	h.clock.add(queue.DefaultTimeout)
	late, err := h.RequestApproval(t.Context(), proposal("a"))
	if err != nil || late.ID == again.ID {
		t.Errorf("%+v, %v", late, err)
	}
	expired := h.events(t, wire.Query{Type: phases.EventApproval, Decision: string(approvals.Expired)})
	if len(expired) != 1 || !strings.Contains(string(expired[0].Output), again.ID) {
		t.Errorf("%+v", expired)
	}
	// A better one takes the place of another: of one that is pending, and of the requester's share.
	small := newHost(t, nil, reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Quota = 1 })
	old := small.proposed(t, "a")
	if _, err := small.RequestApproval(t.Context(), proposal("b")); !errors.Is(err, approvals.ErrQuota) {
		t.Errorf("%v", err)
	}
	next, err := small.RequestApproval(t.Context(), proposal("b"), old)
	if err != nil || next.ID == old {
		t.Errorf("%+v, %v", next, err)
	}
	if it, err := small.Approval(t.Context(), old); err != nil || it.State != approvals.Superseded {
		t.Errorf("%+v, %v", it, err)
	}
	if _, err := small.RequestApproval(t.Context(), proposal("c"), old); !errors.Is(err, approvals.ErrQuota) {
		t.Errorf("what was put aside before makes no room: %v", err)
	}
}
