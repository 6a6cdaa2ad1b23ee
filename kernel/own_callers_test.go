package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// changing is a host that calls a function of the test whenever it looks at its clock:
// in the middle of a call, as a caller's other thread would.
func changing(t *testing.T, changes ...change) (h *host, during *func()) {
	t.Helper()
	during = new(func())
	changes = append(changes, func(_ *kernel.Config, o *kernel.Options) { o.Clock = clockFunc{o.Clock, during} })
	return newHost(t, nil, changes...), during
}

// A refusal is recorded as it came in: names, and the digest of the bytes.
func TestRefusedBufferIsUsedAgain(t *testing.T) {
	digest := func(again bool) string {
		h, during := changing(t, forged(nil)) // with keys that are the same in both
		session, raw := buffer("session-a"), buffer(`{"not":"read"}`)
		if again {
			*during = func() { session.next(); raw.next() }
		}
		v, err := h.Refuse(t.Context(), kernel.Refusal{Raw: raw, Unread: true, Unblockable: true,
			Invocation: phases.Invocation{Phase: phases.PostTool, Runtime: "custom", Session: session.text()}})
		if err == nil || v.Decision != phases.Block {
			t.Fatalf("%s, %v", v.Decision, err)
		}
		session.next()
		raw.next()
		es := h.events(t, wire.Query{Invocation: v.ID})
		if len(es) != 2 || es[0].Session != "session-a" || es[1].Session != "session-a" {
			t.Errorf("recorded: %+v", es)
		}
		list, err := h.Latches(t.Context())
		if err != nil || len(list) != 1 || list[0].Session != "session-a" {
			t.Errorf("latched: %+v, %v", list, err)
		}
		return es[0].InputDigest
	}
	if a, b := digest(false), digest(true); a != b || a == "" {
		t.Errorf("the digest is of the caller's next message: %q, %q", a, b)
	}
}

// A proposal is filed as it came in, and signed as that.
func TestProposedBufferIsUsedAgain(t *testing.T) {
	h, during := changing(t, reviewed)
	want := proposal("guard")
	want.Notes, want.Scopes = []string{"a note"}, &phases.Scopes{FSRead: phases.Scope{"/docs/**"}}
	before, err := json.Marshal([]any{want.Details, want.Hooks, want.Notes, want.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	*during = func() {
		copy(want.Details, strings.ReplaceAll(string(want.Details), "block", "grant"))
		want.Hooks[0].Hook, want.Notes[0], want.Scopes.FSRead[0] = "other", "other", "/**"
	}
	it, err := h.RequestApproval(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	(*during)()
	shown, err := h.Approval(t.Context(), it.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range []approvals.Item{it, shown} {
		if now, err := json.Marshal([]any{it.Details, it.Hooks, it.Notes, it.Scopes}); err != nil ||
			string(now) != string(before) {
			t.Errorf("%s, %v\nwant %s", now, err, before)
		}
	}
	*during = nil
	d, err := approvals.Draft(&shown, approvals.Approve, "dev", "because", h.clock.Now(), queue.DefaultTimeout)
	if err == nil {
		err = approvals.Sign(&shown, &d, reviewerKey(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	*during = func() {
		for i := range d.Signature {
			d.Signature[i] = 0
		}
	}
	if _, err := h.DecideApproval(t.Context(), it.ID, d); err != nil {
		t.Errorf("a signature that its caller overwrites meanwhile: %v", err)
	}
	*during = nil
	if _, err := h.CheckApproval(t.Context(), it.ID); err != nil {
		t.Errorf("what is stored is the caller's next message: %v", err)
	}
}

// A lease is minted, and shown to a reviewer, for what the caller wanted.
func TestLentBufferIsUsedAgain(t *testing.T) {
	for name, changes := range map[string][]change{"minted": nil, "asked for": {reviewed}} {
		t.Run(name, func(t *testing.T) {
			h, during := changing(t, changes...)
			capability := buffer("tool:write")
			scope := &leases.Scope{Paths: phases.Scope{"/srv/**"}}
			*during = func() { scope.Paths[0] = "/**"; copy(capability, "tool:admin") }
			v, err := h.MintLease(t.Context(), leases.Request{Capability: capability.text(), Scope: scope, TTLS: 60}, ours,
				"dev")
			(*during)()
			var wait *kernel.LeasePending
			switch {
			case errors.As(err, &wait):
				it, err := h.Approval(t.Context(), wait.Approval.ID)
				if err != nil || !strings.Contains(string(it.Details), `"/srv/**"`) ||
					!strings.Contains(string(it.Details), "tool:write") {
					t.Errorf("%s, %v", it.Details, err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				now, err := h.Lease(t.Context(), v.ID)
				if err != nil {
					t.Fatal(err)
				}
				raw, _ := json.Marshal([]any{v, now, h.events(t, wire.Query{Type: phases.EventLease})})
				if s := string(jsontext.Value(raw)); strings.Contains(s, `"/**"`) || strings.Contains(s, "tool:admin") ||
					!strings.Contains(s, `"/srv/**"`) {
					t.Errorf("%s", s)
				}
			}
		})
	}
}
