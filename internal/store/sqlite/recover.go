package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Stand is what a recovery is about.
type Stand struct {
	Database highwater.Head
	Next     highwater.Head   // before the event of the recovery: a recovery that a crash cut off is written first
	Store    string           // id of the database, as it says itself; "" when it says none
	Mark     *highwater.State // nil when there is none that can be read
	Wrong    error            // why the mark does not let the database be used; nil when it does
	Repair   *Repair          // of rows that are not those that the log records; nil when they are
}

// Advice is what the log says about rows that it is to replace.
type Advice struct {
	Latches   []kernel.Latch
	Compacted kernel.Compacted
	Newest    time.Time // the latest time of an event
	Denied    []string  // items that the log says are denied, and may still hold
	Doubts    []string  // why the log is not all that was recorded: then the stored latches stay as well

	// Sound reports whether a stored item is what the log says of it.
	Sound func(*approvals.Item) (bool, error)
}

// Decision is what a plan makes of a Stand.
type Decision struct {
	// Mark is what the mark says from now on; it is not used where none is kept. Its Recovery is for a
	// crash before the commit: it stands in the log then, so it must say nothing of repaired rows.
	Mark *highwater.State

	Event phases.Event // that records the recovery
}

// A recovery is asked for by Recover. Both are called inside the write transaction.
type recovery struct {
	advise func() (Advice, error) // only when rows are to be repaired
	plan   func(Stand) (Decision, error)
}

// errRefused wraps what a plan answers.
var errRefused = errors.New("the recovery was refused")

func refused(err error) error { return fmt.Errorf("%w: %w", errRefused, err) }

// Recover makes the database as it is the one that counts, as plan decides, in one transaction.
// Every use that the mark holds stays used up. Where the database went back, approvals that
// count and active leases are withdrawn. Rows that the log does not record are rebuilt from the
// advice about the log, or withdrawn, or accepted and named. The event of the recovery is the
// first that covers them. After an error of advise or plan nothing has changed. Other errors
// are kernel.ErrUnavailable.
func (s *Store) Recover(ctx context.Context, advise func() (Advice, error), plan func(Stand) (Decision, error)) error {
	err := s.submit(ctx, &request{recover: &recovery{advise, plan}})
	if err != nil && !errors.Is(err, errRefused) {
		return unavailable("recover", err)
	}
	return err
}

// reset is guard for a recovery.
func (w *writer) reset(r *recovery) error {
	g := &w.guarded
	g.before = w.edge.head()
	now := Stand{Database: g.before}
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
	marked, err := w.compareMark(&now)
	if err != nil {
		return err
	}
	withdraw := now.Wrong != nil
	if now.Mark != nil && now.Wrong == nil {
		earlier, err := w.unwritten(now.Mark)
		if err != nil {
			return err
		}
		for i := range earlier {
			// Without a digest of rows, so that dry runs and the recovery find the same head.
			if err := w.plainEvent(earlier[i]); err != nil {
				return err
			}
			withdraw = true
		}
	}
	now.Next = w.edge.head()
	next, err := r.plan(now)
	if err != nil {
		return refused(err)
	}
	if marked {
		err = w.resetMark(next.Mark)
	}
	if err == nil {
		err = w.events(append([]phases.Event{next.Event}, steps...))
	}
	if err == nil && marked {
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
func (w *writer) compareMark(now *Stand) (bool, error) {
	if w.store.mark == nil || now.Store == "" && w.store.bare.Load() != nil {
		return false, nil
	}
	st, _, err := w.store.mark.Look()
	switch {
	case errors.Is(err, highwater.ErrNoPlace) && now.Store == "":
		return false, nil
	case err != nil:
		now.Wrong = err
	case st == nil && now.Store != "":
		now.Wrong = highwater.ErrMissing
	case st != nil:
		now.Mark = st
		if now.Wrong = st.Behind(w.edge.size, w.edge.rootAt(w.conn)); now.Wrong == nil && now.Store != "" &&
			now.Store != st.Store {
			now.Wrong = &highwater.Error{Class: highwater.ErrBehind, Reason: "it is another database than the one of the mark"}
		}
	}
	return true, nil
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
