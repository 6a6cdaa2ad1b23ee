package eventlog

import (
	"cmp"
	"context"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// keepRecorded is how many of the newest digests are held against the statements of compactions, which
// name one that was the newest a moment before.
const keepRecorded = 256

// record looks at what an event records of the rows that restrict.
func (v *verifier) record(e *phases.Event, body []byte) {
	if e.Type == phases.EventNotice && e.Decision == kernel.DecisionAdopted {
		var a kernel.Adoption
		var whole phases.Event
		err := json.Unmarshal(body, &whole)
		if err == nil {
			err = json.Unmarshal(whole.Output, &a, json.RejectUnknownMembers(true))
		}
		if err != nil {
			v.wrong(e.Seq, e.Seq, "event %d does not say after which event it adopts what restricts", e.Seq)
			return
		}
		if v.since > 0 && v.since <= a.After {
			v.wrong(e.Seq, e.Seq, "event %d adopts what restricts, which event %d had recorded before", e.Seq, v.since)
			return
		}
	}
	if e.Restrictions == "" {
		return // not the last of its batch
	}
	if _, ok := restrict.Parse(e.Restrictions); !ok {
		v.wrong(e.Seq, e.Seq, "event %d records no digest of what restricts", e.Seq)
		return
	}
	v.records = e.Seq
	v.since = cmp.Or(v.since, e.Seq)
	v.recorded[e.Seq] = e.Restrictions
	delete(v.recorded, e.Seq-keepRecorded)
}

// restrictions compares the rows that restrict with what the newest event records of them.
func (v *verifier) restrictions(ctx context.Context) error {
	r, err := v.log.Restrictions(ctx)
	if err != nil {
		return err
	}
	v.report.Restrictions = r.Recorded
	switch {
	case r.Tampered != nil:
		text := r.Tampered.Error()
		if names := lost(ctx, v.log, v.ev.Verifier, r.Latches); len(names) > 0 {
			text += "; " + strings.Join(names, ", ")
		}
		v.wrong(r.Seq, r.Seq, "%s", text)
	case r.Recorded == "" && v.records > 0:
		v.wrong(r.Seq, r.Seq, "event %d does not record what restricts, which event %d has done before", r.Seq, v.records)
	}
	return nil
}
