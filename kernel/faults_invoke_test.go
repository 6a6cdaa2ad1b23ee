package kernel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// decision is one invocation that is decided while the store fails at some call.
type decision struct {
	hooks   func() []hook // made anew for each try
	changes []change
	prepare func(*testing.T, *host)
	inv     phases.Invocation
	options kernel.InvokeOptions
	want    phases.Decision // what comes of it while the store works; "" means allow
	spared  func(method string) bool
}

// passed is what lets something pass: how often leases were used and approvals used up.
// What an invocation that failed asks for, or takes back, may stay.
func (h *host) passed(t *testing.T) (out []string) {
	t.Helper()
	state := h.restrictions(t)
	for _, l := range state.Leases {
		out = append(out, fmt.Sprintf("lease %s used %d", l.ID, l.Uses))
	}
	for _, it := range state.Approvals {
		if it.State == approvals.Consumed || it.State == approvals.Approved {
			out = append(out, fmt.Sprintf("approval %s %s", it.ID, it.State))
		}
	}
	slices.Sort(out)
	return out
}

// recorded reports whether the log tells of the invocation, in an event of its own or among
// those that a gap names.
func (h *host) recorded(t *testing.T, id string) bool {
	t.Helper()
	for _, e := range h.events(t, wire.Query{}) {
		var gap struct {
			Invocations []string `json:"invocations"`
		}
		if e.Invocation == id && e.Decision == string(phases.Block) {
			return true
		}
		if e.Type == phases.EventGap && json.Unmarshal(e.Output, &gap) == nil && slices.Contains(gap.Invocations, id) {
			return true
		}
	}
	return false
}

// blocksAtEachCall has every call that the invocation makes fail once: the answer is a block
// with an error, nothing that lets something pass has come about, and the log tells of it.
func (c *decision) blocksAtEachCall(t *testing.T) {
	t.Helper()
	want := c.want
	if want == "" {
		want = phases.Allow
	}
	for n := 1; ; n++ {
		var hooks []hook
		if c.hooks != nil {
			hooks = c.hooks()
		}
		h, f := newFaultyHost(t, hooks, c.changes...)
		if c.prepare != nil {
			c.prepare(t, h)
		}
		before := h.passed(t)
		f.arm(n, 0, false)
		v, err := h.InvokeWith(t.Context(), c.inv, c.options)
		method := f.disarm()
		if method == "" {
			if err != nil || v.Decision != want {
				t.Errorf("while the store works: %s %q, %v", v.Decision, v.Reason, err)
			}
			return
		}
		checkComplete(t, v)
		if c.spared != nil && c.spared(method) && err == nil && v.Decision == want {
			continue
		}
		if v.Decision != phases.Block || err == nil || v.Action != nil || v.Reply != nil || v.Approval != nil {
			t.Errorf("call %d (%s) failed, and the answer is %s %q, %v", n, method, v.Decision, v.Reason, err)
		}
		if diff := cmp.Diff(before, h.passed(t)); diff != "" {
			t.Errorf("call %d (%s) failed: %s", n, method, diff)
		}
		if err := h.Recover(t.Context()); err != nil || !h.recorded(t, v.ID) {
			t.Errorf("call %d (%s) failed, and the log does not tell of it: %v", n, method, err)
		}
	}
}

// givesUpOnConflicts has others be faster at every commit from each on: the answer is a
// block, unless no commit was in the way.
func (c *decision) givesUpOnConflicts(t *testing.T) {
	t.Helper()
	var hooks []hook
	if c.hooks != nil {
		hooks = c.hooks()
	}
	h, f := newFaultyHost(t, hooks, c.changes...)
	if c.prepare != nil {
		c.prepare(t, h)
	}
	before := h.passed(t)
	f.arm(0, 1, true)
	v, err := h.InvokeWith(t.Context(), c.inv, c.options)
	f.disarm()
	if checkComplete(t, v); v.Decision != phases.Block || err == nil {
		t.Errorf("every commit meets a conflict, and the answer is %s, %v", v.Decision, err)
	}
	if diff := cmp.Diff(before, h.passed(t)); diff != "" {
		t.Errorf("every commit met a conflict: %s", diff)
	}
}

// decisions are invocations of which each does something else with the store.
func decisions() map[string]decision {
	askedBefore := func(ago time.Duration) func(*testing.T, *host) {
		return func(t *testing.T, h *host) { h.pending(t, invocation(phases.PreTool)); h.clock.add(ago) }
	}
	carrying := func() []hook {
		return []hook{{name: "c", caps: []string{"annotate"}, run: counting(annotate("k", "1"))}}
	}
	ruled := func(d kernel.LeaseDecision) change {
		return func(c *kernel.Config, _ *kernel.Options) {
			c.LeaseRules = []kernel.LeaseRule{{Capability: "tool:write", Scope: leases.Scope{}, Decision: d}}
		}
	}
	const askLease = `request {"capability":"tool:write","scope":{"paths":["/srv/**"]},"ttl_s":60,"reason":"to write"}`
	lends := func(calls ...string) func() []hook {
		return func() []hook {
			s := &script{}
			s.say(calls...)
			return []hook{broker(s)}
		}
	}
	asked := func(t *testing.T, h *host) string {
		t.Helper()
		h.invoke(t, write("/srv/a"))
		list, err := h.Approvals(t.Context(), approvals.Query{Kind: approvals.KindLease})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].ID
	}
	answered := func(v approvals.Verdict) func(*testing.T, *host) {
		return func(t *testing.T, h *host) {
			if err := h.decide(t, asked(t, h), v, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	minted := func(t *testing.T, h *host) {
		_, err := h.MintLease(t.Context(), leases.Request{ID: "s-1/lent", Capability: "tool:write", Scope: &leases.Scope{},
			TTLS: 60, MaxTTLS: 600, MaxUses: 2}, ours, "dev")
		if err != nil {
			t.Fatal(err)
		}
	}
	exec, spawn := invocation(phases.PreTool), invocation(phases.Spawn)
	spawn.Action = jsontext.Value(`{"child":{"agent":"helper","leases":["s-1/lent"]}}`)
	// the queue is swept once an hour, behind the answer
	swept := func(method string) bool { return method == "Approvals" }
	return map[string]decision{
		"nothing to say":      {inv: exec},
		"state and metadata":  {hooks: carrying, inv: exec},
		"metadata carried on": {hooks: carrying, inv: exec, prepare: func(t *testing.T, h *host) { h.invoke(t, exec) }},
		"asked":               {hooks: asking, changes: []change{reviewed}, inv: exec, want: phases.Ask},
		"asked before": {hooks: asking, changes: []change{reviewed}, inv: exec, want: phases.Ask,
			prepare: askedBefore(0)},
		"asked long ago": {hooks: asking, changes: []change{reviewed}, inv: exec, want: phases.Ask,
			prepare: askedBefore(time.Hour), spared: swept},
		"approved": {hooks: asking, changes: []change{reviewed}, inv: exec,
			prepare: func(t *testing.T, h *host) { h.approved(t) }},
		"denied": {hooks: asking, changes: []change{reviewed}, inv: exec, want: phases.Block,
			prepare: func(t *testing.T, h *host) {
				if err := h.decide(t, h.pending(t, exec), approvals.Deny, reviewerKey(1)); err != nil {
					t.Fatal(err)
				}
			}},
		"asked in a full queue": {hooks: asking, inv: exec, want: phases.Ask,
			changes: []change{reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Quota = 1 }},
			prepare: func(t *testing.T, h *host) {
				for n := range approvals.CredentialFactor {
					inv := invocation(phases.PreTool)
					inv.Session, inv.Agent = "crowd", fmt.Sprint(n)
					h.pending(t, inv)
				}
			}},
		"a lease used": {changes: []change{required}, inv: write("/srv/a"), prepare: minted},
		"a lease for a delegated": {hooks: asking, changes: []change{required}, inv: write("/srv/a"), prepare: minted,
			want: phases.Ask, options: kernel.InvokeOptions{Delegated: true}},
		"a lease passed on": {inv: spawn, prepare: minted},
		"a hook mints":      {hooks: lends("mint " + mintSrv + "}"), inv: write("/srv/a")},
		"a hook mints and it is used": {hooks: lends("mint " + mintSrv + "}"), changes: []change{required},
			inv: write("/srv/a")},
		"a hook mints below": {hooks: lends(
			`mint {"id":"s-1/lent/x","parent":"s-1/lent","capability":"tool:write","scope":{},"ttl_s":60}`),
			inv: write("/srv/a"), prepare: minted},
		"a hook renews": {hooks: lends(`mint {"renew":"s-1/lent","ttl_s":120}`), inv: write("/srv/a"),
			prepare: minted},
		"a hook takes back":     {hooks: lends(`revoke {"id":"s-1/lent"}`), inv: write("/srv/a"), prepare: minted},
		"a hook takes all back": {hooks: lends(`revoke {"prefix":"s-1"}`), inv: write("/srv/a"), prepare: minted},
		"a hook checks an id":   {hooks: lends(`check {"id":"s-1/lent"}`), inv: write("/srv/a"), prepare: minted},
		"a hook checks a scope": {hooks: lends(`check {"capability":"tool:write","scope":{"paths":["/srv/**"]}}`),
			inv: write("/srv/a"), prepare: minted},
		"a hook checks the action": {hooks: lends(`check {"capability":"tool:write"}`), inv: write("/srv/a"),
			prepare: minted},
		"a hook is granted": {hooks: lends(askLease), changes: []change{ruled(kernel.LeaseGrant)},
			inv: write("/srv/a")},
		"a hook is denied": {hooks: lends(askLease), changes: []change{ruled(kernel.LeaseDeny)},
			inv: write("/srv/a")},
		"a hook asks": {hooks: lends(askLease), changes: []change{reviewed}, inv: write("/srv/a")},
		"a hook asks below": {hooks: lends(strings.Replace(askLease, `{`, `{"parent":"s-1/lent",`, 1)),
			inv: write("/srv/a"), prepare: minted},
		"a hook has asked": {hooks: lends(askLease), changes: []change{reviewed}, inv: write("/srv/a"),
			prepare: func(t *testing.T, h *host) { asked(t, h) }},
		"a hook looks at what was asked": {hooks: lends(askLease, `check {"requests":true}`), changes: []change{reviewed},
			inv:     write("/srv/a"),
			prepare: func(t *testing.T, h *host) { asked(t, h) }},
		"a hook asked long ago": {hooks: lends(askLease), changes: []change{reviewed}, inv: write("/srv/a"),
			prepare: func(t *testing.T, h *host) { asked(t, h); h.clock.add(time.Hour) }, spared: swept},
		"a hook asked and a person said yes": {hooks: lends(askLease), changes: []change{reviewed}, inv: write("/srv/a"),
			prepare: answered(approvals.Approve)},
		"a hook asked and a person said no": {hooks: lends(askLease), changes: []change{reviewed}, inv: write("/srv/a"),
			prepare: answered(approvals.Deny)},
		"a hook calls a tool": {hooks: func() []hook { return []hook{toolAsker(new([]answer), probeCall)} },
			changes: []change{withTools(&tools{})}, inv: exec},
	}
}

// Whichever call to the store fails while an invocation is decided: it is blocked, nothing
// that lets something pass comes about, and the log tells of it.
func TestInvocationsWithAStoreThatFails(t *testing.T) {
	for name, c := range decisions() {
		t.Run(name, func(t *testing.T) {
			c.blocksAtEachCall(t)
			c.givesUpOnConflicts(t)
		})
	}
}

// A call that could not be logged never begins, and no hook sees the outcome of one that
// cannot be recorded, whichever call to the store fails.
func TestCallsWithAStoreThatFails(t *testing.T) {
	for n := 1; ; n++ {
		var got []answer
		x := &tools{}
		h, f := newFaultyHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x))
		f.arm(n, 0, false)
		v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
		if f.disarm() == "" {
			return
		}
		if v.Decision != phases.Block || err == nil {
			t.Errorf("call %d failed: %s, %v", n, v.Decision, err)
		}
		intents := len(h.events(t, wire.Query{Type: phases.EventIntent}))
		outcomes := len(h.events(t, wire.Query{Type: phases.EventOutcome}))
		if len(x.calls) > intents {
			t.Errorf("call %d failed: the tool ran and there is no intent", n)
		}
		if outcomes == 0 && slices.ContainsFunc(got, func(a answer) bool { return a.reply != "" }) {
			t.Errorf("call %d failed: the hook has seen %+v, and no outcome is logged", n, got)
		}
		if f := phases.FaultOf(err); f == nil || !errors.Is(err, f) {
			t.Errorf("call %d failed: %v is no fault", n, err)
		}
	}
}
