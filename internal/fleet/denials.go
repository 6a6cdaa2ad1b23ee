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

// maxUntold is how many events are named that record a denial of which no row says so, and how many rows of one kernel
// that no event records. A kernel can write as many of them as it likes.
const maxUntold = 100

// denials compares what all kernels deny with the events that record it, both ways.
func (v *verification) denials(ctx context.Context, rows []postgres.KernelRow) error {
	told, err := v.told(ctx)
	if err != nil {
		return err
	}
	var untold untold
	for i := range rows {
		if k := v.found(rows[i].Name); k != nil && k.Log != nil && k.Log.Wrong == nil { // else its events may not be readable
			if err := v.notes(ctx, &rows[i], told, &untold); err != nil {
				return err
			}
		}
	}
	forged := map[*Kernel]int{}     // rows of it that no event records
	list, err := v.src.Denials(ctx) // once more: a row may have come after it was looked for
	if err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		digest := phases.ByteDigest(d.Body)
		untold.forget(digest)
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
			if forged[k]++; forged[k] <= maxUntold {
				k.add(Forged, "row %d of what all kernels deny is not what event %d records", d.ID, d.Seq)
			}
		}
	}
	for k, n := range forged {
		if n > maxUntold {
			k.add(Forged, "and so are %d more rows of what all kernels deny", n-maxUntold)
		}
	}
	v.report.Shared.Denials = untold.named()
	return nil
}

// told returns the digests of what the rows deny.
func (v *verification) told(ctx context.Context) (map[string]bool, error) {
	list, err := v.src.Denials(ctx)
	out := map[string]bool{}
	for i := range list {
		out[phases.ByteDigest(list[i].Body)] = true
	}
	return out, err
}

// untold are events that record a denial of which no row says so: the first ones, and how many more there are.
type untold struct {
	list []event
	more int
}

type event struct{ digest, where string }

func (u *untold) add(e event) {
	if len(u.list) == maxUntold {
		u.more++
		return
	}
	u.list = append(u.list, e)
}

// forget takes a denial for told after all.
func (u *untold) forget(digest string) {
	u.list = slices.DeleteFunc(u.list, func(e event) bool { return e.digest == digest })
}

func (u *untold) named() (out []string) {
	for _, e := range u.list {
		out = append(out, e.where+" denies something for all kernels, and no row says so")
	}
	slices.Sort(out)
	if u.more > 0 {
		out = append(out, fmt.Sprintf("and %d more events deny something of which no row says so", u.more))
	}
	return out
}

// notes looks for events of a kernel that record denials, and no row does.
func (v *verification) notes(ctx context.Context, row *postgres.KernelRow, told map[string]bool, out *untold) error {
	q := wire.Query{Type: phases.EventNotice, Decision: kernel.DecisionDeniedForAll, Limit: wire.MaxLimit}
	for {
		es, err := v.src.Log(row.ID).Events(ctx, q)
		if err != nil || len(es) == 0 {
			return err
		}
		for i := range es {
			q.After = es[i].Seq
			note := noteOf(&es[i])
			if note.Digest != "" && !told[note.Digest] && v.now.Sub(es[i].Time) > underWay {
				out.add(event{note.Digest, fmt.Sprintf("event %d of kernel %s", es[i].Seq, row.Name)})
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
