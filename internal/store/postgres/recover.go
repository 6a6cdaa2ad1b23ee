package postgres

import (
	"context"
	"errors"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Recover makes the database as it is the one that counts for this kernel, as plan decides, in one transaction. Every
// use that the mark holds stays used up. Where the database went back, approvals that count and active leases of the
// organisation are withdrawn. Rows that the log does not record are made again from the logs of all kernels, or
// withdrawn, or accepted and named. Other kernels go on by themselves then; those that notice that the database went
// back are recovered one by one, each with its own mark. After an error of advise or plan nothing has changed. What no
// kernel may set right is kernel.ErrTampered, and says the statement that does. Other errors are kernel.ErrUnavailable.
func (s *Store) Recover(ctx context.Context, advise func() (marked.Advice, error),
	plan func(marked.Stand) (marked.Decision, error)) error {
	err := s.submit(ctx, &request{recover: &marked.Plan{Advise: advise, Decide: plan}})
	if err != nil && !errors.Is(err, marked.ErrRefused) {
		return unavailable("recover", err)
	}
	return err
}

// maxRecovery bounds a recovery, which may read all logs.
const maxRecovery = time.Hour

// recover decides about a request to recover.
func (w *writer) recover(r *request) {
	ctx, cancel := context.WithTimeout(context.Background(), maxRecovery)
	defer cancel()
	edge, set, version, followed := w.edge, w.set, w.version, w.followed
	if r.err = w.takeAnew(ctx); r.err == nil {
		r.err = w.reset(ctx, r.recover)
	}
	if w.dropBroken(); r.err == nil {
		return
	}
	w.edge, w.set, w.version, w.followed = edge, set, version, followed // what was seen before counts still
	if w.store.sets.forget(); w.lost != nil {
		w.end() // the name is for others again
	} else {
		w.drop()
	}
}

// anew connects, and takes what is in the database as it is. The rows that restrict have to be those of the log.
func (w *writer) anew(ctx context.Context) error {
	if err := w.takeAnew(ctx); err != nil {
		return err
	}
	if err := w.load(ctx); err != nil {
		return err
	}
	w.compared = true
	return nil
}

// takeAnew connects, and believes nothing of what this process has seen before.
func (w *writer) takeAnew(ctx context.Context) error {
	w.drop()
	var e *edge
	err := w.patiently(ctx, func() (err error) { e, err = w.take(ctx); return err })
	if err != nil {
		return err
	}
	w.edge, w.set, w.version, w.followed = e, nil, 0, shared{}
	w.store.sets.forget()
	return nil
}

// reset is one recovery.
func (w *writer) reset(ctx context.Context, plan *marked.Plan) error {
	now := marked.Stand{Store: w.guarded.store}
	if _, err := w.lockOne(ctx); err != nil {
		return err
	}
	kept, err := w.compareMark(ctx, &now)
	if err != nil {
		return err
	}
	rows, row, err := w.lookAtAll(ctx)
	if err == nil {
		err = w.resetRows(ctx, plan, &now, kept, rows, row)
	}
	w.undo(ctx, err)
	return err
}

// compareMark says how the database stands to its mark; false: none is kept.
func (w *writer) compareMark(ctx context.Context, now *marked.Stand) (kept bool, err error) {
	if w.store.o.Mark == nil || now.Store == "" && w.store.bare.Load() != nil {
		return false, nil
	}
	kept = now.Compare(w.store.o.Mark, func(st *highwater.State) error {
		behind := w.behindMark(ctx, st)
		if behind != nil && !errors.Is(behind, kernel.ErrRollback) {
			behind, err = nil, behind // that is none of the mark
		}
		return behind
	})
	return kept, err
}

// resetRows is a recovery in the transaction that lookAtAll has begun.
func (w *writer) resetRows(ctx context.Context, plan *marked.Plan, now *marked.Stand, kept bool, rows *world,
	row *shared) error {
	repair, differ, err := w.doubted(ctx, rows, row)
	if err != nil {
		return err
	}
	if w.followed, err = w.recordedBy(ctx, row); err != nil {
		return err
	}
	w.version, w.set, w.single = row.version, rows.set, rows.single
	var mends *step
	var steps []phases.Event
	if repair != nil {
		if mends, steps, err = w.repair(ctx, rows, repair, differ, plan.Advise); err != nil {
			return err
		}
	}
	now.Repair, now.Database = repair, w.head()
	events, withdraw, err := w.unwritten(now)
	if err != nil {
		return err
	}
	next, err := plan.Decide(*now)
	if err != nil {
		return marked.Refused(err)
	}
	events = append(events, next.Event)
	var st *highwater.State
	var looks int64
	var logged map[string]bool
	if kept {
		if st, looks, err = w.resetMark(next.Mark); err != nil {
			return err
		}
		_, ids := needsOf(st)
		if logged, err = w.logs(ctx, ids); err != nil {
			return err
		}
		for i := range events { // they are about to be, and one of them may record the use of a reviewer's statement
			logged[events[i].ID] = true
		}
	}
	t, err := w.perform(ctx, rows, func(_ *world, d *deeds) error {
		d.anew = repair != nil
		d.add(mends, events...)
		if len(steps) > 0 {
			d.add(nil, steps...)
		}
		if !kept {
			return nil
		}
		d.store = st.Store
		err := marked.Settle(st, time.Now(), settler{d, logged})
		if err == nil && withdraw {
			err = d.takeBack(time.Now())
		}
		return err
	})
	if err != nil {
		return err
	}
	w.won(t)
	w.compared, w.lost = true, nil
	if g := &w.guarded; kept {
		g.store, g.looks, g.settled, g.compared = st.Store, looks, true, true
	}
	return nil
}

// recordedBy returns the row shared with the hash of the event that it names; nothing where the tree has none.
func (w *writer) recordedBy(ctx context.Context, row *shared) (shared, error) {
	out := *row
	if row.version <= 0 || row.seq <= 0 || row.leaf != tlog.StoredHashIndex(0, row.seq-1) {
		return shared{}, nil
	}
	_, hash, err := recording(ctx, w.conn, row)
	if err != nil || hash == nil {
		return shared{}, err
	}
	out.hash = *hash
	return out, nil
}

// unwritten returns the event of an earlier recovery that a crash cut off, and whether what was lost may have used up
// what counts.
func (w *writer) unwritten(now *marked.Stand) (events []phases.Event, withdraw bool, err error) {
	now.Next, withdraw = now.Database, now.Wrong != nil
	if now.Mark == nil || withdraw {
		return nil, withdraw, nil
	}
	earlier, err := marked.Unwritten(now.Mark, w.edge.size)
	if err != nil || earlier == nil {
		return nil, false, err
	}
	// Without a digest of rows, so that dry runs and the recovery find the same head.
	now.Next, err = w.headWith(earlier)
	return []phases.Event{*earlier}, true, err
}

// resetMark makes the mark what a recovery decided.
func (w *writer) resetMark(next *highwater.State) (*highwater.State, int64, error) {
	if err := w.store.o.Mark.Reset(next); err != nil {
		return nil, 0, err
	}
	st, looks, err := w.store.o.Mark.Look()
	if err != nil {
		return nil, 0, err
	}
	g := &w.guarded
	g.mark, g.head, g.voided, g.settled = st, st.Head, nil, false
	return st, looks, nil
}

// headWith returns the head of the log with one more event.
func (w *writer) headWith(e *phases.Event) (highwater.Head, error) {
	body, err := plainBody(e, w.edge.size+1)
	if err != nil {
		return highwater.Head{}, err
	}
	grown := w.edge.clone()
	grown.add(body)
	h := w.head()
	h.Size, h.Root = grown.size, grown.root()
	return h, nil
}
