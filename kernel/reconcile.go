package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Reconciled logs what the comparison of a session's log with belay's has come to. A comparison that says the
// same as the newest one of the session is not logged again. With Config.LatchReconcile, one that has more
// findings than that latches the session. Texts of the runtime's log are redacted. The error is ErrUnavailable
// or ErrClosed.
func (k *Kernel) Reconciled(ctx context.Context, r *wire.Reconciliation) error {
	s := k.snapshot()
	if s == nil {
		return ErrClosed
	}
	err := k.reconciled(ctx, s, r)
	return errors.Join(err, s.release())
}

func (k *Kernel) reconciled(ctx context.Context, s *snapshot, r *wire.Reconciliation) error {
	named := k.namesOnly(phases.Invocation{Runtime: r.Runtime, Session: r.Session}, k.options.Clock.Now())
	out := k.redactedReconciliation(r)
	text, err := json.Marshal(&out)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	newest, err := k.Events(ctx, wire.Query{Type: phases.EventReconcile, Runtime: named.Runtime, Session: named.Session,
		Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	var before wire.Reconciliation
	if len(newest) > 0 && json.Unmarshal(newest[0].Output, &before) == nil && slices.Equal(newest[0].Output, text) {
		return nil
	}
	now := k.options.Clock.Now()
	e := phases.Event{ID: k.options.NewID(now), Type: phases.EventReconcile, Time: now, Runtime: named.Runtime,
		Session: named.Session, PolicyRevision: s.revision, Decision: string(r.Status), Reason: reconciledReason(&out),
		DecidedBy: kernelName, Output: text}
	if r.Status == wire.ReconcileDiffers {
		e.Kind = phases.KindMismatch
	}
	batch := Batch{Now: now, Events: []phases.Event{e}}
	if s.reconcile && r.Found > before.Found && named.Session != "" {
		k.latch(&batch, &e, phases.LatchDecision, phases.EndsByPerson)
	}
	if err := k.recoverGap(ctx, s.revision); err != nil {
		return err
	}
	_, err = k.commit(ctx, batch)
	return err
}

// redactedReconciliation is the comparison as it is stored: names of the runtime's log come from the agent.
func (k *Kernel) redactedReconciliation(r *wire.Reconciliation) wire.Reconciliation {
	safe := func(text string) string { return phases.SafeLine(k.redactText(text), phases.MaxIDBytes) }
	out := *r
	out.Log = phases.SafeLine(k.redactText(r.Log), phases.MaxReasonBytes)
	out.List = slices.Clone(r.List)
	for i := range out.List {
		f := &out.List[i]
		f.Call, f.Tool, f.Log = safe(f.Call), safe(f.Tool), phases.SafeLine(k.redactText(f.Log), phases.MaxReasonBytes)
	}
	return out
}

// reconciledReason says in words what a comparison has come to.
func reconciledReason(r *wire.Reconciliation) string {
	switch r.Status {
	case wire.ReconcileDiffers:
		text := fmt.Sprintf("the runtime's log and belay's differ in %d places: %s", r.Found, r.List[0].Kind.Text())
		if r.Found == 1 {
			text = "the runtime's log and belay's differ: " + r.List[0].Kind.Text()
		}
		return text
	case wire.ReconcileUnknown:
		text := "not all of the runtime's log could be compared"
		if len(r.Why) > 0 {
			text += ": " + r.Why[0]
		}
		return text
	}
	return fmt.Sprintf("%d calls of the runtime's log agree with belay's", r.Calls)
}

// ReconcileFor is how long a comparison counts in the status.
const ReconcileFor = 7 * 24 * time.Hour

// reconcileLimit is how many comparisons the status looks at.
const reconcileLimit = 1000

// Reconciliations counts the sessions whose newest comparison is of the last ReconcileFor, by what it came to.
// It looks at the newest 1000 comparisons. The error is ErrUnavailable.
func (k *Kernel) Reconciliations(ctx context.Context) (n wire.Reconciled, err error) {
	list, err := k.Events(ctx, wire.Query{Type: phases.EventReconcile, Newest: true, Limit: reconcileLimit,
		Since: k.options.Clock.Now().Add(-ReconcileFor)})
	seen := map[wire.Session]bool{}
	for _, e := range slices.Backward(list) {
		key := wire.Session{Runtime: e.Runtime, Session: e.Session}
		if seen[key] {
			continue
		}
		seen[key] = true
		var r wire.Reconciliation
		if json.Unmarshal(e.Output, &r) == nil {
			n.Calls += r.Calls
			n.Found += r.Found
		}
		switch n.Sessions++; wire.ReconcileStatus(e.Decision) {
		case wire.ReconcileAgrees:
			n.Agree++
		case wire.ReconcileDiffers:
			n.Differ++
		default:
			n.Unknown++
		}
	}
	return n, err
}
