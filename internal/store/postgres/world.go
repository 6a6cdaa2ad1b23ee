package postgres

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/approvaltable"
	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// clockStep is how far the wall time moves before it is noted: each note changes what is covered.
const clockStep = int64(time.Second)

// question is what an item of the queue is about.
type question struct {
	kind approvals.Kind
	key  string
}

// single is what there is once.
type single struct {
	wall, version      int64 // the clock of leases, and the last version given to a value
	through, announced int64 // compaction of the kernel's own log
}

// world is the rows that a group is decided by, while no other kernel can change them. Rows are never
// changed in place.
type world struct {
	kernel int32
	hasher restrict.Hasher
	set    *restrict.Set
	single single
	before single // as it is in the database

	found map[place]row // as they are in the database
	now   map[place]row // as they are after the batches so far; nil: gone

	queue    approvaltable.Table
	leases   *leasetable.Table
	siblings map[question]map[string]bool
}

func newWorld(kernel int32, set *restrict.Set, s single) *world {
	w := &world{kernel: kernel, set: set, single: s, found: map[place]row{}, now: map[place]row{},
		queue: approvaltable.Table{}, leases: &leasetable.Table{}, siblings: map[question]map[string]bool{}}
	w.leases.SetHigh(time.Unix(0, s.wall).UTC())
	return w
}

// believe checks a row that was read against its digest.
func (w *world) believe(r row) error {
	p := r.place()
	if err := holds(w.set, p, r.content(&w.hasher)); err != nil {
		return err
	}
	w.found[p], w.now[p] = r, r
	return nil
}

// holds compares a row with the set of all.
func holds(set *restrict.Set, p place, got restrict.Digest) error {
	want, ok := set.Get(p.table, p.key)
	switch {
	case !ok:
		return tampered(p, "added")
	case want != got:
		return tampered(p, "changed")
	}
	return nil
}

func tampered(p place, what string) error {
	err := &kernel.Tampered{}
	err.Add(p.table.String(), p.key, what)
	return err
}

func (w *world) addLatch(r *latchRow) error { return w.believe(r) }
func (w *world) addRun(r *runRow) error     { return w.believe(r) }
func (w *world) addValue(r *stateRow) error { return w.believe(r) }

func (w *world) addApproval(r *approvalRow) error {
	if err := w.believe(r); err != nil {
		return err
	}
	it := r.item()
	w.queue[it.ID] = it
	return nil
}

func (w *world) addLease(r *leaseRow) error {
	if err := w.believe(r); err != nil {
		return err
	}
	l, err := r.lease()
	if err == nil {
		w.leases.Put(l)
	}
	return err
}

// addFoundLease adds a lease of which nothing is believed. One that cannot be read, or says two things, is none.
func (w *world) addFoundLease(r *leaseRow) error {
	if err := w.believe(r); err != nil {
		return err
	}
	l, err := r.lease()
	if err != nil {
		return nil
	}
	if same, err := newLeaseRow(&l, r); err == nil && same.content(&w.hasher) == r.content(&w.hasher) {
		w.leases.Put(l)
	}
	return nil
}

// addSiblings reads the ids of items that are about the same as others.
func (w *world) addSiblings(rows pgx.Rows) error {
	for rows.Next() {
		var kind, key, id []byte
		if err := rows.Scan(&kind, &key, &id); err != nil {
			return err
		}
		q := question{approvals.Kind(kind), string(key)}
		if w.siblings[q] == nil {
			w.siblings[q] = map[string]bool{}
		}
		w.siblings[q][string(id)] = true
	}
	return rows.Err()
}

// complete checks that no row is missing that was asked for by its key.
func (w *world) complete(asked []place) error {
	for _, p := range asked {
		if w.found[p] != nil {
			continue
		}
		if _, there := w.set.Get(p.table, p.key); there {
			return tampered(p, "missing")
		}
	}
	return nil
}

func conflict(what string) error {
	return fmt.Errorf("postgres store: %w: %s", kernel.ErrConflict, what)
}

// A step is what one batch makes of the world.
type step struct {
	rows   map[place]row // nil: gone
	single single
	queue  approvaltable.Table
	leases *leasetable.Table
	keys   map[question]bool // whose newest item may be another
	pruned int
}

func (s *step) put(r row) { s.rows[r.place()] = r }

// blank returns a step that changes nothing.
func (w *world) blank() *step {
	return &step{rows: map[place]row{}, single: w.single, queue: w.queue, leases: w.leases, keys: map[question]bool{}}
}

// decide returns what a batch changes, or why it does not hold. size is the length of the log before it.
func (w *world) decide(b *kernel.Batch, size int64) (*step, error) {
	s := w.blank()
	for _, f := range []func(*step, *kernel.Batch) error{w.rests, w.lend, w.runs, w.values, w.latch, w.ask} {
		if err := f(s, b); err != nil {
			return nil, err
		}
	}
	if b.Compact != 0 {
		if b.Compact <= w.single.through || b.Compact > size || len(b.Events) == 0 {
			return nil, conflict("compaction")
		}
		s.single.through, s.single.announced = b.Compact, size+1
	}
	if len(b.Events) > 0 && b.Now.UnixNano()-s.single.wall >= clockStep {
		s.single.wall = b.Now.UnixNano()
	}
	if b.Prune {
		return s, w.prune(s, b.Age())
	}
	return s, nil
}

// rests refuses a batch that was computed from rows that have changed since.
func (w *world) rests(_ *step, b *kernel.Batch) error {
	if k := b.Unlatched; k != nil {
		for _, session := range []string{k.Session, ""} {
			l, err := w.latchOf(k.Runtime, session)
			if err != nil || l != nil && l.Holds(*k) {
				return conflict("session latched")
			}
		}
	}
	for _, r := range b.StateReads {
		var version int64
		if v, ok := w.now[statePlace(r.Namespace, r.Key)].(*stateRow); ok {
			version = v.version
		}
		if version != r.Version {
			return conflict("hook state")
		}
	}
	return nil
}

func (w *world) latchOf(runtime, session string) (*kernel.Latch, error) {
	r, ok := w.now[place{restrict.Latches, restrict.Key(runtime, session)}].(*latchRow)
	if !ok {
		return nil, nil
	}
	l, err := r.latch()
	return &l, err
}

func (w *world) lend(s *step, b *kernel.Batch) error {
	if len(b.Leases) == 0 {
		return nil
	}
	s.leases = w.leases.Clone()
	for i := range b.Leases {
		if err := s.leases.Apply(&b.Leases[i]); err != nil {
			return conflict(err.Error())
		}
	}
	for l := range s.leases.All() {
		old, _ := w.now[leasePlace(l.ID)].(*leaseRow)
		r, err := newLeaseRow(&l, old)
		if err != nil {
			return err
		}
		if old == nil || r.content(&w.hasher) != old.content(&w.hasher) {
			s.put(r)
		}
	}
	return nil
}

func (w *world) runs(s *step, b *kernel.Batch) error {
	list := b.Runs()
	for i := range list {
		var version int64
		if old, ok := w.now[runPlace(list[i].Key)].(*runRow); ok {
			version = old.version
		}
		if version != list[i].Version {
			return conflict("run metadata")
		}
		r, err := newRunRow(&list[i], b.Age())
		if err != nil {
			return err
		}
		s.put(r)
	}
	if b.TouchRun == nil {
		return nil
	}
	p := runPlace(*b.TouchRun)
	r, ok := s.rows[p].(*runRow)
	if !ok {
		r, ok = w.now[p].(*runRow)
	}
	// An expired run stays expired: using it must not bring its contents back.
	if age := b.Age().UnixNano(); ok && age > r.used && age-r.used <= int64(kernel.MetadataTTL) {
		used := *r
		used.used = age
		s.put(&used)
	}
	return nil
}

func (w *world) values(s *step, b *kernel.Batch) error {
	for _, v := range b.StateWrites {
		p := statePlace(v.Namespace, v.Key)
		if v.Delete {
			s.rows[p] = nil
			continue
		}
		s.single.version++
		s.put(&stateRow{[]byte(v.Namespace), []byte(v.Key), s.single.version, append([]byte{}, v.Value...)})
	}
	return nil
}

func (w *world) latch(s *step, b *kernel.Batch) error {
	cleared := false
	if k := b.ClearLatch; k != nil {
		old, err := w.latchOf(k.Runtime, k.Session)
		if err != nil {
			return err
		}
		if old == nil || b.ClearOf != "" && !old.EndsItself(b.ClearOf) {
			return conflict("no such latch")
		}
		s.rows[place{restrict.Latches, restrict.Key(k.Runtime, k.Session)}] = nil
		cleared = b.Latch != nil && b.Latch.Key() == *k
	}
	if b.Latch == nil {
		return nil
	}
	old, err := w.latchOf(b.Latch.Runtime, b.Latch.Session)
	if err != nil {
		return err
	}
	if cleared {
		old = nil
	}
	if !b.Latch.Replaces(old) {
		return nil
	}
	r, err := newLatchRow(*b.Latch)
	s.put(r)
	return err
}

func (w *world) ask(s *step, b *kernel.Batch) error {
	if len(b.Approvals) == 0 {
		return nil
	}
	changed, err := w.queue.After(b.Approvals)
	if err != nil {
		return err
	}
	s.queue = maps.Clone(w.queue)
	s.queue.Take(changed)
	for id, it := range changed {
		if _, kept := s.queue[id]; !kept {
			continue
		}
		r, err := newApprovalRow(&it)
		if err != nil {
			return err
		}
		s.put(r)
		if w.now[r.place()] == nil {
			s.keys[question{it.Kind, it.Key}] = true
		}
	}
	for id, it := range w.queue {
		if _, kept := s.queue[id]; !kept {
			s.forgetItem(&it)
		}
	}
	return nil
}

func (s *step) forgetItem(it *approvals.Item) {
	s.rows[place{restrict.Approvals, restrict.Key(it.ID)}] = nil
	s.keys[question{it.Kind, it.Key}] = true
}

func (w *world) prune(s *step, now time.Time) error {
	s.queue, s.leases = maps.Clone(s.queue), s.leases.Clone()
	for _, r := range s.after(w) {
		switch r := r.(type) {
		case *runRow:
			if r.used < now.Add(-kernel.MetadataTTL).UnixNano() {
				s.rows[r.place()] = nil
				s.pruned++
			}
		case *leaseRow:
			if r.expires < now.Add(-leases.Retention).UnixNano() {
				s.rows[r.place()] = nil
			}
		case *approvalRow:
			if !r.open() && r.ends < now.Add(-approvals.KeepClosed).UnixNano() {
				it := s.queue[string(r.id)]
				s.forgetItem(&it)
				delete(s.queue, it.ID)
			}
		}
	}
	s.leases.Prune(now.Add(-leases.Retention))
	return nil
}

// after returns the rows as they are after the step.
func (s *step) after(w *world) map[place]row {
	out := maps.Clone(w.now)
	maps.Copy(out, s.rows)
	return out
}

// take makes the step part of the world, and returns the digests that it changes.
func (w *world) take(s *step) []delta {
	var out []delta
	for p, r := range s.rows {
		d := delta{place: p, gone: r == nil}
		if r != nil {
			d.digest = r.content(&w.hasher)
		}
		w.now[p] = r
		out = append(out, d)
	}
	w.queue, w.leases = s.queue, s.leases
	for q := range s.keys {
		out = append(out, w.newest(q, s))
	}
	was := w.single
	w.single = s.single
	w.leases.SetHigh(time.Unix(0, s.single.wall).UTC())
	if was.wall != s.single.wall {
		out = append(out, delta{place: clockPlace(), digest: intContent(&w.hasher, s.single.wall)})
	}
	if was.version != s.single.version {
		out = append(out, delta{place: versionPlace(), digest: intContent(&w.hasher, s.single.version)})
	}
	if was.through != s.single.through {
		out = append(out, delta{place: compactionPlace(w.kernel),
			digest: intContent(&w.hasher, s.single.through, s.single.announced)})
	}
	out = slices.DeleteFunc(out, func(d delta) bool { // what is as it was
		old, there := w.set.Get(d.table, d.key)
		return d.gone && !there || !d.gone && there && old == d.digest
	})
	if len(out) > 0 {
		e := w.set.Edit()
		for i := range out {
			out[i].apply(e)
		}
		w.set = e.Set()
	}
	return out
}

// newest returns the digest that says which item of a question is the newest.
func (w *world) newest(q question, s *step) delta {
	best := ""
	for id := range w.siblings[q] {
		if r, known := w.now[place{restrict.Approvals, restrict.Key(id)}]; !known || r != nil {
			best = max(best, id)
		}
	}
	for id, it := range s.queue {
		if it.Kind == q.kind && it.Key == q.key {
			best = max(best, id)
		}
	}
	d := delta{place: keyPlace(q.kind, q.key), gone: best == ""}
	if !d.gone {
		d.digest = keyContent(&w.hasher, best)
	}
	return d
}

// touches reports whether a batch may change rows that restrict, rests on more than the set tells, or uses something
// up.
func touches(set *restrict.Set, wall int64, b *kernel.Batch) bool {
	has := func(p place) bool { _, ok := set.Get(p.table, p.key); return ok }
	latched := func(runtime, session string) bool {
		return has(place{restrict.Latches, restrict.Key(runtime, session)})
	}
	k := b.Unlatched
	return marked.Orders(b) || len(b.Runs()) > 0 || b.TouchRun != nil && has(runPlace(*b.TouchRun)) ||
		len(b.StateReads) > 0 || len(b.StateWrites) > 0 || b.Latch != nil || b.ClearLatch != nil || b.Compact != 0 ||
		len(b.Approvals) > 0 || len(b.Leases) > 0 || b.Prune ||
		k != nil && (latched(k.Runtime, k.Session) || latched(k.Runtime, "")) ||
		len(b.Events) > 0 && b.Now.UnixNano()-wall >= clockStep
}
