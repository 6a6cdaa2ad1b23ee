package kernel_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A compaction takes a reviewer's order, unless belay.yaml wants it; the log says who wants it and why.
func TestWhoCompacts(t *testing.T) {
	for name, c := range map[string]struct {
		by   kernel.CompactBy
		sign bool
		user string // "": refused
	}{
		"a person without an order": {kernel.CompactBy{By: "dev", Why: "old"}, false, ""},
		"a person with one":         {kernel.CompactBy{By: "uid 1", Why: "old"}, true, "dev"},
		"belay.yaml":                {kernel.CompactBy{By: "belay.yaml", Why: "old", Retention: true}, false, "belay.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, nil, reviewed, inStore)
			h.allowed(t, invocation(phases.PreTool))
			h.clock.add(kernel.MinCompactionAge + time.Second)
			if c.sign {
				c.by.Order = h.signed(t, queue.VerbCompact, kernel.CompactOrder{Through: 1}, reviewerKey(1))
			}
			r, err := h.Compact(t.Context(), kernel.Compaction{Through: 1, Statement: "signed"}, c.by)
			if c.user == "" {
				if !errors.Is(err, approvals.ErrSignature) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			es := h.events(t, wire.Query{After: r.First - 1})
			if e := es[0]; e.Type != phases.EventCompaction || e.User != c.user || e.Decision != "compacted" ||
				e.Reason != "old" || string(e.Output) != `{"through":1,"statement":"signed"}` ||
				e.PolicyRevision != "rev-1" || !e.Time.Equal(h.clock.Now()) {
				t.Errorf("%+v", e)
			}
			if c.sign != (len(es) == 2 && es[1].Decision == kernel.Ordered && es[1].Time.Equal(h.clock.Now()) &&
				es[1].PolicyRevision == "rev-1" && es[1].Reason == "events compact: ordered by a reviewer") {
				t.Errorf("%+v", es)
			}
		})
	}
	h := newHost(t, nil, reviewed, inStore)
	h.allowed(t, invocation(phases.PreTool))
	h.clock.add(kernel.MinCompactionAge)
	h.allowed(t, invocation(phases.PreTool))
	h.clock.add(time.Second)
	for through, want := range map[int64]bool{1: true, 2: false} { // event 2 is younger than the bound
		if _, err := h.Compact(t.Context(), kernel.Compaction{Through: through},
			kernel.CompactBy{Retention: true}); (err == nil) != want {
			t.Errorf("through %d: %v", through, err)
		}
	}
}

// Only proposals are accepted without a person.
func TestOnlyProposalsAreAccepted(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	d := approvals.Decision{Verdict: approvals.Approve, By: "config", At: h.clock.Now(),
		Until: h.clock.Now().Add(time.Minute)}
	if _, err := h.AcceptApproval(t.Context(), id, d); !errors.Is(err, approvals.ErrUnknown) {
		t.Errorf("%v", err)
	}
	used := h.approved(t)
	if err := h.FinishAccepted(t.Context(), used, "n"); !errors.Is(err, approvals.ErrUnknown) {
		t.Errorf("%v", err)
	}
	p := h.proposed(t, "a")
	it, err := h.AcceptApproval(t.Context(), p, d)
	if err != nil || it.State != approvals.Approved || it.Decision.By != "config" {
		t.Fatalf("%+v, %v", it, err)
	}
	if _, err := h.AcceptApproval(t.Context(), p, d); !errors.Is(err, approvals.ErrDecided) {
		t.Errorf("accepted again: %v", err)
	}
	if err := h.FinishAccepted(t.Context(), p, "note\x00"); err != nil {
		t.Fatal(err)
	}
	if err := h.FinishAccepted(t.Context(), p, "note"); err == nil {
		t.Error("used twice")
	}
	for _, id := range []string{"", "none"} {
		if _, err := h.AcceptApproval(t.Context(), id, d); !errors.Is(err, approvals.ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	es := h.events(t, wire.Query{Type: phases.EventApproval, Decision: string(approvals.Consumed)})
	if len(es) != 1 || len(es[0].Notes) != 1 || es[0].Notes[0] != phases.SafeText("note\x00", 99) ||
		es[0].DecidedBy != "config" {
		t.Errorf("%+v", es)
	}
	// Without a note there is none.
	p2 := h.proposed(t, "b")
	if _, err := h.AcceptApproval(t.Context(), p2, d); err != nil {
		t.Fatal(err)
	}
	if err := h.FinishAccepted(t.Context(), p2, ""); err != nil {
		t.Fatal(err)
	}
	if es := h.events(t,
		wire.Query{Type: phases.EventApproval, Decision: string(approvals.Consumed)}); len(es) != 2 ||
		len(es[1].Notes) != 0 {
		t.Errorf("%+v", es)
	}
}

// An item that cannot be used answers why: run out, used, denied, not decided.
func TestItemsThatCannotBeUsed(t *testing.T) {
	for state, want := range map[approvals.State]error{
		approvals.Pending: approvals.ErrDecided, approvals.Denied: approvals.ErrDecided,
		approvals.Consumed: approvals.ErrDecided, approvals.Approved: nil,
	} {
		h := newHost(t, asking(), reviewed)
		id := h.inState(t, state)
		it, err := h.CheckApproval(t.Context(), id)
		if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "it is "+string(state)) || want == nil &&
			it.ID != id {
			t.Errorf("%s: %v", state, err)
		}
		if err := h.FinishApproval(t.Context(), id, "n"); !errors.Is(err, want) {
			t.Errorf("%s: %v", state, err)
		}
	}
	h := newHost(t, asking(), reviewed)
	id := h.approved(t)
	h.clock.add(queue.DefaultTimeout - time.Nanosecond)
	if _, err := h.CheckApproval(t.Context(), id); err != nil {
		t.Error(err)
	}
	h.clock.add(time.Nanosecond)
	if _, err := h.CheckApproval(t.Context(), id); !errors.Is(err, approvals.ErrExpired) {
		t.Error(err)
	}
	if err := h.FinishApproval(t.Context(), id, "n"); !errors.Is(err, approvals.ErrExpired) {
		t.Error(err)
	}
	if it, err := h.Approval(t.Context(), id); err != nil || it.State != approvals.Expired {
		t.Errorf("%+v, %v", it, err)
	}
	if got := h.approvalEvents(t); got != "requested approved expired" {
		t.Errorf("looking at it writes it down: %s", got)
	}
}

// What an event of the queue says, member by member.
func TestEventsOfTheQueue(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	id := h.approved(t)
	it, err := h.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.FinishApproval(t.Context(), id, "done"); err != nil {
		t.Fatal(err)
	}
	content, err := it.Content()
	if err != nil {
		t.Fatal(err)
	}
	es := h.events(t, wire.Query{Type: phases.EventApproval})
	if len(es) != 3 {
		t.Fatalf("%+v", es)
	}
	seals := map[string]bool{}
	for n, what := range []string{"requested", "approved", "consumed"} {
		e := es[n]
		if e.Decision != what || e.Invocation != it.Invocation || e.Phase != it.Phase || e.Runtime != it.By.Runtime ||
			e.Session != it.By.Session || e.Agent != it.By.Agent || e.Tool != it.Tool ||
			e.PolicyRevision != "rev-1" || e.Binding != "asker" || e.HookDigest != it.Hooks[0].Digest || e.HookDigest == "" {
			t.Errorf("%s: %+v", what, e)
		}
		if n == 0 && (e.Reason != it.Reason || e.DecidedBy != "" || e.Signer != "") || n > 0 &&
			(e.Reason != "because" || e.DecidedBy != "dev" || e.Signer != it.Decision.Key || e.Signer == "") {
			t.Errorf("%s: %+v", what, e)
		}
		var out map[string]any
		if err := json.Unmarshal(e.Output, &out); err != nil {
			t.Fatal(err)
		}
		if out["approval"] != id || out["kind"] != string(it.Kind) || out["key"] != it.Key ||
			out["credential"] != it.By.Credential || out["content"] != content ||
			fmt.Sprint(out["hooks"]) != "[asker]" || out["expires"] != it.Expires.Format(time.RFC3339Nano) {
			t.Errorf("%s: %v", what, out)
		}
		seal, _ := out["seal"].(string)
		if (seal != "") != (n < 2) || seals[seal] {
			t.Errorf("%s: seal %q", what, seal)
		}
		seals[seal] = true
	}
	if n := es[2].Notes; len(n) != 1 || n[0] != "done" {
		t.Errorf("%v", n)
	}
}

// A decision that is refused is logged as an attempt, with its reason and no decision.
func TestRefusedDecisionsOnRecord(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	d := h.drafted(t, id, approvals.Approve, 2)
	it, err := h.DecideApproval(t.Context(), id, d)
	if !errors.Is(err, approvals.ErrSignature) || it.ID != id || it.State != approvals.Pending {
		t.Errorf("%+v, %v", it, err)
	}
	es := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "refused"})
	if len(es) != 1 || !strings.HasPrefix(es[0].Reason, "a decision was refused: ") || es[0].DecidedBy != "" {
		t.Errorf("%+v", es)
	}
	// A reason that holds a secret is refused before it is stored; it is no attempt at the queue.
	for _, reason := range []string{"because SECRET", "because\x00", "because EXPLODE",
		strings.Repeat("x", phases.MaxReasonBytes+1)} {
		it, err := h.Approval(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		d := h.drafted(t, id, approvals.Approve, 1)
		d.Reason = reason
		_ = approvals.Sign(&it, &d, reviewerKey(1))
		if got, err := h.DecideApproval(t.Context(), id, d); !errors.Is(err, approvals.ErrInvalid) || got.ID != id {
			t.Errorf("%q: %+v, %v", reason, got, err)
		}
	}
	if es := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "refused"}); len(es) != 1 {
		t.Errorf("%+v", es)
	}
	d = h.drafted(t, id, approvals.Deny, 1)
	if it, err := h.DecideApproval(t.Context(), id, d); err != nil || it.State != approvals.Denied ||
		it.Decision.By != "dev" {
		t.Errorf("%+v, %v", it, err)
	}
	if it, err := h.DecideApproval(t.Context(), id, d); !errors.Is(err, approvals.ErrDecided) || it.ID != id {
		t.Errorf("%+v, %v", it, err)
	}
	if it, err := h.DecideApproval(t.Context(), "none", d); !errors.Is(err, approvals.ErrUnknown) || it.ID != "" {
		t.Errorf("%+v, %v", it, err)
	}
}

// A lease by hand is refused, with a class and a reason, before anything is filed.
func TestLeasesByHandAreRefused(t *testing.T) {
	good := leases.Request{Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 60}
	for name, c := range map[string]struct {
		request func(*leases.Request)
		holder  func(*leases.Holder)
		want    error
		text    string
	}{
		"session": {holder: func(h *leases.Holder) { h.Session = "\n" }, want: leases.ErrInvalid,
			text: "holder"},
		"agent": {holder: func(h *leases.Holder) { h.Agent = "\n" }, want: leases.ErrInvalid,
			text: "holder"},
		"runtime": {holder: func(h *leases.Holder) { h.Runtime = "\n" }, want: leases.ErrInvalid,
			text: "holder"},
		"credential": {holder: func(h *leases.Holder) { h.Credential = "\n" }, want: leases.ErrInvalid,
			text: "holder"},
		"long runtime": {holder: func(h *leases.Holder) { h.Runtime = strings.Repeat("r", phases.MaxRuntimeBytes+1) },
			want: leases.ErrInvalid, text: "holder"},
		"no capability": {request: func(r *leases.Request) { r.Capability = "" }, want: leases.ErrInvalid,
			text: "capability"},
		"too long": {request: func(r *leases.Request) { r.TTLS = int64(leases.MaxLifetime/time.Second) + 1 },
			want: leases.ErrWider, text: ""},
		"a secret": {request: func(r *leases.Request) { r.Scope = &leases.Scope{Paths: phases.Scope{"/SECRET"}} },
			want: leases.ErrInvalid, text: "secret"},
		"an odd secret": {request: func(r *leases.Request) { r.Scope = &leases.Scope{Paths: phases.Scope{"/EXPLODE"}} },
			want: leases.ErrInvalid, text: "secret"},
	} {
		h := newHost(t, nil, reviewed)
		r, holder := good, ours
		if c.request != nil {
			c.request(&r)
		}
		if c.holder != nil {
			c.holder(&holder)
		}
		_, err := h.MintLease(t.Context(), r, holder, "dev")
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := h.Approvals(t.Context(), approvals.Query{}); err != nil || len(list) != 0 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
	long := ours
	long.Runtime = strings.Repeat("r", phases.MaxRuntimeBytes)
	h := newHost(t, nil)
	if _, err := h.MintLease(t.Context(), good, long, "dev"); err != nil {
		t.Error(err)
	}
	if err := (&kernel.LeasePending{Approval: approvals.Item{ID: "the-id"}}).Error(); err != "a reviewer has to approve it first (approval the-id)" {
		t.Error(err)
	}
}

// A lease by hand that a reviewer has denied is not asked for again, and an approval of
// something else makes none.
func TestLeasesByHandTakeTheirOwnApproval(t *testing.T) {
	keys := audit.Keys{}
	for _, u := range audit.Uses() {
		keys[u] = bytes.Repeat([]byte(u)[:1], 32)
	}
	keyOf := func(details, credential string) string {
		return keys.Digest(audit.UseApproval, []byte("lease by hand\x00"+details+"\x00"+credential))
	}
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Digester = keys })
	good := leases.Request{Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 60}
	_, err := h.MintLease(t.Context(), good, ours, "dev")
	var wait *kernel.LeasePending
	if !errors.As(err, &wait) || wait.Approval.Reason != "a lease by hand, wanted by dev" ||
		wait.Approval.By.Credential != "dev" || wait.Approval.Kind != approvals.KindLease {
		t.Fatalf("%v, %+v", err, wait)
	}
	if err := h.decide(t, wait.Approval.ID, approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.MintLease(t.Context(), good, ours, "dev"); !errors.Is(err, leases.ErrWider) ||
		!strings.Contains(err.Error(), wait.Approval.ID) {
		t.Errorf("%v", err)
	}
	if _, err := h.MintApproved(t.Context(), h.approved(t)); !errors.Is(err, leases.ErrInvalid) ||
		!strings.Contains(err.Error(), "not about a lease") {
		t.Errorf("%v", err)
	}
	for name, c := range map[string]struct {
		details string
		shown   bool // it is what its key says, though it makes no lease
	}{
		"more members": {`{"capability":"tool:write","scope":{},"ttl_s":60,"more":1}`, false},
		"no scope":     {`{"capability":"tool:write","scope":null,"ttl_s":60}`, true},
		"no object":    {`[]`, false},
	} {
		it, err := h.RequestApproval(t.Context(),
			approvals.Item{Kind: approvals.KindLease, Key: keyOf(c.details, "dev"), Reason: "r",
				By: approvals.Requester{Credential: "dev"}, Details: jsontext.Value(c.details)})
		if err != nil {
			t.Fatal(name, err)
		}
		if !c.shown {
			if _, err := h.Approval(t.Context(), it.ID); !errors.Is(err, approvals.ErrUnsound) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := h.MintApproved(t.Context(), it.ID); !errors.Is(err, approvals.ErrUnsound) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err := h.decide(t, it.ID, approvals.Approve, reviewerKey(1)); err != nil {
			t.Fatal(name, err)
		}
		if _, err := h.MintApproved(t.Context(), it.ID); !errors.Is(err, leases.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Without a holder in it the lease is of who asked.
	const terms = `{"capability":"tool:write","scope":{},"ttl_s":60}`
	it, err := h.RequestApproval(t.Context(),
		approvals.Item{Kind: approvals.KindLease, Key: keyOf(terms, "c-9"), Reason: "r",
			By:      approvals.Requester{Runtime: "custom", Session: "s-9", Agent: "a-9", Credential: "c-9"},
			Details: jsontext.Value(terms)})
	if err == nil {
		err = h.decide(t, it.ID, approvals.Approve, reviewerKey(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.MintApproved(t.Context(), it.ID)
	if err != nil || v.Token == "" {
		t.Fatalf("%+v, %v", v, err)
	}
	if v.Holder != (leases.Holder{Runtime: "custom", Session: "s-9", Agent: "a-9", Credential: "c-9"}) {
		t.Errorf("%+v", v.Holder)
	}
	e := h.events(t, wire.Query{Type: phases.EventLease})
	if len(e) != 1 || e[0].User != "dev" || len(e[0].Notes) != 1 || e[0].Notes[0] != "approval "+it.ID ||
		e[0].Session != "s-9" || e[0].Agent != "a-9" || e[0].Runtime != "custom" ||
		e[0].DecidedBy != leases.ByPerson || e[0].Reason != "lease "+v.ID || e[0].PolicyRevision != "rev-1" {
		t.Errorf("%+v", e)
	}
	if _, err := h.MintApproved(t.Context(), it.ID); !errors.Is(err, approvals.ErrDecided) {
		t.Errorf("again: %v", err)
	}
}

// Questions of a check from outside are refused with a class and a reason.
func TestCheckLeaseRefuses(t *testing.T) {
	h := newHost(t, nil)
	l := h.lend(t, leases.Request{ID: "s-1/a", MaxUses: 3})
	act := write("/srv/a")
	bad := act
	bad.Action = jsontext.Value(`{}`)
	for name, c := range map[string]struct {
		q    kernel.LeaseCheck
		want error
		text string
	}{
		"no capability": {kernel.LeaseCheck{Holder: ours, Action: &act}, leases.ErrInvalid, "capability"},
		"no action":     {kernel.LeaseCheck{Holder: ours, Capability: "tool:write"}, leases.ErrInvalid, "no action"},
		"a bad action": {kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &bad}, leases.ErrInvalid,
			"action: "},
	} {
		if _, err := h.CheckLease(t.Context(), c.q); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, err := h.CheckLease(t.Context(), kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &act})
	if err != nil || v.UsesLeft != 3 || v.Token != "" || v.ID != l.ID {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = h.CheckLease(t.Context(),
		kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &act, Claim: true}); err != nil || v.UsesLeft != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	if got, err := h.Lease(t.Context(), l.ID); err != nil || got.UsesLeft != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	es := h.events(t, wire.Query{Type: phases.EventLease, Decision: "claimed"})
	if len(es) != 1 || len(es[0].Notes) != 1 || es[0].Notes[0] != "by a check from outside" {
		t.Errorf("%+v", es)
	}
	if err := h.RevokeLease(t.Context(), l.ID, false, "dev"); err != nil {
		t.Fatal(err)
	}
	es = h.events(t, wire.Query{Type: phases.EventLease, Decision: "revoked"})
	if len(es) != 1 || es[0].User != "dev" || es[0].Session != "s-1" ||
		!strings.Contains(string(es[0].Output), `"state":"revoked"`) {
		t.Errorf("%+v %s", es, es[0].Output)
	}
	// A prefix that is revoked may match no lease; the event names it all the same.
	if err := h.RevokeLease(t.Context(), "s-7", true, "dev"); err != nil {
		t.Fatal(err)
	}
	es = h.events(t, wire.Query{Type: phases.EventLease, Decision: "revoked"})
	if len(es) != 2 || es[1].Reason != "lease s-7" || string(es[1].Output) != `{"what":"revoked","id":"s-7"}` {
		t.Errorf("%+v %s", es, es[len(es)-1].Output)
	}
	if err := h.RevokeLease(t.Context(), "s-7", false, "dev"); !errors.Is(err, leases.ErrUnknown) {
		t.Errorf("%v", err)
	}
}
