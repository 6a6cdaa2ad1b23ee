package kernel

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Compaction is what the event of a compaction says.
type Compaction struct {
	Through   int64  `json:"through"`   // events 1 to this number
	Statement string `json:"statement"` // signed; made and verified elsewhere
}

// Compact records that the contents of events 1 to c.Through are given up; nothing is
// removed by it. The error is ErrConflict when others were faster, or ErrUnavailable.
func (k *Kernel) Compact(ctx context.Context, c Compaction, by, why string) (Receipt, error) {
	out, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return Receipt{}, err
	}
	now := k.o.Clock.Now()
	return k.commit(ctx, Batch{Now: now, Compact: c.Through, Events: []phases.Event{{
		ID: k.o.NewID(now), Type: phases.EventCompaction, Time: now, User: phases.SafeLine(by, phases.MaxIDBytes),
		PolicyRevision: k.Revision(), Decision: "compacted", Reason: phases.SafeText(why, phases.MaxReasonBytes), Output: out,
	}}})
}
