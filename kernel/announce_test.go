package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// announcing is a configuration that asks what to log, as often as it is asked.
func announcing(revision string, err *error, logged *[]bool) change {
	return func(cfg *kernel.Config, _ *kernel.Options) {
		cfg.Revision = revision
		cfg.Announce = func(context.Context) (*kernel.Announcement, error) {
			if *err != nil {
				return nil, *err
			}
			if len(*logged) > 0 && (*logged)[len(*logged)-1] {
				return nil, nil
			}
			return &kernel.Announcement{Text: "what changed", Data: jsontext.Value(`{"after":"` + revision + `"}`),
				Done: func(ok bool) { *logged = append(*logged, ok) }}, nil
		}
	}
}

// What changed is logged before anything that the configuration decides, once.
func TestAnnouncedBeforeAnythingElse(t *testing.T) {
	var none error
	var logged []bool
	h := newHost(t, []hook{{name: "a"}}, announcing("rev-1", &none, &logged))
	h.invoke(t, invocation(phases.PreTool))
	es := h.events(t, wire.Query{})
	e := es[0]
	if e.Type != phases.EventNotice || e.Decision != kernel.DecisionConfigured || e.PolicyRevision != "rev-1" ||
		string(e.Output) != `{"after":"rev-1"}` || !strings.Contains(e.Reason, "rev-1: what changed") {
		t.Errorf("the first event is %+v", e)
	}
	if n := len(h.events(t, wire.Query{Decision: kernel.DecisionConfigured})); n != 1 || len(logged) != 1 ||
		!logged[0] {
		t.Errorf("%d times in the log, %v", n, logged)
	}

	cfg := configOf(h.loader.hooks)
	logged = nil
	announcing("rev-2", &none, &logged)(cfg, nil)
	if err := h.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if es := h.events(t, wire.Query{Decision: kernel.DecisionConfigured}); len(es) != 2 ||
		es[1].PolicyRevision != "rev-2" || !strings.HasPrefix(es[1].Reason, "configuration in use: rev-2") {
		t.Errorf("after Reload: %+v", es)
	}
	if len(logged) != 1 || !logged[0] {
		t.Errorf("who announces is told %v after Reload", logged)
	}
	none = errors.New("the log cannot be read")
	if err := h.Reload(t.Context(), cfg); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Reload of what cannot be announced: %v", err)
	}
}

// As long as what changed cannot be logged, nothing is decided.
func TestNothingIsDecidedUnannounced(t *testing.T) {
	down := errors.New("the log cannot be read")
	var logged []bool
	h := newHost(t, []hook{{name: "a"}}, announcing("rev-1", &down, &logged))
	h.fails(t, invocation(phases.PreTool), phases.KindStore)
	if len(logged) != 0 {
		t.Errorf("%v", logged)
	}
	down = nil
	h.invoke(t, invocation(phases.PreTool))
	es := h.events(t, wire.Query{Decision: kernel.DecisionConfigured})
	verdicts := h.events(t, wire.Query{Type: phases.EventVerdict})
	if len(es) != 1 || len(verdicts) == 0 || es[0].Seq > verdicts[0].Seq {
		t.Errorf("announced %+v, decided %+v", es, verdicts)
	}
}

// The configuration is accepted by an order of a reviewer for exactly the revision in
// use, and the log says by whom.
func TestAcceptConfigTakesAnOrder(t *testing.T) {
	h := newHost(t, nil, reviewed, inStore)
	rev := kernel.ConfigOrder{Revision: "rev-1"}
	for name, row := range map[string]struct {
		revision string
		order    *approvals.Order
		want     error
	}{
		"none": {"rev-1", nil, approvals.ErrSignature},
		"an agent's key": {"rev-1", h.signed(t, queue.VerbConfigAccept, rev, reviewerKey(2)),
			approvals.ErrSignature},
		"for another one": {"rev-1",
			h.signed(t, queue.VerbConfigAccept, kernel.ConfigOrder{Revision: "rev-0"}, reviewerKey(1)),
			approvals.ErrContent},
		"for another verb": {"rev-1", h.signed(t, queue.VerbRecord, rev, reviewerKey(1)), approvals.ErrContent},
		"not in use": {"rev-0",
			h.signed(t, queue.VerbConfigAccept, kernel.ConfigOrder{Revision: "rev-0"}, reviewerKey(1)), kernel.ErrConflict},
	} {
		if err := h.AcceptConfig(t.Context(), row.revision, "uid 1", row.order); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
	if es := h.events(t, wire.Query{Decision: kernel.DecisionAccepted}); len(es) != 0 {
		t.Errorf("accepted: %+v", es)
	}
	o := h.signed(t, queue.VerbConfigAccept, rev, reviewerKey(1))
	if err := h.AcceptConfig(t.Context(), "rev-1", "uid 1", o); err != nil {
		t.Fatal(err)
	}
	if err := h.AcceptConfig(t.Context(), "rev-1", "uid 1", o); !errors.Is(err, approvals.ErrDecided) {
		t.Errorf("the same order again: %v", err)
	}
	if es := h.events(t, wire.Query{Decision: kernel.DecisionAccepted}); len(es) != 1 || es[0].User != "dev" ||
		es[0].PolicyRevision != "rev-1" {
		t.Errorf("%+v", es)
	}
}
