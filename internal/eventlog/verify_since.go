package eventlog

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// resume begins behind the newest checkpoint that does not cover more events than there are, if
// the stored tree is the one that it covers. Otherwise everything is read, which names what is wrong.
func (v *verifier) resume(ctx context.Context, size int64) error {
	last := len(v.marks) - 1
	for last >= 0 && v.marks[last].Size > size {
		last--
	}
	if last < 0 || v.marks[last].Size == 0 {
		return nil
	}
	at, err := v.treeAt(ctx, v.marks[last].Size)
	if err != nil || at.root() != v.marks[last].Root {
		return onlyLog(err)
	}
	// The newest one from outside says how much is covered; it is at the same place or before it.
	for i := last; i >= 0; i-- {
		m := &v.marks[i]
		if !m.outside {
			continue
		}
		outside, err := v.treeAt(ctx, m.Size)
		if err != nil || outside.root() != m.Root {
			return onlyLog(err)
		}
		v.report.Covered = m.Size
		if m.Size < at.size {
			v.report.Outside++ // confirm counts the others
		}
		break
	}
	if err := v.announcedBefore(ctx, at.size); err != nil || v.report.Wrong != nil {
		return err
	}
	v.tree, v.resumed = at, at.size
	v.marks = slices.DeleteFunc(v.marks, func(m signed) bool { return m.Size < at.size })
	return nil
}

// onlyLog drops the errors of a damaged tree: reading everything says more of it.
func onlyLog(err error) error {
	if errors.Is(err, kernel.ErrDamaged) {
		return nil
	}
	return err
}

// treeAt returns the stored tree as it was over the first size events.
func (v *verifier) treeAt(ctx context.Context, size int64) (f frontier, err error) {
	var indexes []int64
	for level := 62; level >= 0; level-- {
		if size>>level&1 == 1 {
			indexes = append(indexes, tlog.StoredHashIndex(level, size>>level-1))
		}
	}
	f.size = size
	f.roots, err = hashes(ctx, v.log)(indexes)
	return f, err
}

// announcedBefore looks at the event that announces the newest compaction, if it is one of those
// that are not read.
func (v *verifier) announcedBefore(ctx context.Context, size int64) error {
	done, err := v.log.LogCompacted(ctx)
	if err != nil || done.Event == 0 || done.Event > size {
		return err
	}
	leaves, err := v.log.LogLeaves(ctx, done.Event-1, 1)
	if err != nil {
		return err
	}
	if len(leaves) == 0 || leaves[0].Seq != done.Event {
		return nil // it is missing: the events that it announces are then gone without a word
	}
	stored, err := v.stored(ctx, done.Event-1, done.Event)
	if err != nil {
		return onlyLog(err)
	}
	var e phases.Event
	if tlog.RecordHash(leaves[0].Body) != stored[0] || eventbytes.Head(leaves[0].Body, &e) != nil ||
		e.Type != phases.EventCompaction {
		v.wrong(done.Event, done.Event, "event %d is not the one that was recorded", done.Event)
		return nil
	}
	v.announcement(ctx, leaves[0])
	return nil
}
