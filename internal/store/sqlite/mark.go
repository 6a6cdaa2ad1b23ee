package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
)

// markSchema says that the database was given a mark: one row with its id, or none.
const markSchema = `CREATE TABLE high_water (store TEXT NOT NULL) STRICT;`

// guarded is what a writer knows of the mark.
type guarded struct {
	mark    *highwater.State // in this transaction; nil: the database has none
	before  highwater.Head   // of the database, when the transaction began
	edge    *edge            // that was compared with head
	head    highwater.Head   // of the mark, as it was compared
	epoch   int64            // of the mark, as it was compared
	looks   int64            // of the mark, when uses without a commit were last looked for
	settled bool             // there are none left
	store   string           // the database's id; "" when that is to be read
	undone  bool             // one has turned up in this transaction
}

// moved reports whether another file, or none, has taken the place of the database.
func (c *conn) moved(path string) bool {
	if c.file == nil {
		return false // of a layer that has no files
	}
	same, err := files.Names(path, c.file)
	return err != nil || !same
}

// follow opens the file that the path names now, if it is another one: writes to the
// previous file are lost. guard finds out whether the new one may be used.
func (w *writer) follow() error {
	if w.conn != nil && w.conn.moved(w.store.path) {
		w.conn.close()
		w.conn = nil
		w.store.era.Add(1)
	}
	if w.conn != nil {
		return nil
	}
	err := w.recover()
	if _, gone := os.Stat(w.store.path); err != nil && w.store.mark != nil && errors.Is(gone, os.ErrNotExist) {
		return marked.RolledBack(&highwater.Error{Class: highwater.ErrBehind, Path: w.store.path,
			Reason: "the file was removed while it was open"})
	}
	if err != nil {
		return fmt.Errorf("the database failed and could not be opened anew: %w", err)
	}
	return nil
}

// guard compares the database with its mark, gives it one if it never had one and is
// about to get events, and writes down the uses that have no commit. It is called
// inside the write transaction, before anything else is written.
func (w *writer) guard(group []*request) error {
	g := &w.guarded
	g.mark, g.undone = nil, false
	m := w.store.mark
	if r := group[0].recover; r != nil {
		return w.reset(r)
	}
	if m == nil || group[0].back { // it may be behind its mark: that is what it mends
		return nil
	}
	g.before = w.edge.head()
	if !w.alone || g.store == "" {
		var err error
		if g.store, err = storeID(w.conn); err != nil {
			return err
		}
	}
	id := g.store
	st, looks, err := marked.Look(m, id)
	switch {
	case errors.Is(err, highwater.ErrNoPlace):
		w.store.bare.Store(&err)
		return nil
	case err != nil:
		return err
	case st == nil && (w.wrong != nil || w.unsettled != nil || !brings(group)):
		return nil
	case st == nil:
		return w.adopt()
	}
	if g.edge != w.edge || g.head != st.Head || g.epoch != st.Epoch {
		if err := st.Behind(w.edge.size, w.edge.rootAt(w.conn)); err != nil {
			return marked.Failure(err)
		}
	}
	w.store.bare.Store(nil)
	g.mark, g.edge, g.head, g.epoch = st, w.edge, st.Head, st.Epoch
	if w.wrong != nil {
		return nil // nothing but checkpoints is written
	}
	if id == "" && w.unsettled == nil && brings(group) { // an adoption that a crash has interrupted
		if err := w.adopted(st.Store); err != nil {
			return err
		}
	}
	if g.settled && g.looks == looks || w.unsettled != nil { // the number of the next event is that batch's
		return nil
	}
	if err := m.Heal(); err != nil {
		return err
	}
	if err := w.settle(st); err != nil {
		return err
	}
	g.looks = looks
	return nil
}

// brings reports whether a group writes events: looking at a database gives it no mark.
func brings(group []*request) bool {
	for _, r := range group {
		if len(r.events) > 0 || r.brings {
			return true
		}
	}
	return false
}

// adopt gives the database a mark. Where none can be kept, the database is used without,
// which MarkTrouble says.
func (w *writer) adopt() error {
	if w.store.bare.Load() != nil {
		return nil // until this process ends: each commit would try
	}
	id := marked.NewID()
	if err := w.store.mark.Adopt(id, w.guarded.before); err != nil {
		err = fmt.Errorf("%w: %w", highwater.ErrNoPlace, err)
		w.store.bare.Store(&err)
		return nil
	}
	st, looks, err := w.store.mark.Look()
	if err != nil {
		return marked.Failure(err)
	}
	if st == nil || st.Store != id {
		return errors.New("the mark that was just made is another one")
	}
	g := &w.guarded
	g.mark, g.edge, g.head, g.epoch, g.looks = st, w.edge, st.Head, st.Epoch, looks
	return w.adopted(id)
}

// adopted writes down that the database has a mark; one that holds events already gets
// an event about it.
func (w *writer) adopted(id string) error {
	if err := w.conn.exec("DELETE FROM high_water"); err != nil {
		return err
	}
	if err := w.conn.exec("INSERT INTO high_water (store) VALUES (?)", id); err != nil {
		return err
	}
	if w.edge.size == 0 {
		return nil
	}
	return w.event(marked.Adoption())
}

func storeID(c *conn) (id string, err error) {
	err = c.query("SELECT store FROM high_water", func(st *sqlite3.Stmt) error {
		id = st.ColumnText(0)
		return nil
	})
	return id, err
}

// intend notes what the transaction uses up, before it is committed.
func (w *writer) intend(group []*request) error {
	st := w.guarded.mark
	if st == nil {
		return nil
	}
	var uses []highwater.Use
	now, durable := time.Time{}, false
	for _, r := range group {
		if r.err == nil {
			uses, durable = append(uses, r.uses...), durable || r.durable
			if age := r.batch.Age(); age.After(now) {
				now = age
			}
		}
	}
	if len(uses) == 0 && !durable {
		return nil
	}
	return marked.Failure(w.store.mark.Intend(st.Epoch, w.guarded.before, uses, now))
}

// advance tells the mark how far the database has come. If that fails, the mark lags and
// the durable commit stays: the next transaction finds the fault of the mark.
func (w *writer) advance() {
	g := &w.guarded
	if g.mark == nil {
		return
	}
	g.settled = !g.undone
	h := w.edge.head()
	if h.Size == g.before.Size && h.Size <= g.head.Size {
		return
	}
	if w.store.mark.Advance(g.epoch, h) == nil {
		g.edge, g.head = w.edge, h
	}
}

// head returns the size and the root of the tree.
func (e *edge) head() highwater.Head {
	h := highwater.Head{Size: e.size}
	if e.size == 0 {
		h.Root, _ = tlog.TreeHash(0, nil) // reads nothing
		return h
	}
	var root tlog.Hash
	begun := false
	for level, r := range e.roots {
		switch {
		case e.size>>level&1 == 0:
		case !begun:
			root, begun = r, true
		default:
			root = tlog.NodeHash(r, root)
		}
	}
	h.Root = root
	return h
}

// rootAt returns the root over the first events of the stored tree.
func (e *edge) rootAt(c *conn) func(int64) ([32]byte, error) {
	return func(size int64) ([32]byte, error) {
		if size == e.size {
			return e.head().Root, nil
		}
		h, err := tlog.TreeHash(size, readHashes(c))
		return h, err
	}
}

// CheckMark compares the database with its mark, if it has one, and tries that it can be
// written. The error is kernel.ErrRollback when it went back, or kernel.ErrUnavailable.
func (s *Store) CheckMark(ctx context.Context) error {
	return s.do(ctx, "compare with the high-water mark", func(*conn) error { return nil })
}

// MarkTrouble says why the database is used without a mark although one is wanted; nil
// when it has one, or will have with its first events.
func (s *Store) MarkTrouble() error {
	if err := s.bare.Load(); err != nil {
		return *err
	}
	return nil
}
