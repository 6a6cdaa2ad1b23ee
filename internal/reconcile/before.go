package reconcile

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Before returns the newest comparison of the session that is logged, the zero value where there is none.
func Before(ctx context.Context, events interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}, runtime, session string) (wire.Reconciliation, error) {
	list, err := events.Events(ctx, wire.Query{Type: phases.EventReconcile, Runtime: runtime, Session: session,
		Newest: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return wire.Reconciliation{}, err
	}
	r, _ := Of(&list[0])
	return r, nil
}

// Of reads the comparison that an event records; ok is false for an event whose contents are gone.
func Of(e *phases.Event) (r wire.Reconciliation, ok bool) {
	return r, e.Type == phases.EventReconcile && json.Unmarshal(e.Output, &r) == nil
}
