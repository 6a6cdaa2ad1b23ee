package kernel_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// reviewerKey returns the same key for the same number.
func reviewerKey(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return ed25519.NewKeyFromSeed(seed)
}

func reviewed(c *kernel.Config, _ *kernel.Options) {
	c.Reviewers = []approvals.Reviewer{{Name: "dev", Key: reviewerKey(1).Public().(ed25519.PublicKey)}}
}

func asking() []hook {
	return []hook{{name: "asker", caps: []string{"request_approval"}, run: effects(ask("it pushes SECRET"))}}
}

// decide signs and hands in a decision as a reviewer would.
func (h *host) decide(t testing.TB, id string, v approvals.Verdict, key ed25519.PrivateKey,
	change ...func(*approvals.Decision)) error {
	t.Helper()
	it, err := h.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := approvals.Draft(&it, v, "dev", "because", h.clock.Now(), queue.DefaultTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if key != nil {
		if err := approvals.Sign(&it, &d, key); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range change {
		c(&d)
	}
	_, err = h.DecideApproval(t.Context(), id, d)
	return err
}

func (h *host) approvalEvents(t *testing.T) string {
	t.Helper()
	var out []string
	for _, e := range h.events(t, wire.Query{Type: phases.EventApproval}) {
		out = append(out, e.Decision)
	}
	return strings.Join(out, " ")
}

// pending asks and returns the approval that waits.
func (h *host) pending(t *testing.T, inv phases.Invocation, o ...kernel.InvokeOptions) string {
	t.Helper()
	v := h.invoke(t, inv, o...)
	if v.Decision != phases.Ask || v.Approval == nil || v.Approval.ID == "" {
		t.Fatalf("%s %q approval %v, want an ask that waits", v.Decision, v.Reason, v.Approval)
	}
	return v.Approval.ID
}

func TestApprovedOnce(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	inv := invocation(phases.PreTool)
	inv.Action = jsontext.Value(`{"tool":"exec","call_id":"c-1","args":{"command":"git push SECRET"}}`)
	id := h.pending(t, inv)
	inv.Action = jsontext.Value(`{"tool":"exec","call_id":"c-2","args":{"command":"git push SECRET"}}`)
	if again := h.pending(t, inv); again != id {
		t.Errorf("the same question waits twice: %s %s", id, again)
	}
	it, err := h.Approval(t.Context(), id)
	if err != nil || it.Kind != approvals.KindAsk || it.Reason != "it pushes [redacted]" || it.Tool != "exec" ||
		len(it.Hooks) != 1 ||
		it.Hooks[0].Reason != "it pushes [redacted]" || strings.Contains(string(it.Action), "SECRET") ||
		!strings.Contains(string(it.Action), "git push") {
		t.Errorf("what the person sees: %+v %s, %v", it, it.Action, err)
	}
	if !it.Expires.Equal(h.clock.Now().Add(10 * time.Minute)) {
		t.Errorf("expires %v", it.Expires)
	}
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	v := h.invoke(t, inv)
	if v.Decision != phases.Allow || v.Approval != nil || v.Reason != "" ||
		!strings.Contains(strings.Join(v.Notes, " "), "approved by dev") {
		t.Errorf("%s %q notes %v", v.Decision, v.Reason, v.Notes)
	}
	if next := h.pending(t, inv); next == id {
		t.Error("an approval was used and is used again")
	}
	if got := h.approvalEvents(t); got != "requested approved consumed requested" {
		t.Errorf("logged: %s", got)
	}
	e := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "approved"})[0]
	if e.DecidedBy != "dev" || e.Signer == "" || e.Reason != "because" || e.Session != "s-1" ||
		!strings.Contains(string(e.Output), id) {
		t.Errorf("event %+v %s", e, e.Output)
	}
}

// An approval is for this question by this caller, and for nothing beside it.
func TestApprovalIsForOneQuestion(t *testing.T) {
	for name, change := range map[string]func(*phases.Invocation, *kernel.InvokeOptions){
		"another agent":      func(i *phases.Invocation, _ *kernel.InvokeOptions) { i.Agent = "other" },
		"another session":    func(i *phases.Invocation, _ *kernel.InvokeOptions) { i.Session = "s-2" },
		"another runtime":    func(i *phases.Invocation, _ *kernel.InvokeOptions) { i.Runtime = "x" },
		"another credential": func(_ *phases.Invocation, o *kernel.InvokeOptions) { o.Credential = "uid 1001" },
		"a changed action": func(i *phases.Invocation, _ *kernel.InvokeOptions) {
			i.Action = jsontext.Value(`{"tool":"exec","args":{"command":"ls "}}`)
		},
		"another tool": func(i *phases.Invocation, _ *kernel.InvokeOptions) {
			i.Action = jsontext.Value(`{"tool":"read","args":{"command":"ls"}}`)
		},
		"other scopes": func(i *phases.Invocation, o *kernel.InvokeOptions) {
			i.Scopes.FSRead, o.HoldsScopes = []string{"/srv/**"}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, asking(), reviewed)
			id := h.pending(t, invocation(phases.PreTool))
			if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			inv, o := invocation(phases.PreTool), kernel.InvokeOptions{}
			change(&inv, &o)
			if other := h.pending(t, inv, o); other == id {
				t.Error("it is taken for the same question")
			}
			if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
				t.Errorf("what was approved: %s", v.Decision)
			}
		})
	}
}

func TestDenied(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	if err := h.decide(t, id, approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	v := h.invoke(t, invocation(phases.PreTool))
	if v.Decision != phases.Block || v.Kind != phases.KindPolicy || v.Reason != "denied by dev: because" ||
		v.DecidedBy != "reviewer" || v.Approval != nil {
		t.Errorf("%+v", v)
	}
	h.clock.add(10 * time.Minute)
	if again := h.pending(t, invocation(phases.PreTool)); again == id {
		t.Error("a denial that holds no more is still pointed at")
	}
}

// Time running out is a no, and the question can be asked again.
func TestApprovalsRunOut(t *testing.T) {
	h := newHost(t, asking(), reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Timeout = time.Minute })
	first := h.pending(t, invocation(phases.PreTool))
	h.clock.add(time.Minute)
	if err := h.decide(t, first, approvals.Approve, reviewerKey(1)); !errors.Is(err, approvals.ErrExpired) {
		t.Errorf("deciding after the end: %v", err)
	}
	second := h.pending(t, invocation(phases.PreTool))
	if second == first {
		t.Fatal("what has run out still waits")
	}
	if err := h.decide(t, second, approvals.Approve, reviewerKey(1), func(d *approvals.Decision) {
		d.Until = d.At.Add(time.Minute)
	}); err == nil {
		t.Error("a decision that was changed after signing was taken")
	}
	it, _ := h.Approval(t.Context(), second)
	d, _ := approvals.Draft(&it, approvals.Approve, "dev", "", h.clock.Now(), time.Minute)
	if err := approvals.Sign(&it, &d, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.DecideApproval(t.Context(), second, d); err != nil {
		t.Fatal(err)
	}
	h.clock.add(time.Minute)
	if third := h.pending(t, invocation(phases.PreTool)); third == second {
		t.Error("an approval that nobody used in time is used")
	}
	h.clock.add(time.Minute)
	list, err := h.Approvals(t.Context(), approvals.Query{})
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, it := range list {
		if it.State != approvals.Expired {
			t.Errorf("%s is %s", it.ID, it.State)
		}
	}
	if got := h.approvalEvents(t); got != "requested expired requested refused approved expired requested expired" {
		t.Errorf("logged: %s", got)
	}
}

func TestDecisionsThatDoNotCount(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	inv := invocation(phases.PreTool)
	inv.Session = "s-2"
	other := h.pending(t, inv)
	otherItem, _ := h.Approval(t.Context(), other)
	for name, c := range map[string]struct {
		key    ed25519.PrivateKey
		change func(*approvals.Decision)
		want   error
	}{
		"not signed":         {nil, func(*approvals.Decision) {}, approvals.ErrSignature},
		"signed by somebody": {reviewerKey(2), func(*approvals.Decision) {}, approvals.ErrSignature},
		"under another name": {reviewerKey(1), func(d *approvals.Decision) { d.By = "boss" },
			approvals.ErrSignature},
		"a denial turned": {reviewerKey(1), func(d *approvals.Decision) { d.Verdict = approvals.Deny },
			approvals.ErrSignature},
		"another reason": {reviewerKey(1), func(d *approvals.Decision) { d.Reason = "x" },
			approvals.ErrSignature},
		"one bit": {reviewerKey(1), func(d *approvals.Decision) { d.Signature[7] ^= 1 },
			approvals.ErrSignature},
		"no signature": {reviewerKey(1), func(d *approvals.Decision) { d.Signature = nil },
			approvals.ErrSignature},
		"about something else": {reviewerKey(1), func(d *approvals.Decision) { d.Content, _ = otherItem.Content() },
			approvals.ErrContent},
		"a digest of nothing": {reviewerKey(1), func(d *approvals.Decision) { d.Content = "sha256:00" },
			approvals.ErrContent},
		"neither yes nor no": {reviewerKey(1), func(d *approvals.Decision) { d.Verdict = "consumed" },
			approvals.ErrInvalid},
		"from long ago": {reviewerKey(1), func(d *approvals.Decision) { d.At = d.At.Add(-time.Hour) },
			approvals.ErrInvalid},
		"from the future": {reviewerKey(1), func(d *approvals.Decision) {
			d.At = d.At.Add(time.Hour)
			d.Until = d.At.Add(time.Minute)
		}, approvals.ErrInvalid},
		"for ever": {reviewerKey(1), func(d *approvals.Decision) { d.Until = d.At.Add(1000 * time.Hour) },
			approvals.ErrInvalid},
		"over before it begins": {reviewerKey(1), func(d *approvals.Decision) { d.Until = d.At },
			approvals.ErrInvalid},
		"with a secret": {nil, nil, approvals.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if c.change == nil {
				it, _ := h.Approval(t.Context(), id)
				d, _ := approvals.Draft(&it, approvals.Approve, "dev", "the SECRET", h.clock.Now(), time.Minute)
				_ = approvals.Sign(&it, &d, reviewerKey(1))
				_, err = h.DecideApproval(t.Context(), id, d)
			} else {
				err = h.decide(t, id, approvals.Approve, c.key, c.change)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Ask {
				t.Errorf("and the action is %s", v.Decision)
			}
		})
	}
	if err := h.decide(t, id, approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	for _, v := range []approvals.Verdict{approvals.Approve, approvals.Deny} {
		if err := h.decide(t, id, v, reviewerKey(1)); !errors.Is(err, approvals.ErrDecided) {
			t.Errorf("decided twice: %v", err)
		}
	}
	if _, err := h.DecideApproval(t.Context(), "nobody", approvals.Decision{}); !errors.Is(err,
		approvals.ErrUnknown) {
		t.Errorf("unknown: %v", err)
	}
	if n := strings.Count(h.approvalEvents(t), "refused"); n != 9 {
		t.Errorf("%d attempts logged, want 9", n)
	}
}

// Who can write the store can write "approved", and gets a block for it.
func TestForgedApprovalBlocks(t *testing.T) {
	for name, forge := range map[string]func(*approvals.Item, *approvals.Decision){
		"not signed":    func(*approvals.Item, *approvals.Decision) {},
		"another's key": func(it *approvals.Item, d *approvals.Decision) { _ = approvals.Sign(it, d, reviewerKey(9)) },
		"a signed denial": func(it *approvals.Item, d *approvals.Decision) {
			d.Verdict = approvals.Deny
			_ = approvals.Sign(it, d, reviewerKey(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, asking(), reviewed)
			id := h.pending(t, invocation(phases.PreTool))
			it, _ := h.Approval(t.Context(), id)
			d, _ := approvals.Draft(&it, approvals.Approve, "dev", "", h.clock.Now(), time.Minute)
			forge(&it, &d)
			_, err := h.store.Commit(t.Context(),
				kernel.Batch{Now: h.clock.Now(), Events: meanwhile(), Approvals: []approvals.Op{
					{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Approved, Decision: &d,
						At: wall(h.clock.Now())}}}})
			if err != nil {
				t.Fatal(err)
			}
			v := h.fails(t, invocation(phases.PreTool), phases.KindStore)
			if !strings.Contains(v.Reason, "approved") {
				t.Errorf("reason %q", v.Reason)
			}
			if got := h.events(t, wire.Query{Type: phases.EventVerdict, Decision: "block"}); len(got) != 1 ||
				got[0].Kind != phases.KindStore {
				t.Errorf("logged: %+v", got)
			}
		})
	}
}

func TestWithoutReviewersNothingIsApproved(t *testing.T) {
	h := newHost(t, asking())
	id := h.pending(t, invocation(phases.PreTool))
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("%v", err)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Ask {
		t.Errorf("%s", v.Decision)
	}
	open := newHost(t, asking(), func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Unsigned = true })
	id = open.pending(t, invocation(phases.PreTool))
	if err := open.decide(t, id, approvals.Approve, nil); err != nil {
		t.Errorf("the operator takes decisions without a signature: %v", err)
	}
	if v := open.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("%s", v.Decision)
	}
	// With a reviewer, unsigned decisions do not count whatever else is said.
	both := newHost(t, asking(), reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Unsigned = true })
	id = both.pending(t, invocation(phases.PreTool))
	if err := both.decide(t, id, approvals.Approve, nil); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("%v", err)
	}
}

func TestAsksWithoutItems(t *testing.T) {
	observed := asking()
	observed[0].mode = phases.Observe
	for name, c := range map[string]struct {
		hooks    []hook
		o        kernel.InvokeOptions
		decision phases.Decision
		enforced phases.Enforced
	}{
		"the runtime asks":    {asking(), kernel.InvokeOptions{Delegated: true}, phases.Ask, phases.EnforcedDelegated},
		"nobody can be asked": {asking(), kernel.InvokeOptions{Unblockable: true}, phases.Block, phases.EnforcedLatched},
		"observed only":       {observed, kernel.InvokeOptions{}, phases.Allow, phases.EnforcedDirect},
		"another hook blocks": {append(asking(), hook{name: "z", caps: []string{"block"}, run: effects(block("no"))}),
			kernel.InvokeOptions{}, phases.Block, phases.EnforcedDirect},
		"audit fails after it": {append(asking(),
			hook{name: "z", phases: []phases.Phase{phases.Audit}, run: failing(phases.KindTrap)}), kernel.InvokeOptions{},
			phases.Block, phases.EnforcedDirect},
	} {
		h := newHost(t, c.hooks, reviewed)
		v, _ := h.InvokeWith(t.Context(), invocation(phases.PreTool), c.o)
		if v.Decision != c.decision || v.Enforced != c.enforced || v.Approval != nil {
			t.Errorf("%s: %s %s %v", name, v.Decision, v.Enforced, v.Approval)
		}
		if list, err := h.Approvals(t.Context(), approvals.Query{}); err != nil || len(list) != 0 {
			t.Errorf("%s: in the queue: %v, %v", name, list, err)
		}
	}
}

// An invocation that is blocked after its approval does not use the approval up.
func TestApprovalSurvivesABlock(t *testing.T) {
	fail := new(atomic.Bool)
	h := newHost(t,
		append(asking(),
			hook{name: "z", phases: []phases.Phase{phases.Audit}, run: func(kernel.Turn) (kernel.Outcome, error) {
				if fail.Load() {
					return kernel.Outcome{}, phases.NewFault(phases.KindTrap, "it failed", nil)
				}
				return kernel.Outcome{}, nil
			}}), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	fail.Store(true)
	h.fails(t, invocation(phases.PreTool), phases.KindAudit)
	fail.Store(false)
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("%s", v.Decision)
	}
}

// Of many that come at once with the same approved action, one passes.
func TestApprovalPassesOneOfMany(t *testing.T) {
	h := newHost(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var passed, waiting atomic.Int64
	for range 32 {
		wg.Go(func() {
			v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
			switch {
			case err != nil:
				t.Error(err)
			case v.Decision == phases.Allow:
				passed.Add(1)
			case v.Decision == phases.Ask && v.Approval.ID != id:
				waiting.Add(1)
			default:
				t.Errorf("%s %v", v.Decision, v.Approval)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 1 || waiting.Load() != 31 {
		t.Errorf("%d passed, %d wait", passed.Load(), waiting.Load())
	}
	list, _ := h.Approvals(t.Context(), approvals.Query{State: approvals.Pending})
	if len(list) != 1 {
		t.Errorf("%d items for one question", len(list))
	}
}
