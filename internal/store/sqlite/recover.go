package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/phases"
)

// Recover makes the database as it is the one that counts, as plan decides, in one transaction.
// Every use that the mark holds stays used up. Where the database went back, approvals that
// count and active leases are withdrawn. Rows that the log does not record are rebuilt from the
// advice about the log, or withdrawn, or accepted and named. The event of the recovery is the
// first that covers them. After an error of advise or plan nothing has changed. Other errors
// are kernel.ErrUnavailable.
func (s *Store) Recover(ctx context.Context, advise func() (marked.Advice, error),
	plan func(marked.Stand) (marked.Decision, error)) error {
	err := s.submit(ctx, &request{recover: &marked.Plan{Advise: advise, Decide: plan}})
	if err != nil && !errors.Is(err, marked.ErrRefused) {
		return unavailable("recover", err)
	}
	return err
}

// reset is guard for a recovery.
func (w *writer) reset(r *marked.Plan) error {
	g := &w.guarded
	g.before = w.edge.head()
	now := marked.Stand{Database: g.before}
	var steps []phases.Event
	var err error
	if w.wrong != nil {
		// First: the schema may be part of it, by which all else is read and written.
		if now.Repair, steps, err = w.repair(r); err != nil {
			return err
		}
	}
	if now.Store, err = storeID(w.conn); err != nil {
		return err
	}
	kept := w.compareMark(&now)
	withdraw := now.Wrong != nil
	if now.Mark != nil && now.Wrong == nil {
		earlier, err := marked.Unwritten(now.Mark, w.edge.size)
		if err != nil {
			return err
		}
		if earlier != nil {
			// Without a digest of rows, so that dry runs and the recovery find the same head.
			if err := w.plainEvent(*earlier); err != nil {
				return err
			}
			withdraw = true
		}
	}
	now.Next = w.edge.head()
	next, err := r.Decide(now)
	if err != nil {
		return marked.Refused(err)
	}
	// The number of a shared batch goes to this recovery: what PostgreSQL may have of it shows as a fork.
	if err := w.clear(w.conn); err != nil {
		return err
	}
	if kept {
		err = w.resetMark(next.Mark)
	}
	if err == nil {
		err = w.events(append([]phases.Event{next.Event}, steps...))
	}
	if err == nil && kept {
		err = w.settleUses(w.guarded.mark)
	}
	if err == nil && withdraw {
		err = w.takeBack(time.Now())
	}
	return err
}

// plainEvent writes an event that does not carry the digest of the rows: another one of the batch does.
func (w *writer) plainEvent(e phases.Event) error {
	list := []phases.Event{e}
	es, err := w.own(list)
	if err != nil {
		return err
	}
	return writeEvent(w.conn, w.edge, &list[0], &es[0], nil)
}

// compareMark says how the database stands to its mark; false: none is kept.
func (w *writer) compareMark(now *marked.Stand) bool {
	if w.store.mark == nil || now.Store == "" && w.store.bare.Load() != nil {
		return false
	}
	return now.Compare(w.store.mark, func(st *highwater.State) error {
		return st.Behind(w.edge.size, w.edge.rootAt(w.conn))
	})
}

func (w *writer) resetMark(next *highwater.State) error {
	g := &w.guarded
	if err := w.store.mark.Reset(next); err != nil {
		return err
	}
	st, looks, err := w.store.mark.Look()
	if err != nil {
		return err
	}
	g.mark, g.looks, g.store = st, looks, ""
	g.edge, g.head, g.epoch = w.edge, st.Head, st.Epoch
	if err := w.conn.exec("DELETE FROM high_water"); err != nil {
		return err
	}
	return w.conn.exec("INSERT INTO high_water (store) VALUES (?)", st.Store)
}
