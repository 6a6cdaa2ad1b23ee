package kernel

import (
	"context"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// RecordOrder describes an order to record originals: how much, and where they go.
type RecordOrder struct {
	Seconds     int64  `json:"seconds"`
	Count       int64  `json:"count"`
	Destination string `json:"destination"` // digest of directory and recipients, as the client says
}

// BeginRecording records that originals are about to be handed out. Where a reviewer is
// registered it takes an order to VerbRecord that says r. The error is ErrClosed, of
// UseOrder, or ErrUnavailable: then nothing may be handed out.
func (k *Kernel) BeginRecording(ctx context.Context, r RecordOrder, o *approvals.Order, text string) error {
	used, err := k.UseOrder(ctx, queue.VerbRecord, r, o)
	if err != nil {
		return err
	}
	now := k.options.Clock.Now()
	_, err = k.commit(ctx, Batch{Now: now, Events: append([]phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: k.Revision(),
		Reason: phases.SafeText(text, phases.MaxReasonBytes),
	}}, used...)})
	return err
}
