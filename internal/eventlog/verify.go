package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// page is how many events are read at once.
const page = 1024

// Evidence is what a log is verified against.
type Evidence struct {
	Verifier string   // of the checkpoints; needed
	Outside  [][]byte // checkpoints from outside the store
	// what the caller has seen of this log itself, and noted where others do not write: it needs no signature
	Known []Checkpoint
	// files that end in the middle of a checkpoint, which is not in Outside; see CutTorn
	Torn   int
	Copies func(seq int64) (tlog.Hash, bool) // leaf hashes of copies of events; nil: there are none

	// SinceHead: only events behind the newest checkpoint that the stored tree fits are read; see
	// Report.Unread. Where there is none, all are.
	SinceHead bool
}

// Finding is one thing that is wrong.
type Finding struct {
	First int64  `json:"first"` // the event, or the first of those of which one or more are wrong; 0: not about an event
	Last  int64  `json:"last"`
	Text  string `json:"text"`
	Class Class  `json:"-"`
}

// Class is what kind of fault a finding is.
type Class string

const (
	NotRecorded Class = ""          // an event, the tree or a row is not what was recorded
	NotSigned   Class = "signature" // a checkpoint that the key has not signed
	OtherHead   Class = "head"      // events that are not those of a head that is known
	CutShort    Class = "size"      // fewer events than a head that is known covers
)

// Report is the outcome of a verification. The log is sound when Wrong is nil.
type Report struct {
	Events int64 `json:"events"` // in the log
	// events, the oldest, whose contents were removed: they cannot be checked, their hashes were
	Compacted   int64 `json:"compacted"`
	Announced   int64 `json:"announced,omitzero"` // the number of the event that announces the compaction
	Checkpoints int   `json:"checkpoints"`        // that fit, in the store
	Outside     int   `json:"outside"`            // that fit, from outside
	Covered     int64 `json:"covered"`            // events up to this number are covered by an outside checkpoint
	Uncovered   int64 `json:"uncovered"`          // events that no outside checkpoint covers yet
	// files whose last checkpoint was cut short: it does not count, and proves nothing wrong
	Torn  int      `json:"torn,omitzero"`
	Wrong *Finding `json:"wrong,omitzero"`

	// Unread is how many events were not read (Evidence.SinceHead): the stored tree over them is the
	// one of the checkpoint, and whether they are still those of the tree is not known.
	Unread int64 `json:"unread,omitzero"`

	// recoveries that the log records: it lacks the lost events, and a person accepted their loss
	Recovered []Recovered `json:"recovered,omitzero"`

	// Restrictions is what the newest event records of the rows that restrict, which they
	// were compared with; "" in a log that does not record them yet.
	Restrictions string `json:"restrictions,omitzero"`
}

// Verify recomputes the log from the stored events and compares it with the
// stored tree, with every checkpoint and with the copies. It stops at the first
// event that is wrong. The error is ErrLog: then nothing is known.
func Verify(ctx context.Context, log kernel.Log, ev Evidence) (Report, error) {
	v := verifier{log: log, ev: ev, report: Report{Torn: ev.Torn}, recorded: map[int64]string{}}
	err := v.run(ctx)
	if v.report.Wrong == nil {
		v.report.Wrong = v.unsigned
	}
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrLog, err)
	}
	v.report.Uncovered = max(0, v.report.Events-v.report.Covered)
	return v.report, nil
}

type signed struct {
	Checkpoint
	outside bool
}

type verifier struct {
	log      kernel.Log
	ev       Evidence
	report   Report
	tree     frontier
	marks    []signed // by size
	unsigned *Finding // a checkpoint that does not verify; an event that is wrong says more
	good     int64    // the largest size that a checkpoint has confirmed
	given    int64    // the largest size that an announced compaction has removed
	resumed  int64    // events that are not read, since a checkpoint covers their tree

	recovered []Recovery // as report.Recovered

	recorded map[int64]string // what events record of the rows that restrict, while a statement may name one of them
	records  int64            // the newest event that does
	since    int64            // the first
}

func (v *verifier) wrong(first, last int64, format string, args ...any) {
	v.wrongOf(NotRecorded, first, last, format, args...)
}

func (v *verifier) wrongOf(class Class, first, last int64, format string, args ...any) {
	if v.report.Wrong == nil {
		v.report.Wrong = &Finding{First: first, Last: last, Text: fmt.Sprintf(format, args...), Class: class}
	}
}

func (v *verifier) run(ctx context.Context) error {
	// Checkpoints before the size, and the size before the events: events that
	// others append meanwhile are then beyond the compared ones.
	if err := v.collect(ctx); err != nil {
		return err
	}
	size, err := v.log.LogSize(ctx)
	if err == nil {
		err = v.recoveries(ctx)
	}
	if errors.Is(err, kernel.ErrDamaged) {
		v.wrong(0, 0, "the tree over the events is damaged: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	v.report.Events = size
	if v.ev.SinceHead {
		if err := v.resume(ctx, size); err != nil {
			return err
		}
	}
	v.confirm()
	if err := v.removed(ctx, size); err != nil {
		return err
	}
	if err := v.events(ctx, size); err != nil {
		return err
	}
	if v.report.Wrong != nil {
		return nil
	}
	if err := v.end(ctx, size); err != nil || v.report.Wrong != nil {
		return err
	}
	v.report.Unread = max(0, v.resumed-v.report.Compacted)
	return v.restrictions(ctx)
}

// collect opens the checkpoints. One that does not verify is wrong itself; what
// it was about is not known.
func (v *verifier) collect(ctx context.Context) error {
	inside, err := v.log.Checkpoints(ctx)
	if err != nil {
		return err
	}
	add := func(notes [][]byte, outside bool, where string) {
		for i, n := range notes {
			c, err := Open(n, v.ev.Verifier)
			if err != nil {
				if v.unsigned == nil {
					v.unsigned = &Finding{Text: fmt.Sprintf("checkpoint %d %s: %v", i+1, where, err), Class: NotSigned}
				}
				continue
			}
			v.marks = append(v.marks, signed{c, outside})
		}
	}
	add(v.ev.Outside, true, "from outside")
	add(inside, false, "in the store")
	for _, c := range v.ev.Known {
		v.marks = append(v.marks, signed{c, true})
	}
	slices.SortStableFunc(v.marks, func(a, b signed) int { return int(max(-1, min(1, a.Size-b.Size))) })
	return nil
}

// removed goes over the events whose contents are not there any more. Whether they
// may be missing is known when the rest has been read.
func (v *verifier) removed(ctx context.Context, size int64) error {
	first, err := v.log.LogLeaves(ctx, 0, 1)
	if err != nil || len(first) == 0 {
		return err // the first event is missing, which is found next
	}
	gone := min(first[0].Seq-1, size)
	for v.tree.size < gone && v.report.Wrong == nil {
		from := v.tree.size
		stored, err := v.stored(ctx, from, min(gone, from+page))
		if err != nil {
			v.wrong(from+1, min(gone, from+page),
				"the contents of events %d to %d are gone, and their hashes cannot be read: %v", from+1, min(gone, from+page), err)
			return nil
		}
		for v.tree.size < min(gone, from+page) && v.report.Wrong == nil {
			seq := v.tree.size + 1
			hashes := v.tree.add(stored[0])
			v.compare(seq, hashes, stored[:len(hashes)])
			stored = stored[len(hashes):]
		}
	}
	v.report.Compacted = gone
	return nil
}

// stored returns the stored hashes that leaves from to to-1 have brought.
func (v *verifier) stored(ctx context.Context, from, to int64) ([]tlog.Hash, error) {
	var indexes []int64
	for x := tlog.StoredHashIndex(0, from); x < tlog.StoredHashIndex(0, to); x++ {
		indexes = append(indexes, x)
	}
	return hashes(ctx, v.log)(indexes)
}

// compare checks the stored hashes against those computed from the events: the leaf
// first, then the subtrees that it completes.
func (v *verifier) compare(seq int64, hashes, stored []tlog.Hash) {
	if stored[0] != hashes[0] {
		v.wrong(seq, seq, "event %d is not the one that was recorded", seq)
		return
	}
	if v.ev.Copies != nil {
		if h, ok := v.ev.Copies(seq); ok && h != hashes[0] {
			v.wrong(seq, seq, "event %d is not the one in the copy", seq)
			return
		}
	}
	for i, h := range hashes {
		if stored[i] != h {
			v.wrong(seq+1-1<<i, seq, "the tree over events %d to %d is not that of the events", seq+1-1<<i, seq)
			return
		}
	}
	v.confirm()
}

// announcement looks at an event that announces a compaction. The tree up to it has
// been compared by then, so that the stored hashes can be used.
func (v *verifier) announcement(ctx context.Context, l kernel.LogLeaf) {
	s, err := announced(l.Body, v.ev.Verifier)
	if err != nil {
		v.wrong(l.Seq, l.Seq, "event %d announces a compaction, but: %v", l.Seq, err)
		return
	}
	root, err := tlog.TreeHash(s.Size, hashes(ctx, v.log))
	if err != nil {
		v.wrong(1, s.Size, "events 1 to %d, whose compaction event %d announces: their hashes cannot be read: %v", s.Size,
			l.Seq, err)
		return
	}
	if root != s.Root {
		v.wrong(1, s.Size, "events 1 to %d are not those whose compaction event %d announces", s.Size, l.Seq)
		return
	}
	if o := s.Carried; o != nil {
		if got, ok := v.recorded[o.Seq]; ok && got != o.Root {
			v.wrong(l.Seq, l.Seq, "event %d announces a compaction, and says otherwise than event %d what restricts", l.Seq,
				o.Seq)
			return
		}
	}
	if s.Size > v.given {
		v.given, v.report.Announced = s.Size, l.Seq
	}
}

// leaf compares one event and adds it.
func (v *verifier) leaf(ctx context.Context, l kernel.LogLeaf, r *readLeaf, stored []tlog.Hash) (rest []tlog.Hash) {
	n := v.tree.size
	if l.Seq != n+1 {
		v.wrong(n+1, n+1, "event %d is missing", n+1)
		return
	}
	e := &r.head
	if r.err != nil {
		v.wrong(l.Seq, l.Seq, "event %d does not decode", l.Seq)
		return
	}
	hashes := v.tree.add(r.hash)
	if e.Seq != l.Seq {
		v.wrong(l.Seq, l.Seq, "event %d says that it is event %d", l.Seq, e.Seq)
		return
	}
	var err error
	if stored == nil {
		stored, err = v.stored(ctx, n, n+1)
	}
	switch {
	case err != nil:
		v.wrong(l.Seq, l.Seq, "event %d: its hashes in the tree cannot be read: %v", l.Seq, err)
		return nil
	case !l.Copies && stored[0] == hashes[0]:
		v.wrong(l.Seq, l.Seq, "event %d is found under values that it does not have", l.Seq)
	default:
		v.compare(l.Seq, hashes, stored)
	}
	v.record(e, l.Body)
	if v.report.Wrong == nil && e.Type == phases.EventCompaction {
		v.announcement(ctx, l)
	}
	return stored[len(hashes):]
}

// confirm compares the checkpoints of the size that the tree has now.
func (v *verifier) confirm() {
	for len(v.marks) > 0 && v.marks[0].Size == v.tree.size {
		m := v.marks[0]
		v.marks = v.marks[1:]
		if v.tree.root() != m.Root && v.explained(m.Checkpoint) {
			continue
		}
		if v.tree.root() != m.Root {
			first := min(v.good+1, m.Size)
			v.wrongOf(OtherHead, first, m.Size,
				"events %d to %d are not those of the checkpoint of %s: one or more were changed, with the tree", first, m.Size,
				m.Time.Format("2006-01-02 15:04:05Z"))
			return
		}
		v.good = m.Size
		if m.outside {
			v.report.Outside++
			v.report.Covered = m.Size
		} else {
			v.report.Checkpoints++
		}
	}
}

// end looks at what should be there and is not, and the other way round.
func (v *verifier) end(ctx context.Context, size int64) error {
	if gone := v.report.Compacted; gone > v.given {
		v.wrong(v.given+1, gone, "events %d to %d are missing, and no event announces that", v.given+1, gone)
		return nil
	}
	if v.report.Compacted == 0 {
		v.report.Announced = 0 // and nothing was removed yet
	}
	v.marks = slices.DeleteFunc(v.marks, func(m signed) bool { return v.explained(m.Checkpoint) })
	if len(v.marks) > 0 {
		last := v.marks[len(v.marks)-1]
		v.wrongOf(CutShort, size+1, last.Size, "event %d is missing: a checkpoint of %s covers %d events, the log ends at %d",
			size+1, last.Time.Format("2006-01-02 15:04:05Z"), last.Size, size)
		return nil
	}
	if v.ev.Copies != nil {
		if _, ok := v.ev.Copies(size + 1); ok {
			v.wrong(size+1, size+1, "event %d is missing: there is a copy of it", size+1)
			return nil
		}
	}
	// Others may have appended since; then the tree has grown, too.
	extra, err := v.log.LogLeaves(ctx, size, 1)
	if err != nil || len(extra) == 0 {
		return err
	}
	now, err := v.log.LogSize(ctx)
	if err == nil && extra[0].Seq > now {
		v.wrong(extra[0].Seq, extra[0].Seq, "event %d is not in the tree", extra[0].Seq)
	}
	return err
}

// frontier is a tree of which only the hashes that still grow are kept.
type frontier struct {
	size  int64
	roots []tlog.Hash // of the perfect subtrees, largest first
}

// add adds a leaf and returns the hashes that it completes, lowest first.
func (f *frontier) add(leaf tlog.Hash) []tlog.Hash {
	out := []tlog.Hash{leaf}
	for n := f.size; n&1 == 1; n >>= 1 {
		last := len(f.roots) - 1
		out = append(out, tlog.NodeHash(f.roots[last], out[len(out)-1]))
		f.roots = f.roots[:last]
	}
	f.roots = append(f.roots, out[len(out)-1])
	f.size++
	return out
}

func (f *frontier) root() tlog.Hash {
	if f.size == 0 {
		h, _ := tlog.TreeHash(0, nil) // reads nothing
		return h
	}
	h := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		h = tlog.NodeHash(f.roots[i], h)
	}
	return h
}
