package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A kernel whose log is in a store of its own has a mark about the database all the same: how far its log was
// forwarded, what it has seen of other kernels, and what it was about to use up. What the mark has and the database
// lacks is a due. The store adds no event about it by itself, since the numbers are given elsewhere: its taker does,
// in a turn.

// adoptForwarded gives a log that is forwarded its mark. Where none can be kept, the database is used without, which
// MarkTrouble says.
func (w *writer) adoptForwarded(ctx context.Context) error {
	g, m := &w.guarded, w.store.o.Mark
	g.mark = nil
	if w.store.bare.Load() != nil {
		return nil // until this process ends: each connection would try
	}
	id := marked.NewID()
	// That this kernel has sent what is there is not known before its log is compared: see Turn.Compared.
	none, _ := tlog.TreeHash(0, nil)
	if err := m.Adopt(id, highwater.Head{Root: none, Seen: w.seen()}); err != nil {
		err = fmt.Errorf("%w: %w", highwater.ErrNoPlace, err)
		w.store.bare.Store(&err)
		return nil
	}
	st, looks, err := marked.Look(m, g.store)
	if err == nil && (st == nil || st.Store != id) {
		err = errors.New("the mark that was just made is another one")
	}
	if err != nil {
		return err
	}
	g.mark, g.head, g.compared, g.looks, g.settled = st, st.Head, true, looks, true
	return w.adoptedForwarded(ctx, id)
}

// adoptedForwarded writes down that the log has a mark, if that is not there: a crash may have come between.
func (w *writer) adoptedForwarded(ctx context.Context, id string) error {
	if w.guarded.store != "" {
		return nil
	}
	if _, err := w.conn.Exec(ctx, "SELECT set_mark($1, $2, $3)", w.held.kernel, w.held.fence, id); err != nil {
		return err
	}
	w.guarded.store = id
	return nil
}

// dues are what is to be written down in a turn.
type dues struct {
	recovery *phases.Event // of a database that went back; nil: there is none
	uses     *highwater.State
	logged   map[string]bool // events of uses that the kernel's log has
	at       time.Time
}

// record makes the rows and the events.
func (u *dues) record(d *deeds) error {
	if u.recovery != nil {
		d.add(nil, *u.recovery)
	}
	var err error
	if u.uses != nil {
		err = marked.Settle(u.uses, u.at, settler{d, u.logged})
	}
	if err == nil && u.recovery != nil {
		err = d.takeBack(u.at)
	}
	return err
}

func (u *dues) needs() (n needs) {
	if u.uses != nil {
		n, _ = needsOf(u.uses)
	}
	n.inForce = u.recovery != nil
	return n
}

// Dues returns the events of what is due: uses that were noted outside of the database and are not in it, and a
// recovery, if there is one, with all that it takes back. None: nothing is due. logged says which events the
// kernel's log has. The events are for a batch with DecideDues; nothing was written.
func (t *Turn) Dues(ctx context.Context, recovery *phases.Event,
	logged func(ids []string) (map[string]bool, error)) ([]phases.Event, error) {
	w := t.writer
	g := &w.guarded
	if g.settled = g.settled || g.mark == nil; g.settled && recovery == nil {
		return nil, nil
	}
	st := g.counts()
	if recovery == nil && len(st.Uses) == 0 {
		g.settled = true
		return nil, nil
	}
	u := &dues{recovery: recovery, uses: st, at: w.store.o.Now()}
	var ids []string
	if st != nil {
		for _, use := range st.Uses {
			if use.Event != "" {
				ids = append(ids, use.Event)
			}
		}
	}
	var err error
	if u.logged, err = logged(ids); err != nil {
		return nil, err
	}
	if recovery != nil {
		u.logged[recovery.ID] = true // it is the first of them
	}
	t.due = u
	events, err := t.planned(ctx, u)
	if err != nil {
		return nil, unavailable("look at what is due", w.judged(err))
	}
	t.CallOff()
	g.settled = g.settled || len(events) == 0
	return events, nil
}

// planned decides about what is due in a transaction that stays open; see CallOff.
func (t *Turn) planned(ctx context.Context, u *dues) (out []phases.Event, err error) {
	w := t.writer
	if w.conn == nil {
		return nil, errNoConnection()
	}
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	t.decided = &decided{request: &request{}, dues: true} // it is called off from here on
	n := u.needs()
	if t.decided.world, err = w.look(ctx, &n); err == nil {
		d := &deeds{world: t.decided.world}
		err = u.record(d)
		t.decided.deltas = d.deltas
		for i := range d.list {
			out = append(out, d.list[i].events...)
		}
	}
	if err != nil {
		t.CallOff()
		w.dropBroken()
	}
	return out, err
}

// DecideDues is Decide for the events that Dues has returned, as they are in a batch of the kernel's own store. The
// error is kernel.ErrConflict when something else is due by now.
func (t *Turn) DecideDues(ctx context.Context, events []phases.Event) (out restrict.Digest, err error) {
	if t.due == nil {
		return out, unavailable("decide", errors.New("nothing is due"))
	}
	now, err := t.planned(ctx, t.due)
	if err != nil {
		return out, unavailable("decide", t.writer.judged(err))
	}
	if !sameEvents(now, events) {
		t.CallOff()
		return out, conflict("something else is due")
	}
	t.decided.request.batch = kernel.Batch{Events: events}
	return t.decided.world.set.Root(), nil
}

// sameEvents reports whether events are the same but for their ids, which are made anew each time.
func sameEvents(a, b []phases.Event) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		one, other := a[i], b[i]
		one.ID, other.ID = "", ""
		if !reflect.DeepEqual(one, other) {
			return false
		}
	}
	return true
}

// Compared says that the log in the database is a beginning of the kernel's log, which the taker has looked at.
func (t *Turn) Compared() { t.writer.forwarded() }

// forwarded tells the mark how far the log has come. If that fails, the mark lags.
func (w *writer) forwarded() {
	g := &w.guarded
	if g.mark == nil {
		return
	}
	if h := w.head(); h != g.head && w.store.o.Mark.Advance(g.mark.Epoch, h) == nil {
		g.head = h
	}
}

// RootAt returns the root over the first events of the log in the database, which has as many.
func (t *Turn) RootAt(ctx context.Context, size int64) (root [32]byte, err error) {
	w := t.writer
	if w.conn == nil {
		return root, unavailable("read the tree", errNoConnection())
	}
	root, err = w.rootAt(ctx, w.edge, size)
	if w.dropBroken(); err != nil {
		return root, unavailable("read the tree", err)
	}
	return root, nil
}

// SentAll reports whether the mark says that this kernel has sent the whole log that the database has.
func (t *Turn) SentAll() bool {
	w := t.writer
	g := &w.guarded
	return g.mark != nil && g.head.Size == w.edge.size && g.head.Root == [32]byte(w.edge.root())
}

// Pending returns the event of a recovery that was begun; nil: there is none.
func (t *Turn) Pending() (*phases.Event, error) {
	st := t.writer.guarded.mark
	if st == nil || st.Recovery == nil {
		return nil, nil
	}
	return marked.Unwritten(st, st.Recovery.Size)
}

// RecoveryTurn is Turn for a recovery: what is in the database is taken as it is. Until Reset it may only be looked at.
func (s *Store) RecoveryTurn(ctx context.Context) (*Turn, error) { return s.turn(ctx, true) }

// lendAnew gives the writer away for a recovery, and what it knows is as it was unless the turn has changed that.
func (w *writer) lendAnew(r *request) {
	edge, set, version, followed := w.edge, w.set, w.version, w.followed
	ctx, cancel := w.bounded()
	r.err = w.anew(ctx)
	cancel()
	w.lent = true
	close(r.turn.given)
	if r.err == nil {
		<-r.turn.over
	}
	w.lent = false
	if w.dropBroken(); r.turn.reset {
		return
	}
	w.edge, w.set, w.version, w.followed = edge, set, version, followed // what was seen before counts still
	if w.store.sets.forget(); w.lost != nil {
		w.end() // the name is for others again
	} else {
		w.drop()
	}
}

// Stand says how the database stands to its mark; false: it keeps none.
func (t *Turn) Stand(ctx context.Context) (now marked.Stand, kept bool, err error) {
	w := t.writer
	g := &w.guarded
	now = marked.Stand{Database: w.head(), Store: g.store, Forwarded: true}
	kept, err = w.compareMark(ctx, &now)
	if w.dropBroken(); err != nil {
		err = unavailable("compare with the high-water mark", err)
	}
	return now, kept, err
}

// Reset makes the database as it is the one that counts. next is what the mark says from now on; nil: none is kept.
func (t *Turn) Reset(ctx context.Context, next *highwater.State) error {
	w := t.writer
	if next != nil {
		if err := w.mark(ctx, next); err != nil {
			return unavailable("reset the high-water mark", err)
		}
	}
	t.reset, w.lost = true, nil
	return nil
}

// Replan makes the mark name the recovery that next names, in the place of the one that was planned before, and its
// event as the one that uses up the reviewer's statement.
func (t *Turn) Replan(ctx context.Context, next *highwater.State) error {
	g := &t.writer.guarded
	if g.mark == nil || next == nil {
		return nil
	}
	now := *g.mark
	now.Head, now.Recovery, now.Uses = g.head, next.Recovery, replanned(g.mark.Uses, next.Uses)
	if err := t.writer.mark(ctx, &now); err != nil {
		return unavailable("reset the high-water mark", err)
	}
	return nil
}

// replanned returns uses with the statements of reviewers as next has them.
func replanned(uses, next map[string]highwater.Use) map[string]highwater.Use {
	out := map[string]highwater.Use{}
	maps.Copy(out, uses)
	for id, u := range next {
		if strings.HasPrefix(id, highwater.Statement) {
			out[id] = u
		}
	}
	return out
}

// Finish drops the recovery from the mark: its event is in the log.
func (t *Turn) Finish(ctx context.Context) error {
	st := t.writer.guarded.mark
	if st == nil || st.Recovery == nil {
		return nil
	}
	next := *st
	next.Recovery, next.Head = nil, t.writer.guarded.head
	if err := t.writer.mark(ctx, &next); err != nil {
		return unavailable("reset the high-water mark", err)
	}
	return nil
}

// mark makes the mark say next.
func (w *writer) mark(ctx context.Context, next *highwater.State) error {
	g, m := &w.guarded, w.store.o.Mark
	if err := m.Reset(next); err != nil {
		return err
	}
	st, looks, err := m.Look()
	if err != nil {
		return err
	}
	if g.store != st.Store {
		if _, err := w.conn.Exec(ctx, "SELECT set_mark($1, $2, $3)", w.held.kernel, w.held.fence, st.Store); err != nil {
			return err
		}
	}
	g.store, g.mark, g.head, g.looks = st.Store, st, st.Head, looks
	g.compared, g.settled, g.voided = true, false, nil
	w.store.bare.Store(nil)
	return nil
}
