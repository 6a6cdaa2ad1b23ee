package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// differs is a comparison of the session with that many findings.
func differs(session string, found int) *wire.Reconciliation {
	r := &wire.Reconciliation{Runtime: "test", Session: session, Log: "/logs/" + session, Status: wire.ReconcileAgrees,
		Calls: 3, Verdicts: 3, Found: found}
	if found > 0 {
		r.Status = wire.ReconcileDiffers
	}
	for range found {
		r.List = append(r.List, wire.Finding{Kind: wire.FindingUnasked, Call: "c", Tool: "Bash"})
	}
	return r
}

func (h *host) comparisons(t *testing.T) []phases.Event {
	t.Helper()
	list, err := h.Events(t.Context(), wire.Query{Type: phases.EventReconcile})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A comparison is an event, one that says the same is none, and the newest one of each session counts.
func TestReconciledIsLogged(t *testing.T) {
	h := newHost(t, nil)
	for _, r := range []*wire.Reconciliation{differs("a", 0), differs("a", 0), differs("a", 2), differs("a", 2),
		differs("b", 0), {Runtime: "test", Session: "c", Status: wire.ReconcileUnknown, Unknown: 1, Why: []string{"why"}}} {
		if err := h.Reconciled(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	list := h.comparisons(t)
	if len(list) != 4 {
		t.Fatalf("%d events", len(list))
	}
	if e := list[1]; e.Decision != "differs" || e.Kind != phases.KindMismatch || e.Session != "a" ||
		!strings.Contains(e.Reason, "2 places") || !strings.Contains(string(e.Output), `"found":2`) {
		t.Errorf("%+v", e)
	}
	if list[3].Decision != "unknown" || !strings.Contains(list[3].Reason, "why") {
		t.Errorf("%+v", list[3])
	}
	n, err := h.Reconciliations(t.Context())
	want := wire.Reconciled{Sessions: 3, Agree: 1, Unknown: 1, Differ: 1, Calls: 6, Found: 2}
	if err != nil || n != want {
		t.Errorf("%+v, %v, want %+v", n, err, want)
	}
	if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 0 {
		t.Errorf("without the setting: %+v, %v", latches, err)
	}
}

// With the setting new findings latch the session, and no other; what a person clears is not latched again for
// the same findings.
func TestReconciledLatches(t *testing.T) {
	h := newHost(t, nil, func(cfg *kernel.Config, _ *kernel.Options) { cfg.LatchReconcile = true })
	report := func(r *wire.Reconciliation, latched int) {
		t.Helper()
		if err := h.Reconciled(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		latches, err := h.Latches(t.Context())
		if err != nil || len(latches) != latched || latched > 0 && latches[0].Session != "a" {
			t.Fatalf("%+v, %v", latches, err)
		}
	}
	report(differs("a", 0), 0)
	report(differs("a", 1), 1)
	if err := h.ClearLatch(t.Context(), wire.Session{Runtime: "test", Session: "a"}, "me", nil); err != nil {
		t.Fatal(err)
	}
	same := differs("a", 1)
	same.Calls = 9 // another event
	report(same, 0)
	report(differs("a", 2), 1)
	report(differs("b", 0), 1)
	unnamed := differs("", 5)
	report(unnamed, 1)
}

// What the runtime's log says is text of the agent: secrets in it are redacted, and lines stay lines.
func TestReconciledIsRedacted(t *testing.T) {
	h := newHost(t, nil)
	const secret = "a SECRET"
	r := differs("a", 1)
	r.List[0].Tool, r.List[0].Call, r.Log = secret, "two\nlines", "/"+secret
	if err := h.Reconciled(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	text := string(h.comparisons(t)[0].Output)
	if strings.Contains(text, "SECRET") || strings.Contains(text, `\n`) || !strings.Contains(text, "two") {
		t.Error(text)
	}
	if r.List[0].Tool != secret {
		t.Error("the caller's own was changed")
	}
}

// After the end nothing is logged, and that is an error.
func TestReconciledAfterClose(t *testing.T) {
	h := newHost(t, nil)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Reconciled(t.Context(), differs("a", 1)); !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("%v", err)
	}
}
