package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// An item of the queue is a row of the database, which every process with the user's uid can
// change. The log holds the question and the decision. An item is sound if it matches both; only
// sound items are shown and decided. That proves nothing against a process that can write the
// log and the keys. An approval is proof even then: the reviewer signs the item as shown, and
// the kernel makes that content anew from the action (queue.SameQuestion).

// ids of the events of an item that exist at most once; see useID and fixedID.
func requestedID(item string) string { return fixedID("belay approval requested", item) }
func decidedID(item string) string   { return fixedID("belay approval decided", item) }
func unsoundID(item string) string   { return fixedID("belay approval unsound", item) }

// approvalUnsound is the decision of an event that says that an item differs from the question in the log.
const approvalUnsound = "unsound"

// wasUsed is why an item that is not consumed is not sound when the event of its use is
// in the log.
const wasUsed = "the log says that it was used"

// approvalRecord is the output of an event about an item.
type approvalRecord struct {
	Approval string         `json:"approval"`
	Kind     approvals.Kind `json:"kind"`
	Key      string         `json:"key"`
	By       string         `json:"credential"`
	Expires  time.Time      `json:"expires"`
	Content  string         `json:"content,omitzero"` // what a decision is signed for
	// requested: keyed digest of the content; approved, denied: of content and decision
	Seal  string   `json:"seal,omitzero"`
	Hooks []string `json:"hooks,omitzero"`
}

// sealItem is the keyed digest by which the log vouches for an item, with its decision
// when it has one. The error is of encoding.
func (k *Kernel) sealItem(content string, d *approvals.Decision) (string, error) {
	raw := []byte(content)
	if d != nil {
		b, err := json.Marshal(d)
		if err != nil {
			return "", err
		}
		raw = append(append(raw, 0), b...)
	}
	return k.options.Digester.Digest(audit.UseApprovalItem, raw), nil
}

// maxLooks is how often an item is read anew because it changed while its events were read.
const maxLooks = 16

// vouched compares a stored item with the question and the decision in the log. Item and events
// are read one after the other: an item that was decided or used in between is read anew,
// and is then as it is now. The error is of approvals.ErrUnsound, and then it is logged, or
// ErrUnavailable, or ErrConflict when the item is gone or keeps changing.
func (k *Kernel) vouched(ctx context.Context, item *approvals.Item) error {
	why := ""
	for look := 0; ; look++ {
		var err error
		if why, err = k.examineItem(ctx, item); err != nil {
			return errors.Join(ErrUnavailable, err)
		}
		if why == "" {
			return nil
		}
		changed, err := k.readAnew(ctx, item)
		if err != nil {
			return err
		}
		if !changed {
			break
		}
		if look == maxLooks {
			return ErrConflict
		}
	}
	text := "what is stored as " + phases.SafeLine(string(item.State), 32)
	switch s := k.current.Load(); {
	case why == wasUsed:
		text += " has been used before"
	case item.Decision == nil && item.State == approvals.Approved:
		text += " has no decision"
	case item.Decision != nil && s != nil && s.authority.Verify(item, item.Decision) != nil:
		text += " was not signed by a reviewer"
	default:
		text += " is not what was asked: " + why
	}
	return k.unsound(ctx, item, text, fmt.Errorf("%w: %s", approvals.ErrUnsound, why))
}

// readAnew puts the item as it is stored now into it, and reports whether it is another
// one than it was.
func (k *Kernel) readAnew(ctx context.Context, item *approvals.Item) (changed bool, err error) {
	now, err := k.options.Store.Approval(ctx, item.ID)
	if err != nil {
		return false, err
	}
	if now == nil {
		return false, ErrConflict // it ended long ago, and was removed
	}
	before, err1 := json.Marshal(item)
	after, err2 := json.Marshal(now)
	if err1 != nil || err2 != nil || item.Damaged || now.Damaged || now.ID != item.ID || string(before) == string(after) {
		return false, nil
	}
	*item = *now
	return true, nil
}

// orAside returns a stored item that was found by a key, if it is sound. A pending item that
// is unsound gives way to the question as it is now: the result is nil, and question has the step. Any
// other unsound item stops the caller: the error is a *phases.Fault.
func (k *Kernel) orAside(ctx context.Context, it *approvals.Item, key string, question *question, at leases.Instant,
	revision string) (*approvals.Item, error) {
	err := k.vouched(ctx, it)
	if err == nil && it.Key != key { // a store that answers with another item
		err = k.unsound(ctx, it, "what is stored is not what was asked", approvals.ErrUnsound)
	}
	switch {
	case err == nil:
		return it, nil
	case !errors.Is(err, approvals.ErrUnsound) || it.Damaged || it.State != approvals.Pending:
		return nil, err
	}
	op, e := k.putAside(it, at, revision)
	question.ops, question.events = append(question.ops, op), append(question.events, e)
	return nil, nil
}

// putAside makes the step that supersedes an unsound item.
func (k *Kernel) putAside(it *approvals.Item, at leases.Instant, revision string) (approvals.Op, phases.Event) {
	e := k.approvalEvent(&approvals.Item{ID: phases.SafeLine(it.ID, phases.MaxIDBytes)}, string(approvals.Superseded),
		at.Wall, revision)
	e.Notes = append(e.Notes, "it was not what was asked")
	return approvals.Op{Change: &approvals.Change{ID: it.ID, From: approvals.Pending, To: approvals.Superseded, At: at}}, e
}

// vouchedDenial finds out whether a stored denial was signed: only then does it answer
// for a person. The error is a *phases.Fault.
func (k *Kernel) vouchedDenial(ctx context.Context, s *snapshot, it *approvals.Item) error {
	err := s.authority.Verify(it, it.Decision)
	if err == nil && it.Decision.Verdict != approvals.Deny {
		err = approvals.ErrSignature
	}
	if err != nil {
		return k.unsound(ctx, it, "what is stored as denied was not signed by a reviewer", err)
	}
	return nil
}

// storedItem returns a sound stored item. The error is approvals.ErrUnknown, of
// approvals.ErrUnsound, or ErrUnavailable.
func (k *Kernel) storedItem(ctx context.Context, id string) (*approvals.Item, error) {
	it, err := k.options.Store.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, approvals.ErrUnknown
	}
	if it.ID != id {
		it.Damaged = true
	}
	return it, k.vouched(ctx, it)
}

// soundOnly drops unsound items from a list: they are logged instead.
func (k *Kernel) soundOnly(ctx context.Context, list []approvals.Item) ([]approvals.Item, error) {
	out := list[:0]
	for n := range list {
		switch err := k.vouched(ctx, &list[n]); {
		case err == nil:
			out = append(out, list[n])
		case !errors.Is(err, approvals.ErrUnsound):
			return nil, err
		}
	}
	return out, nil
}

// UnsoundApprovals returns the ids of the stored items, among the newest, that do not match the
// question and the decision in the log. They are neither shown nor decided. Nothing can follow
// from an item that is over: it is listed only until the log says that it is unsound. The error
// is ErrUnavailable.
func (k *Kernel) UnsoundApprovals(ctx context.Context) ([]string, error) {
	list, err := k.options.Store.Approvals(ctx, approvals.Query{Limit: approvals.MaxLimit})
	if err != nil {
		return nil, err
	}
	var out []string
	at := k.at(ctx)
	for i := range list {
		if !list[i].Damaged && queue.Over(&list[i], at) {
			met, err := k.options.Store.Events(ctx, wire.Query{ID: unsoundID(list[i].ID), Limit: 1})
			if err != nil {
				return nil, err
			}
			if len(met) > 0 {
				continue
			}
		}
		switch err := k.vouched(ctx, &list[i]); {
		case err == nil:
		case errors.Is(err, approvals.ErrUnsound):
			out = append(out, phases.SafeLine(list[i].ID, phases.MaxIDBytes))
		default:
			return nil, err
		}
	}
	return out, nil
}

// SoundApproval reports whether a stored item matches the question and the decision in the
// log. It reads events alone, and logs nothing. The error is ErrUnavailable.
func (k *Kernel) SoundApproval(ctx context.Context, it *approvals.Item) (bool, error) {
	why, err := k.examineItem(ctx, it)
	if err != nil {
		return false, errors.Join(ErrUnavailable, err)
	}
	return why == "", nil
}

// examineItem says why a stored item does not match the question and the decision in the log;
// "" when it does.
func (k *Kernel) examineItem(ctx context.Context, item *approvals.Item) (why string, err error) {
	if item.Damaged {
		return "its row says two things", nil
	}
	asked, err := k.requestedEvent(ctx, item)
	if err != nil {
		return "", err
	}
	at := k.at(ctx)
	if asked == nil {
		// The events of what ended long ago may be compacted. Nothing rests on it.
		if began, err := idTime(item.ID); err == nil && queue.Over(item, at) && at.Wall.Sub(began) >= MinCompactionAge {
			return "", nil
		}
		return "the log does not say that it was asked", nil
	}
	content, err := item.Content()
	if err != nil {
		return "it has no canonical form", nil
	}
	var r approvalRecord
	if err := json.Unmarshal(asked.Output, &r); err != nil {
		return "the event that it was asked by cannot be read", nil
	}
	if r.Approval != item.ID || r.Kind != item.Kind || r.Key != item.Key ||
		r.By != item.By.Credential || r.Content != content {
		return "the log says that something else was asked", nil
	}
	if why := k.strayKey(item); why != "" {
		return why, nil
	}
	sealed := r.Seal != ""
	if seal, err := k.sealItem(content, nil); err != nil || sealed && seal != r.Seal {
		return "its seal is not that of this state directory", nil
	}
	return k.examineState(ctx, item, content, sealed, at)
}

// strayKey says why the key of an item does not fit its content; "" when it fits, or when only a
// repeated question can tell: the keys of asks, and of leases that hooks want, are over values
// that may be redacted here (queue.SameQuestion compares these).
func (k *Kernel) strayKey(it *approvals.Item) string {
	switch {
	case it.Kind == approvals.KindProposal:
		if err := queue.CheckProposal(it); err != nil {
			return err.Error()
		}
	case it.Kind == approvals.KindTool:
		if err := queue.CheckToolChange(it); err != nil {
			return err.Error()
		}
	case it.Kind == approvals.KindLease && len(it.Hooks) == 0:
		var doc handDocument
		err := json.Unmarshal(it.Details, &doc, json.RejectUnknownMembers(true))
		if err != nil || k.handKey(&doc, it.By.Credential) != it.Key {
			return "its key is not that of the lease that it shows"
		}
	}
	return ""
}

// examineState says why the state of an item is not what the log says of it. Items that
// were asked before belay sealed them have no events with fixed ids for their decisions.
func (k *Kernel) examineState(ctx context.Context, item *approvals.Item, content string, sealed bool,
	at leases.Instant) (string, error) {
	decided, err := k.eventByID(ctx, decidedID(item.ID))
	if err != nil {
		return "", err
	}
	used, err := k.eventByID(ctx, useID(item.ID))
	if err != nil {
		return "", err
	}
	if used != nil && item.State != approvals.Consumed {
		return wasUsed, nil
	}
	if item.Decision == nil && decided != nil {
		return "the log says that it was decided", nil
	}
	if item.Decision != nil && (decided != nil || sealed) {
		seal, err := k.sealItem(content, item.Decision)
		var r approvalRecord
		switch {
		case decided == nil:
			return "the log does not say that it was decided", nil
		case err != nil || json.Unmarshal(decided.Output, &r) != nil || r.Seal != seal ||
			decided.Decision != string(item.Decision.Verdict):
			return "the log says that something else was decided", nil
		}
	}
	closed := !item.Closed.IsZero()
	verdict := approvals.Verdict("")
	if item.Decision != nil {
		verdict = item.Decision.Verdict
	}
	bad := false
	switch item.State {
	case approvals.Pending:
		bad = item.Decision != nil || closed
	case approvals.Approved:
		bad = verdict != approvals.Approve || closed
	case approvals.Denied:
		bad = verdict != approvals.Deny || decided != nil && !item.Closed.Equal(decided.Time)
	case approvals.Consumed:
		bad = verdict != approvals.Approve || used == nil || !item.Closed.Equal(used.Time)
	case approvals.Expired:
		bad = verdict == approvals.Deny || item.Left(at) > 0 && !k.endedBefore(item, at)
	case approvals.Superseded:
		bad = verdict == approvals.Deny || !closed
	default:
		return "there is no such state", nil
	}
	if bad {
		return "its state is not what the log says of it", nil
	}
	return "", nil
}

// requestedEvent returns the event that an item was asked by, as it is in the log; nil
// when there is none. Items of older versions have an event with an id of its own,
// which counts only where no sealed one stands before it.
func (k *Kernel) requestedEvent(ctx context.Context, item *approvals.Item) (*phases.Event, error) {
	e, err := k.eventByID(ctx, requestedID(item.ID))
	if err != nil || e != nil {
		return e, err
	}
	at, err := idTime(item.ID)
	if err != nil {
		return nil, nil
	}
	const about = 2 * time.Minute // a question is committed when its chain has ended
	q := wire.Query{Type: phases.EventApproval, Decision: "requested", Since: at.Add(-time.Second), Until: at.Add(about),
		Limit: wire.MaxLimit}
	list, err := k.options.Store.Events(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range list {
		var r approvalRecord
		if json.Unmarshal(list[i].Output, &r) != nil || r.Approval != item.ID {
			continue
		}
		before, err := k.options.Store.Events(ctx,
			wire.Query{Type: q.Type, Decision: q.Decision, Before: list[i].Seq, Newest: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		var b approvalRecord
		if r.Seal != "" || len(before) == 1 && (json.Unmarshal(before[0].Output, &b) != nil || b.Seal != "") {
			return nil, nil
		}
		return k.inLog(ctx, list[i].Seq, list[i].ID)
	}
	return nil, nil
}

// Asked reports whether the question of an item is in the log of this kernel, and not in that of another one that
// shares the store. The error is ErrUnavailable.
func (k *Kernel) Asked(ctx context.Context, item string) (bool, error) {
	return k.Recorded(ctx, requestedID(item))
}

// Recorded reports whether an event is in the log of this kernel, and was not compacted. The error is ErrUnavailable.
func (k *Kernel) Recorded(ctx context.Context, event string) (bool, error) {
	list, err := k.options.Store.Events(ctx, wire.Query{ID: event})
	return len(list) > 0, err
}

// eventByID returns the event as it is in the log, of another kernel's where this one's has none; nil when there is
// none at all.
func (k *Kernel) eventByID(ctx context.Context, id string) (*phases.Event, error) {
	list, err := k.options.Store.Events(ctx, wire.Query{ID: id})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return k.elsewhere(ctx, id)
	}
	return k.inLog(ctx, list[0].Seq, id)
}

// elsewhere returns an event of another kernel that shares the store; nil when there is none.
func (k *Kernel) elsewhere(ctx context.Context, id string) (*phases.Event, error) {
	if k.options.Elsewhere == nil {
		return nil, nil
	}
	e, err := k.options.Elsewhere.EventElsewhere(ctx, id)
	if err != nil || e == nil || e.ID != id {
		return nil, err
	}
	return e, nil
}

// inLog returns an event if it is the leaf of the tree that its number says; nil if not.
func (k *Kernel) inLog(ctx context.Context, seq int64, id string) (*phases.Event, error) {
	leaves, err := k.options.Store.LogLeaves(ctx, seq-1, 1)
	if err != nil || len(leaves) == 0 || leaves[0].Seq != seq || !leaves[0].Copies {
		return nil, err
	}
	stored, err := k.options.Store.LogHashes(ctx, []int64{leafIndex(seq - 1)})
	if err != nil {
		return nil, err
	}
	var e phases.Event
	if stored[0] != leafHash(leaves[0].Body) || json.Unmarshal(leaves[0].Body, &e) != nil || e.ID != id {
		return nil, nil
	}
	return &e, nil
}

// idTime is the time in a UUIDv7, in whole milliseconds.
func idTime(id string) (time.Time, error) {
	u, err := uuid.FromString(id)
	if err != nil {
		return time.Time{}, err
	}
	ts, err := uuid.TimestampFromV7(u)
	if err != nil {
		return time.Time{}, err
	}
	return ts.Time()
}

// unsound logs that a stored item does not match its question, or the action that would
// happen. It returns the fault that stops the item's use, of kind store.
func (k *Kernel) unsound(ctx context.Context, it *approvals.Item, text string, cause error) error {
	k.options.Logger.LogAttrs(ctx, slog.LevelError, "an item in the queue is not what was asked",
		slog.String("approval", phases.SafeLine(it.ID, phases.MaxIDBytes)), slog.String("why", text),
		slog.Any("error", cause))
	id := unsoundID(it.ID)
	if have, err := k.options.Store.Events(ctx, wire.Query{ID: id}); err == nil && len(have) == 0 {
		now := k.options.Clock.Now()
		// The item's content is forged: only its id is logged.
		e := k.approvalEvent(&approvals.Item{ID: phases.SafeLine(it.ID, phases.MaxIDBytes)}, approvalUnsound, now,
			k.Revision())
		e.ID, e.Reason = id, phases.SafeText(text+": "+cause.Error(), phases.MaxReasonBytes)
		// A failure to log it changes nothing: the caller blocks, and that is recorded.
		_, _ = k.options.Store.Commit(context.WithoutCancel(ctx),
			Batch{Now: now, Calm: k.CalmTime(), Events: []phases.Event{e}})
	}
	return phases.NewFault(phases.KindStore, text, cause)
}
