package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
)

// guarded is what a writer knows of the mark outside of the database.
type guarded struct {
	store    string           // id of the kernel's log, as its row says; "": it has no mark
	mark     *highwater.State // as it was last compared; nil: there is none
	head     highwater.Head   // of the mark, as it was compared or as this process has moved it
	compared bool             // over this connection
	looks    int64            // of the mark, when uses without a commit were last looked for
	settled  bool             // there are none left

	// voided are uses that were noted for a transaction of which it is known that it was not committed.
	voided map[string]highwater.Use
}

// counts returns the mark without the uses that are known not to have happened; nil when there is no mark.
func (g *guarded) counts() *highwater.State {
	if g.mark == nil || len(g.voided) == 0 {
		return g.mark
	}
	out := *g.mark
	out.Uses = maps.Clone(g.mark.Uses)
	for id, u := range g.voided {
		if out.Uses[id] == u {
			delete(out.Uses, id)
		}
	}
	return &out
}

// unused notes that a transaction was not committed.
func (g *guarded) unused(uses []highwater.Use) {
	for _, u := range uses {
		if g.voided == nil {
			g.voided = map[string]highwater.Use{}
		}
		g.voided[u.ID] = u
	}
}

// seen returns what this process knows of the rows that all kernels share.
func (w *writer) seen() highwater.Seen {
	f := &w.followed
	return highwater.Seen{Version: f.version, Kernel: int64(f.kernel), Seq: f.seq, Hash: f.hash}
}

// head returns how far the log has come, and what was seen of other kernels.
func (w *writer) head() highwater.Head {
	return highwater.Head{Size: w.edge.size, Root: w.edge.root(), Seen: w.seen()}
}

// gone says which events of this kernel's log are not there any more.
func (w *writer) gone(has, had int64) error {
	return rolledBack("the log of kernel %q holds %d events, and held %d: events %d to %d are gone; a server took over "+
		"that lacks them, or the database was restored, replaced or removed", w.store.o.Kernel, has, had, has+1, had)
}

func (w *writer) otherEvents(size int64) error {
	return rolledBack("the first %d events of the log of kernel %q are not those that it held; a server took over that "+
		"lacks some of them, or the database was restored or replaced, and written to", size, w.store.o.Kernel)
}

// rootAt returns the root over the first events of a stored tree.
func (w *writer) rootAt(ctx context.Context, e *edge, size int64) ([32]byte, error) {
	if size == e.size {
		return e.root(), nil
	}
	h, err := tlog.TreeHash(size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found, err := readHashes(ctx, w.conn, w.held.kernel, e, indexes)
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = found[x]
		}
		return out, err
	}))
	return h, err
}

// behindMark compares the database with its mark.
func (w *writer) behindMark(ctx context.Context, st *highwater.State) error {
	if w.edge.size < st.Head.Size {
		// Another process of this kernel may have been further: then it has the name now.
		if _, err := w.conn.Exec(ctx, "SELECT renew($1, $2)", w.held.kernel, w.held.fence); err != nil {
			if refusal(err) == codeFenced {
				w.drop()
			}
			return err
		}
		return w.gone(w.edge.size, st.Head.Size)
	}
	if w.store.o.Forwarding {
		return w.sees(ctx, st.Head.Seen) // the forwarder compares the events, and tells a fork from what is gone
	}
	err := st.Behind(w.edge.size, func(size int64) ([32]byte, error) { return w.rootAt(ctx, w.edge, size) })
	if errors.Is(err, highwater.ErrBehind) {
		return w.otherEvents(st.Head.Size)
	}
	if err != nil {
		return err
	}
	return w.sees(ctx, st.Head.Seen)
}

const versionSeen = `SELECT s.version, coalesce((SELECT name FROM kernels WHERE id = $1), '') FROM shared s`

// sees makes sure that the database holds what was seen of the rows that all kernels share, or what grew from it.
func (w *writer) sees(ctx context.Context, seen highwater.Seen) error {
	if seen.Version == 0 {
		return nil
	}
	var now int64
	var name string
	if err := w.conn.QueryRow(ctx, versionSeen, seen.Kernel).Scan(&now, &name); err != nil {
		return err
	}
	if name == "" {
		name = fmt.Sprint("number ", seen.Kernel)
	}
	if now < seen.Version || seen.Kernel > 1<<31-1 || seen.Seq < 1 {
		return unseen(seen, now, name, nil)
	}
	_, hash, err := recording(ctx, w.conn, &shared{kernel: int32(seen.Kernel), seq: seen.Seq,
		leaf: tlog.StoredHashIndex(0, seen.Seq-1)})
	if err != nil {
		return err
	}
	return unseen(seen, now, name, hash)
}

// unseen returns an error if a database does not hold what was seen. now is its version of the rows that restrict, and
// hash what the tree of the kernel of that name has in the place of the event that recorded them; nil: nothing.
func unseen(seen highwater.Seen, now int64, name string, hash *tlog.Hash) error {
	if now < seen.Version {
		return rolledBack("the rows that restrict are of version %d, and were of version %d, which event %d of kernel %q "+
			"records: a server took over that lacks it, or the database was restored", now, seen.Version, seen.Seq, name)
	}
	if hash == nil || *hash != seen.Hash {
		return rolledBack(
			"the log of kernel %q lacks event %d, which recorded the rows that restrict of version %d: a server "+
				"took over that lacks it, or the database was restored",
			name,
			seen.Seq,
			seen.Version,
		)
	}
	return nil
}

// guard compares the database with its mark and writes down the uses that have no commit. It is called before each
// transaction.
func (w *writer) guard(ctx context.Context) error {
	g, m := &w.guarded, w.store.o.Mark
	if m == nil {
		return nil
	}
	st, looks, err := marked.Look(m, g.store)
	switch {
	case errors.Is(err, highwater.ErrNoPlace):
		w.store.bare.Store(&err)
		g.mark = nil
		return nil
	case err != nil:
		return err
	case st == nil && w.store.o.Forwarding:
		return w.adoptForwarded(ctx)
	case st == nil:
		g.mark = nil // the first events bring one
		return nil
	}
	if !g.compared || g.mark == nil || g.head != st.Head || g.mark.Epoch != st.Epoch {
		if err := w.behindMark(ctx, st); err != nil {
			return err
		}
	}
	w.store.bare.Store(nil)
	g.settled = g.settled && g.mark != nil && g.mark.Epoch == st.Epoch
	g.mark, g.head, g.compared = st, st.Head, true
	if g.settled && g.looks == looks {
		return nil
	}
	if err := m.Heal(); err != nil {
		return err
	}
	if w.store.o.Forwarding {
		g.looks, g.settled = looks, false // see Turn.Dues
		return w.adoptedForwarded(ctx, st.Store)
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	g.looks, g.settled = looks, true
	return nil
}

// epoch returns how often the database was recovered; -1 when no mark says it.
func (w *writer) epoch() int64 {
	if m := w.store.o.Mark; m != nil {
		if st, _, err := m.Look(); err == nil && st != nil {
			return st.Epoch
		}
	}
	return -1
}

// unmoved reports whether the mark says what it said when it was last compared, so that guard has nothing to do.
func (w *writer) unmoved() bool {
	g, m := &w.guarded, w.store.o.Mark
	if m == nil || w.store.bare.Load() != nil {
		return true
	}
	if g.mark == nil || g.store == "" || !g.settled {
		return false
	}
	st, looks, err := m.Look()
	return err == nil && st != nil && st.Head == g.head && st.Epoch == g.mark.Epoch && looks == g.looks
}

// recoveredElsewhere reports whether another process has recovered the database since this one lost it. Then nothing
// of what this process knows counts any more.
func (w *writer) recoveredElsewhere() bool {
	if now := w.epoch(); now < 0 || now == w.lostEpoch {
		return false
	}
	w.forget()
	return true
}

// forget drops everything that this process knows of the database.
func (w *writer) forget() {
	w.drop()
	w.edge, w.set, w.version, w.followed, w.guarded, w.lost = nil, nil, 0, shared{}, guarded{}, nil
	w.store.sets.forget()
}

// adopt gives the kernel's log a mark, if it never had one and is about to get events. Where none can be kept, the
// database is used without, which MarkTrouble says.
func (w *writer) adopt(ctx context.Context, group []*request) error {
	g, m := &w.guarded, w.store.o.Mark
	brings := false
	for _, r := range group {
		brings = brings || len(r.batch.Events) > 0
	}
	if m == nil || !brings || g.store != "" || w.store.bare.Load() != nil {
		return nil // where none could be kept: until this process ends, since each commit would try
	}
	id := ""
	if g.mark != nil {
		id = g.mark.Store // an adoption that a crash has interrupted
	} else {
		id = marked.NewID()
		if err := m.Adopt(id, w.head()); err != nil {
			err = fmt.Errorf("%w: %w", highwater.ErrNoPlace, err)
			w.store.bare.Store(&err)
			return nil
		}
	}
	err := w.alone(ctx, &needs{}, func(_ *world, d *deeds) error {
		if w.edge.size > 0 {
			d.add(nil, marked.Adoption())
		}
		d.store = id
		return nil
	})
	if err != nil {
		return err
	}
	g.store = id
	return w.guard(ctx)
}

// intend notes what a transaction uses up, before it is committed.
func (w *writer) intend(t *attempt) error {
	g := &w.guarded
	if g.mark == nil || len(t.uses) == 0 {
		return nil
	}
	var now time.Time
	for _, r := range t.group {
		if age := r.batch.Age(); r.err == nil && age.After(now) {
			now = age
		}
	}
	err := w.store.o.Mark.Intend(g.mark.Epoch, w.head(), t.uses, now)
	if err == nil {
		g.head = w.head()
	}
	return marked.Failure(err)
}

// advance tells the mark how far the database has come. If that fails, the mark lags and the transaction stays: the
// next one finds the fault of the mark.
func (w *writer) advance(t *attempt) {
	g := &w.guarded
	if g.mark == nil {
		return
	}
	for _, u := range t.uses {
		delete(g.voided, u.ID)
	}
	if h := w.head(); h != g.head && w.store.o.Mark.Advance(g.mark.Epoch, h) == nil {
		g.head = h
	}
}

// CheckMark compares the database with its mark, if it has one. The error is kernel.ErrRollback when it went back, or
// kernel.ErrUnavailable.
func (s *Store) CheckMark(ctx context.Context) error {
	return s.do(ctx, "compare with the high-water mark", func(context.Context, *pgx.Conn) error { return nil })
}

// MarkTrouble says why the database is used without a mark although one is wanted; nil when it has one, or will have
// with its first events.
func (s *Store) MarkTrouble() error {
	if err := s.bare.Load(); err != nil {
		return *err
	}
	return nil
}
