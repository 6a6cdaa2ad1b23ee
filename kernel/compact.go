package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// ErrTooYoung: events that are to be compacted are younger than MinCompactionAge, or than
// belay.yaml says.
var ErrTooYoung = errors.New("the events are too young to be compacted")

// Compaction is the content of the event of a compaction.
type Compaction struct {
	Through   int64  `json:"through"`   // events 1 to this number
	Statement string `json:"statement"` // signed; made and verified elsewhere
}

// CompactOrder describes an order to compact the log.
type CompactOrder struct {
	Through int64 `json:"through"` // events 1 to this number
}

// CompactBy says who wants a compaction.
type CompactBy struct {
	By        string           // for the log; the reviewer's name where there is an order
	Why       string           // for the log
	Order     *approvals.Order // to VerbCompact, of CompactOrder; needed where a reviewer is registered
	Retention bool             // belay.yaml wants it, and no person
}

// Compact records that the contents of events 1 to compaction.Through are compacted; nothing is
// removed by it. The error is ErrTooYoung, of UseOrder, ErrConflict when others were
// faster, or ErrUnavailable.
func (k *Kernel) Compact(ctx context.Context, compaction Compaction, by CompactBy) (Receipt, error) {
	out, err := json.Marshal(compaction)
	if err != nil {
		return Receipt{}, err
	}
	now := k.options.Clock.Now()
	if err := k.oldEnough(ctx, compaction.Through, k.CalmTime()); err != nil {
		return Receipt{}, err
	}
	var used []phases.Event
	if !by.Retention {
		if used, err = k.UseOrder(ctx, queue.VerbCompact, CompactOrder{compaction.Through}, by.Order); err != nil {
			return Receipt{}, err
		}
	}
	if by.Order != nil {
		by.By = by.Order.By
	}
	// The first event of the batch is the one that announces the compaction.
	return k.commit(ctx, Batch{Now: now, Compact: compaction.Through, Events: append([]phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventCompaction, Time: now, User: phases.SafeLine(by.By, phases.MaxIDBytes),
		PolicyRevision: k.Revision(), Decision: "compacted", Reason: phases.SafeText(by.Why, phases.MaxReasonBytes),
		Output: out,
	}}, used...)})
}

// oldEnough refuses to give up an event that something still rests on.
func (k *Kernel) oldEnough(ctx context.Context, through int64, now time.Time) error {
	young, err := k.options.Store.Events(ctx, wire.Query{Since: now.Add(-MinCompactionAge), Limit: 1})
	if err != nil {
		return err
	}
	if len(young) > 0 && young[0].Seq <= through {
		return fmt.Errorf("%w: event %d is less than %v old", ErrTooYoung, young[0].Seq, MinCompactionAge)
	}
	return nil
}
