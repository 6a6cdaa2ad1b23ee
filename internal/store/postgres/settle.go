package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// deeds are what the store does by itself in a transaction of its own: what it changes, and the events that say so.
type deeds struct {
	world  *world
	list   []deed
	deltas []delta
	store  string // id of the mark that the kernel's row is to say; "": as it is
	anew   bool   // the rows did not follow from those of the version before
}

type deed struct {
	events []phases.Event // the last one covers the rows as they are then
	set    *restrict.Set
}

// add changes rows and records it. s may be nil.
func (d *deeds) add(s *step, events ...phases.Event) {
	if s != nil {
		d.deltas = append(d.deltas, d.world.take(s)...)
	}
	d.list = append(d.list, deed{events, d.world.set})
}

// alone runs a transaction of the store's own. f decides inside of it, while no other kernel changes rows that
// restrict. After an error nothing was written, or the connection is gone: then it is decided anew, by what is there.
func (w *writer) alone(ctx context.Context, n *needs, f func(*world, *deeds) error) error {
	t, err := w.aloneSteps(ctx, n, f)
	w.undo(ctx, err)
	if err == nil && t != nil {
		w.won(t)
		w.placeAhead()
	}
	return err
}

func (w *writer) aloneSteps(ctx context.Context, n *needs, f func(*world, *deeds) error) (*attempt, error) {
	world, err := w.look(ctx, n)
	if err != nil {
		return nil, err
	}
	return w.perform(ctx, world, f)
}

// perform has f decide in the open transaction, and commits that.
func (w *writer) perform(ctx context.Context, world *world, f func(*world, *deeds) error) (*attempt, error) {
	d := &deeds{world: world}
	if err := f(world, d); err != nil {
		return nil, err
	}
	if len(d.list) == 0 && d.store == "" {
		_, err := w.conn.Exec(ctx, "ROLLBACK")
		return nil, err
	}
	t := &attempt{edge: w.edge.clone(), version: w.version, set: w.set, anew: d.anew}
	a := newAppending(w.edge.size)
	for i := range d.list {
		r := &request{batch: kernel.Batch{Events: d.list[i].events}}
		if err := r.encode(); err != nil {
			return nil, err
		}
		if a.add(r, t.edge, d.list[i].set, 0); r.err != nil {
			return nil, r.err
		}
	}
	return t, w.finish(ctx, t, a, world, d.deltas, func(b *pgx.Batch) {
		if d.store != "" {
			b.Queue("SELECT set_mark($1, $2, $3)", w.held.kernel, w.held.fence, d.store)
		}
		if more := int64(a.ids.n); more > 1 { // a recovery may write many at once
			b.Queue("SELECT partition_ahead($1, $2)", w.held.kernel, more)
		}
	})
}

// spending is marked.Rows over the rows of a world. Without a world there are none.
type spending struct {
	*world
	step *step // takes what is raised
}

// Item implements marked.Rows.
func (s spending) Item(id string) (*approvals.Item, error) {
	if it, ok := s.queue[id]; ok {
		return &it, nil
	}
	return nil, nil
}

// Chain implements marked.Rows.
func (s spending) Chain(id string) (out []leases.Lease, err error) {
	for _, above := range append(leases.Prefixes(id), id) {
		if l := s.leases.Lease(above); l != nil {
			out = append(out, *l)
		}
	}
	return out, nil
}

// Raise implements marked.Rows.
func (s spending) Raise(id string, count int64) (bool, error) {
	l := s.step.leases.Lease(id)
	if l == nil || l.Uses >= count {
		return false, nil
	}
	old, _ := s.now[leasePlace(id)].(*leaseRow)
	if l.Uses = min(count, l.MaxUses); l.State == leases.Active && l.Uses >= l.MaxUses {
		l.State = leases.Exhausted
	}
	r, err := newLeaseRow(l, old)
	if err != nil {
		return false, err
	}
	s.step.leases = s.step.leases.Clone()
	s.step.leases.Put(*l)
	s.step.put(r)
	return true, nil
}

// unspent refuses a batch that uses up what was used before as the mark says. Where the mark says more uses of a lease
// than its row, the transaction is begun anew: settle writes them down first, with an event.
func (w *writer) unspent(world *world, b *kernel.Batch) error {
	undone, err := marked.Spent(w.guarded.counts(), b, spending{world, world.blank()})
	if undone {
		w.guarded.settled = false
		if err == nil {
			err = overtaken()
		}
	}
	return err
}

// settler writes down uses that have no commit.
type settler struct {
	*deeds
	logged map[string]bool // ids of events that are in the log
}

// needsOf returns the rows that uses are about.
func needsOf(st *highwater.State) (n needs, events [][]byte) {
	for id, u := range st.Uses {
		if lease, ok := strings.CutPrefix(id, highwater.Lease); ok {
			n.leaseIDs = append(n.leaseIDs, []byte(lease))
		} else if item, ok := strings.CutPrefix(id, highwater.Approval); ok {
			n.approvalIDs = append(n.approvalIDs, []byte(item))
		}
		if u.Event != "" {
			events = append(events, []byte(u.Event))
		}
	}
	return n, events
}

const eventsByID = "SELECT id FROM events WHERE kernel = $1 AND id = ANY ($2::bytea[])"

// logs returns which of the events are in this kernel's log.
func (w *writer) logs(ctx context.Context, ids [][]byte) (map[string]bool, error) {
	out := map[string]bool{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := w.conn.Query(ctx, eventsByID, w.held.kernel, ids)
	if err != nil {
		return nil, err
	}
	var id []byte
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { out[string(id)] = true; return nil })
	return out, err
}

// settle writes down the uses that have no commit, and a recovery that has none: the process that noted them ended in
// between, or the database went back and was recovered.
func (w *writer) settle(ctx context.Context) error {
	st := w.guarded.counts()
	recovery, err := marked.Unwritten(st, w.edge.size)
	if err != nil {
		return err
	}
	n, events := needsOf(st)
	n.inForce = recovery != nil
	if recovery == nil && len(st.Uses) == 0 {
		return nil
	}
	logged, err := w.logs(ctx, events)
	if err != nil {
		return err
	}
	return w.alone(ctx, &n, func(_ *world, d *deeds) error {
		if recovery != nil {
			d.add(nil, *recovery)
			logged[recovery.ID] = true // it may record the use of a reviewer's statement
		}
		err := marked.Settle(st, time.Now(), settler{d, logged})
		if err == nil && recovery != nil {
			err = d.takeBack(time.Now())
		}
		return err
	})
}

// SettleApproval implements marked.Settler.
func (s settler) SettleApproval(id, event string, now time.Time) error {
	it, ok := s.world.queue[id]
	if !ok || it.State != approvals.Approved && it.State != approvals.Pending {
		return nil
	}
	e := marked.ApprovalStep(&it, approvals.Consumed, marked.NoCommit, now)
	if event != "" && !s.logged[event] {
		e.ID = event
	}
	return s.close(it, approvals.Consumed, e, now)
}

// close closes an item, and records it.
func (d *deeds) close(it approvals.Item, state approvals.State, e phases.Event, now time.Time) error {
	step := d.world.blank()
	step.queue = maps.Clone(step.queue)
	if err := step.close(it, state, now); err != nil {
		return err
	}
	d.add(step, e)
	return nil
}

// SettleStatement implements marked.Settler.
func (s settler) SettleStatement(id, event string, now time.Time) error {
	if !s.logged[event] {
		s.add(nil, marked.StatementStep(id, event, now))
	}
	return nil
}

// SettleLease implements marked.Settler. The rows cannot have been set back without a notice, so the log of no kernel
// has the use.
func (s settler) SettleLease(id string, count int64, now time.Time) error {
	step := s.world.blank()
	raised, err := spending{s.world, step}.Raise(id, count)
	if err != nil || !raised {
		return err
	}
	s.add(step, marked.LeaseStep(step.leases.Lease(id), "claimed", marked.NoCommit, now))
	return nil
}

// takeBack takes back what the lost part of the logs may have used up or taken back itself: every approval that counts
// and every active lease of the organisation.
func (d *deeds) takeBack(now time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(d.world.queue)) {
		if it := d.world.queue[id]; it.State == approvals.Approved {
			e := marked.ApprovalStep(&it, approvals.Superseded, marked.Recovered, now)
			if err := d.close(it, approvals.Superseded, e, now); err != nil {
				return err
			}
		}
	}
	var lent []string
	for l := range d.world.leases.All() {
		if l.State == leases.Active {
			lent = append(lent, l.ID)
		}
	}
	slices.Sort(lent)
	for _, id := range lent {
		l := d.world.leases.Lease(id)
		was, _ := d.world.now[leasePlace(id)].(*leaseRow)
		step := d.world.blank()
		step.leases = step.leases.Clone()
		step.revoke(l, was)
		d.add(step, marked.LeaseStep(l, "revoked", marked.Recovered, now))
	}
	return nil
}

// plainBody encodes an event that does not carry the digest of the rows.
func plainBody(e *phases.Event, seq int64) ([]byte, error) {
	texts, _, err := leaf.EncodeTexts(nil, []phases.Event{*e})
	if err != nil {
		return nil, err
	}
	return leaf.Numbered(nil, texts[0], seq, nil), nil
}
