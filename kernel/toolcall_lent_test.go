package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A hook that calls a tool gets round neither leases nor people: the nested call is the
// agent's own, with all that this takes.

const nestedWrite = `{"tool":"write","args":{"file_path":"/srv/a.md","content":"x"}}`

// writesTakeALease leaves the exec calls alone in which the hook asks.
func writesTakeALease(c *kernel.Config, _ *kernel.Options) {
	c.RequireLease = []kernel.RequireLease{{Tools: phases.Scope{"write"}, Capability: "tool:write"}}
}

func (h *host) leaseState(t *testing.T, id string) string {
	t.Helper()
	l, err := h.Lease(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d", l.State, l.UsesLeft)
}

func TestToolCallTakesALease(t *testing.T) {
	x := &tools{}
	var got []answer
	h := newHost(t, []hook{toolAsker(&got, nestedWrite)}, withTools(x), writesTakeALease)
	call := func() answer {
		t.Helper()
		h.allowed(t, invocation(phases.PreTool)) // the hook may do without
		return got[len(got)-1]
	}
	refused := func(a answer, ran int) {
		t.Helper()
		if a.code != -2 || !strings.Contains(a.reply, "this needs a lease: capability tool:write") || len(x.calls) != ran {
			t.Errorf("answer %+v after %d calls", a, len(x.calls))
		}
	}
	refused(call(), 0)
	h.lend(t, leases.Request{ID: "s-1/elsewhere", Scope: &leases.Scope{Paths: phases.Scope{"/etc/**"}}})
	refused(call(), 0)
	h.lend(t, leases.Request{ID: "s-1/here"})
	if a := call(); a.code < 0 || !strings.Contains(a.reply, `"outcome":"ok"`) || len(x.calls) != 1 {
		t.Errorf("with a lease: %+v, %d calls", a, len(x.calls))
	}
	if s := h.leaseState(t, "s-1/here"); s != "exhausted 0" {
		t.Errorf("the lease is %s", s)
	}
	refused(call(), 1)
	if s := h.leaseState(t, "s-1/elsewhere"); s != "active 1" {
		t.Errorf("the other lease is %s", s)
	}
	// The use is taken with the verdict that lets the tool run, and so with its intent.
	claim := h.events(t, wire.Query{Type: phases.EventLease, Decision: "claimed"})
	intent := h.events(t, wire.Query{Type: phases.EventIntent})
	if len(claim) != 1 || len(intent) != 1 || claim[0].Invocation != intent[0].Invocation || claim[0].Tool != "write" {
		t.Errorf("claims %+v, intents %+v", claim, intent)
	}
}

func TestToolCallIsApprovedAndTriedAgain(t *testing.T) {
	x := &tools{}
	var got []answer
	request := nestedWrite
	judge := hook{name: "judge", caps: []string{"request_approval"}, run: onTool("write", effects(ask("it writes")))}
	hooks := func(request string) []hook { return []hook{toolAsker(&got, request), judge} }
	h := newHost(t, hooks(request), withTools(x), reviewed, writesTakeALease)
	call := func() (answer, string) {
		t.Helper()
		h.allowed(t, invocation(phases.PreTool))
		a := got[len(got)-1]
		id, _ := phases.GetString(jsontext.Value(a.reply), "/approval/id")
		return a, id
	}
	a, id := call()
	if a.code != -6 || id == "" || len(x.calls) != 0 {
		t.Fatalf("answer %+v", a)
	}
	if _, again := call(); again != id {
		t.Errorf("the same question waits as %s and %s", id, again)
	}
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	// A yes is no lease. Blocked for want of one, the approval is not used up.
	if a, _ := call(); a.code != -2 || !strings.Contains(a.reply, "this needs a lease") || len(x.calls) != 0 {
		t.Errorf("approved, without a lease: %+v", a)
	}
	h.lend(t, leases.Request{ID: "s-1/two", MaxUses: 2})
	if a, _ := call(); a.code < 0 || !strings.Contains(a.reply, `"outcome":"ok"`) || len(x.calls) != 1 {
		t.Errorf("approved, with a lease: %+v, %d calls", a, len(x.calls))
	}
	// Once: the next is another question, though the lease has a use left.
	if a, next := call(); a.code != -6 || next == "" || next == id || len(x.calls) != 1 {
		t.Errorf("the same again: %+v", a)
	}
	if s := h.leaseState(t, "s-1/two"); s != "active 1" {
		t.Errorf("the lease is %s", s)
	}
	it, err := h.Approval(t.Context(), id)
	if err != nil || it.State != approvals.Consumed || it.By.Agent != "coder" || it.Tool != "write" {
		t.Errorf("the approval: %+v, %v", it, err)
	}
}
