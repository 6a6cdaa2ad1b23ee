package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// underWay is how long an event may be older than the row that it records: the event comes first.
const underWay = time.Minute

// denials compares what all kernels deny with the events that record it, both ways.
func (v *verification) denials(ctx context.Context, rows []postgres.KernelRow) error {
	noted := map[string]string{} // where a denial is recorded, by its digest
	for i := range rows {
		if k := v.found(rows[i].Name); k != nil && k.Log != nil && k.Log.Wrong == nil { // else its events may not be readable
			if err := v.notes(ctx, &rows[i], noted); err != nil {
				return err
			}
		}
	}
	list, err := v.src.Denials(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		digest := phases.ByteDigest(d.Body)
		delete(noted, digest)
		k := v.found(d.By)
		if k == nil || k.Log == nil || d.Seq <= k.Log.Compacted {
			continue // nothing vouches for it, and that is said of the kernel already, or compacted
		}
		leaves, err := v.src.Log(d.Kernel).LogLeaves(ctx, d.Seq-1, 1)
		if err != nil {
			return err
		}
		var e phases.Event
		if len(leaves) == 0 || leaves[0].Seq != d.Seq || json.Unmarshal(leaves[0].Body, &e) != nil ||
			noteOf(&e) != (kernel.DenialNote{ID: uuid.UUID(d.Name).String(), Digest: digest}) {
			k.add(Forged, "row %d of what all kernels deny is not what event %d records", d.ID, d.Seq)
		}
	}
	for _, where := range noted {
		v.report.Shared.Denials = append(v.report.Shared.Denials, where+" denies something for all kernels, and no row says so")
	}
	slices.Sort(v.report.Shared.Denials)
	return nil
}

// notes collects the events of a kernel that record denials.
func (v *verification) notes(ctx context.Context, row *postgres.KernelRow, noted map[string]string) error {
	q := wire.Query{Type: phases.EventNotice, Decision: kernel.DecisionDeniedForAll, Limit: wire.MaxLimit}
	for {
		es, err := v.src.Log(row.ID).Events(ctx, q)
		if err != nil || len(es) == 0 {
			return err
		}
		for i := range es {
			q.After = es[i].Seq
			if note := noteOf(&es[i]); note.Digest != "" && v.now.Sub(es[i].Time) > underWay {
				noted[note.Digest] = fmt.Sprintf("event %d of kernel %s", es[i].Seq, row.Name)
			}
		}
	}
}

// noteOf returns what an event says of a denial; nothing if it is another one.
func noteOf(e *phases.Event) (n kernel.DenialNote) {
	if e.Type != phases.EventNotice || e.Decision != kernel.DecisionDeniedForAll ||
		json.Unmarshal(e.Output, &n, json.RejectUnknownMembers(true)) != nil {
		return kernel.DenialNote{}
	}
	return n
}

// found returns what was found out about a kernel so far.
func (v *verification) found(name string) *Kernel {
	for i := range v.report.Kernels {
		if k := &v.report.Kernels[i]; k.Name == name {
			return k
		}
	}
	return nil
}
