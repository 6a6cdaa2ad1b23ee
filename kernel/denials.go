package kernel

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// DecisionDeniedForAll is that of the notice of NoteDenied.
const DecisionDeniedForAll = "denied_for_all"

// DenialNote is the output of the notice of NoteDenied.
type DenialNote struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // sha256:<hex> of the denial, as other kernels read it
}

// NoteDenied logs that a person denies something for all kernels that share a store, and returns the number of the
// event. It has to be in the log before others are told. text says for people what is denied; it holds no secret. The
// error is ErrUnavailable or ErrClosed.
func (k *Kernel) NoteDenied(ctx context.Context, note DenialNote, text string) (seq int64, err error) {
	out, err := json.Marshal(&note)
	if err != nil {
		return 0, err
	}
	now := k.options.Clock.Now()
	r, err := k.commit(ctx, Batch{Now: now, Events: []phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: k.Revision(),
		Decision: DecisionDeniedForAll, Reason: phases.SafeText(text, phases.MaxReasonBytes), Output: out,
	}}})
	return r.First, err
}
