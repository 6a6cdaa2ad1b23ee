package belay

import (
	"context"

	"github.com/belay-hooks/belay/phases"
)

// noteDryRun stands in every verdict of a dry run.
const noteDryRun = "dry run: nothing of this is recorded, used up or carried out"

// unrecorded takes out of a dry run's verdict what names records that do not exist.
func (b *Belay) unrecorded(ctx context.Context, v phases.Verdict) phases.Verdict {
	if !b.o.DryRun {
		return v
	}
	v.Event = nil
	if v.Approval != nil {
		if it, err := b.storage.Store.Approval(ctx, v.Approval.ID); err != nil || it == nil {
			v.Approval = nil
		}
	}
	v.Notes = append(v.Notes, noteDryRun)
	return v
}
