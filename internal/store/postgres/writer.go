package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
)

const (
	maxGroup    = 128     // batches in one transaction
	maxBytes    = 8 << 20 // of their events, about
	maxAttempts = 20      // of a transaction that was undone by what may pass

	renewMost = 3 * time.Second // between two looks whether the database is there
)

// writer writes. One goroutine decides about requests, and it alone uses the connection.
type writer struct {
	store  *Store
	conn   *pgx.Conn // nil: there is none, or it broke
	access int64     // how it was made
	lent   bool      // a turn has the writer: it keeps its connection
	held   held
	edge   *edge // as the last transaction left it
	placed int64 // the partition of the next event, when partitions were last made ahead

	crowd int          // about how many requests come at once
	spare []*appending // of transactions that have ended

	version int64 // of the rows that restrict
	set     *restrict.Set
	single  single // of version; the clock and the version of values only

	fitting  bool   // conn leads to a schema of this program's version
	compared bool   // set is of the history that conn leads to
	followed shared // as it was last read or written: the newest version, and the event that records it

	guarded guarded

	lost      error     // the database went back: why nothing can be written
	lostAt    time.Time // when that was last looked at
	lostEpoch int64     // of the mark then
}

func (w *writer) run() {
	defer w.end()
	beat := time.NewTicker(min(w.store.o.Hold/7, renewMost))
	defer beat.Stop()
	var again <-chan time.Time
	for pause := retryFirst; ; {
		again, pause = w.retry(pause)
		select {
		case r, ok := <-w.store.requests:
			if !ok {
				return
			}
			w.serve(r)
		case <-beat.C:
			w.renew()
		case <-again:
			w.renew()
		}
		w.answers()
	}
}

// serve decides about the first request and those behind it, and tells their callers.
func (w *writer) serve(first *request) {
	if w.streams() {
		if first = w.stream(first); first == nil {
			return
		}
	}
	group := []*request{first}
	total := first.bytes
	// Requests that came in during the last transaction go together; none waits for more that may never come.
fill:
	for len(group) < maxGroup && total < maxBytes {
		select {
		case next, ok := <-w.store.requests:
			if !ok {
				break fill
			}
			group = append(group, next)
			total += next.bytes
		default:
			break fill
		}
	}
	var together []*request
	for _, r := range group {
		switch {
		case !r.take():
		case r.turn != nil:
			w.lend(r)
		case r.recover != nil:
			w.recover(r)
		case r.work != nil:
			w.work(r)
		case alone(&r.batch):
			w.commit([]*request{r}, nil)
		default:
			together = append(together, r)
		}
	}
	if len(together) > 0 {
		w.commit(together, nil)
	}
	w.inform(group)
}

// alone reports whether a batch shares its transaction with no other.
func alone(b *kernel.Batch) bool { return b.Prune || b.Compact != 0 }

// inform has callers read the outcome of their requests, and the lookup learn of what was written.
func (w *writer) inform(group []*request) {
	for _, r := range group {
		if r.err == nil && r.receipt.First > 0 {
			w.store.fresh.add(r.receipt.First, r.batch.Events)
		}
		r.done <- struct{}{}
	}
	if w.edge != nil {
		w.store.grown(w.edge.size)
	}
}

// bounded returns a context for one exchange with the server. While that is silent for longer than a statement waits
// for other kernels, the circuit is open.
func (w *writer) bounded() (context.Context, context.CancelFunc) {
	o := &w.store.o
	after := o.LockTimeout + answerTime
	silent := time.AfterFunc(after, func() { w.silent(after) })
	ctx, cancel := context.WithTimeout(context.Background(), o.StatementTimeout+5*time.Second)
	return ctx, func() { silent.Stop(); cancel() }
}

// work runs what is no batch, and may be done twice without harm: when the connection breaks, it is tried once more.
func (w *writer) work(r *request) {
	for range 2 {
		ctx, cancel := w.bounded()
		if r.err = w.ready(ctx); r.err == nil {
			r.err = r.work(ctx, w.conn)
		}
		cancel()
		if w.dropBroken(); r.err == nil || w.conn != nil || unanswered(r.err) {
			break
		}
	}
	w.failed(r.err)
}

// commit decides about batches. Each has its outcome when it returns.
//
// sent is the first attempt, if it was made already.
func (w *writer) commit(group []*request, sent *attempt) {
	err := w.transaction(group, sent)
	if err != nil && len(group) > 1 && w.conn != nil && !errors.Is(err, errUndecided()) {
		for _, r := range group { // perhaps without one of them
			w.commit([]*request{r}, nil)
		}
		return
	}
	if err != nil {
		for _, r := range group {
			r.receipt, r.err = kernel.Receipt{}, err
		}
	}
}

// undecidedError is a class of errors for errors.Is: it could not be found out whether a transaction was committed.
type undecidedError struct{}

func (undecidedError) Error() string {
	return "the store was closed before it was known whether the events were written; the log says it"
}

func errUndecided() error { return undecidedError{} }

// transaction writes the group. A nil error means that the transaction is durable and every request has its own
// outcome; otherwise nothing of it is.
func (w *writer) transaction(group []*request, sent *attempt) error {
	var err error
	stale := 0 // how often others were faster
	for n := range maxAttempts {
		if n > 2 {
			time.Sleep(time.Duration(n) * time.Millisecond)
		}
		t := sent
		if sent = nil; t != nil {
			err = t.err
		} else {
			for _, r := range group {
				r.receipt, r.err = kernel.Receipt{}, nil
			}
			t, err = w.try(group, stale > 1)
		}
		if err == nil {
			w.won(t)
			w.placeAhead()
			return nil
		}
		if w.dropBroken(); t != nil && t.sent && (w.conn == nil || t.lost) {
			t.lost = false
			written, rerr := w.resolve(t)
			if written {
				return nil
			}
			if rerr != nil {
				return rerr
			}
			w.guarded.unused(t.uses)
			continue // nothing of it was written
		}
		if t != nil && (w.conn != nil || !t.sent) {
			w.guarded.unused(t.uses)
		}
		if w.conn == nil && (n > 2 || unanswered(err)) || w.conn != nil && !passing(err) {
			break
		}
		if refusal(err) == codeStale {
			stale++
		}
		if perr := w.prepare(err, group); perr != nil {
			return w.judged(perr)
		}
	}
	w.failed(err)
	return w.judged(err)
}

// prepare does what an error asks for before the next attempt.
func (w *writer) prepare(err error, group []*request) error {
	if w.conn == nil {
		return nil // the next attempt connects
	}
	ctx, cancel := w.bounded()
	defer cancel()
	switch refusal(err) {
	case codeStale:
		return w.follow(ctx)
	case codeNoPlace:
		more := 0
		for _, r := range group {
			more += len(r.texts)
		}
		_, err = w.conn.Exec(ctx, "SELECT partition_ahead($1, $2)", w.held.kernel, more)
		return err
	}
	return nil
}

// judged gives an error that ended a transaction its class.
func (w *writer) judged(err error) error {
	if errors.Is(err, kernel.ErrTampered) {
		w.disbelieve()
	}
	switch {
	case refusal(err) == codeFenced:
		w.drop() // the next request asks for the name anew
	case errors.Is(err, kernel.ErrRollback) && w.lost == nil:
		w.lose(err)
	}
	return err
}

// An attempt is a transaction that was, or may have been, committed.
type attempt struct {
	group   []*request
	edge    *edge
	sent    bool // it may have been committed
	lost    bool // the connection that it was sent on broke before its answer was read
	err     error
	version int64
	set     *restrict.Set
	single  single
	uses    []highwater.Use // that were noted outside of the database
	anew    bool            // the rows did not follow from those of the version before; see deeds
}

func (w *writer) won(t *attempt) {
	t.edge.full = nil
	if t.version > w.version {
		w.followed = shared{version: t.version, kernel: w.held.kernel, seq: t.edge.size,
			leaf: tlog.StoredHashIndex(0, t.edge.size-1), hash: t.edge.leaf}
	}
	w.edge, w.version, w.set, w.single = t.edge, t.version, t.set, t.single
	w.answers()
	w.advance(t)
	w.store.sets.put(t.version, t.set)
}

// isPlaced reports whether the partition behind that of the next event is there.
func (w *writer) isPlaced() bool { return w.edge.size/w.held.span <= w.placed }

// placeAhead makes the partition behind that of the next event, if it is missing.
func (w *writer) placeAhead() {
	if w.conn == nil || w.isPlaced() {
		return
	}
	ctx, cancel := w.bounded()
	defer cancel()
	if _, err := w.conn.Exec(ctx, "SELECT partition_ahead($1, $2)", w.held.kernel, 1); err == nil {
		w.placed = w.edge.size / w.held.span
	}
}

// try writes the group once. lock: no other kernel may be faster.
func (w *writer) try(group []*request, lock bool) (*attempt, error) {
	ctx, cancel := w.bounded()
	defer cancel()
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	if err := w.adopt(ctx, group); err != nil {
		return nil, err
	}
	d := w.last().after(w.appending())
	defer w.ended(d.events)
	for _, r := range group {
		if lock || touches(d.set, d.single.wall, &r.batch) {
			return w.locked(ctx, group)
		}
		d.put(r)
	}
	w.send(d, false)
	return &d.attempt, <-d.answer
}

// locked writes a group that changes rows that restrict.
func (w *writer) locked(ctx context.Context, group []*request) (*attempt, error) {
	t, err := w.lockedSteps(ctx, group)
	w.undo(ctx, err)
	return t, err
}

// undo ends a transaction that an error has stopped.
func (w *writer) undo(ctx context.Context, err error) {
	if err != nil && w.conn != nil && !w.conn.IsClosed() {
		if _, rerr := w.conn.Exec(ctx, "ROLLBACK"); rerr != nil {
			_ = w.conn.Close(ctx)
		}
	}
}

func (w *writer) lockedSteps(ctx context.Context, group []*request) (*attempt, error) {
	var n needs
	for _, r := range group {
		n.of(&r.batch)
	}
	world, err := w.look(ctx, &n)
	if err != nil {
		return nil, err
	}
	t := &attempt{group: group, edge: w.edge.clone(), version: w.version, set: w.set}
	a := newAppending(w.edge.size)
	var deltas []delta
	for _, r := range group {
		if r.err = a.refuses(r); r.err != nil {
			continue
		}
		if r.err = w.unspent(world, &r.batch); errors.Is(r.err, overtaken()) {
			return nil, r.err
		} else if r.err != nil {
			continue
		}
		s, err := world.decide(&r.batch, t.edge.size)
		if err != nil {
			r.err = err
			continue
		}
		deltas = append(deltas, world.take(s)...)
		a.add(r, t.edge, world.set, s.pruned)
		if a.notes(r); w.guarded.mark != nil {
			uses, err := marked.Uses(&r.batch, spending{world, nil})
			if t.uses = append(t.uses, uses...); err != nil {
				return nil, err
			}
		}
	}
	if a.ids.n == 0 {
		_, err := w.conn.Exec(ctx, "ROLLBACK") // all of them conflict
		t.version, t.set, t.single = w.version, w.set, w.single
		return t, err
	}
	return t, w.record(ctx, t, world, a, deltas)
}

// record writes what a group has changed, and commits.
func (w *writer) record(ctx context.Context, t *attempt, world *world, a *appending, deltas []delta) error {
	return w.finish(ctx, t, a, world, deltas, nil)
}

// finish writes what was decided, and commits it. more adds statements.
func (w *writer) finish(ctx context.Context, t *attempt, a *appending, world *world, deltas []delta,
	more func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	world.writes(b)
	h := &w.held
	if was := world.before.through; world.single.through != was {
		b.Queue("SELECT compact($1, $2, $3, $4)", h.kernel, h.fence, world.single.through, world.single.announced)
	}
	if t.set, t.single = world.set, world.single; len(deltas) > 0 || t.anew {
		changes := repairedRows()
		if !t.anew {
			changes = encodeDeltas(deltas)
		}
		t.version++
		b.Queue("SELECT advance($1, $2, $3, $4, $5, $6, $7, $8, $9)", h.kernel, h.fence, t.version, t.set.Node(),
			t.edge.size, tlog.StoredHashIndex(0, t.edge.size-1), t.single.wall, t.single.version, changes)
	}
	if more != nil {
		more(b)
	}
	if b.Len() > 0 {
		if err := w.conn.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	if err := w.intend(t); err != nil { // as late as can be: a use that is noted counts, whatever comes of the commit
		return err
	}
	t.sent = alive(w.conn)
	return appendAndCommit(ctx, w.conn.PgConn(), a.values(h, t), func(p *pgconn.Pipeline) {
		if a.once.n > 0 {
			p.SendQueryParams("SELECT note_once($1, $2, $3, $4)", [][]byte{int4(h.kernel), int8s(h.fence), a.once.value(),
				a.onceSeqs.value()}, nil, binaryFormat(), nil)
		}
	})
}

// look begins a transaction, makes it the only one that changes rows that restrict, and reads those of the group.
func (w *writer) look(ctx context.Context, n *needs) (*world, error) {
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	var now shared
	var own single
	world := newWorld(w.held.kernel, nil, single{})
	b.Queue("SELECT " + sharedColumns + " FROM lock_shared() s").QueryRow(now.scan)
	b.Queue(compactionStored, w.held.kernel).QueryRow(func(r pgx.Row) error {
		return r.Scan(&own.through, &own.announced)
	})
	b.Queue(changesAfter, w.version).Query(func(rows pgx.Rows) error {
		set, err := followed(w.version, w.set, &now, rows)
		if err == nil {
			err = compactedAs(set, w.held.kernel, &own)
		}
		if err == nil {
			own.wall, own.version = now.wall, now.stateVersion
			*world = *newWorld(w.held.kernel, set, own)
			world.before = own
		}
		return err
	})
	n.queue(b, world)
	err := w.conn.SendBatch(ctx, b).Close()
	if err == nil && now.version != w.version {
		err = vouch(ctx, w.conn, &now)
	}
	if errors.Is(err, errGap()) { // so far behind that all rows are to be read anew
		w.set = nil
		w.store.sets.forget()
	}
	if err == nil {
		err = world.complete(n.exacts)
	}
	if err == nil {
		if now.version != w.version {
			w.followed = now
		}
		w.version, w.set, w.single = now.version, world.set, own
		w.store.sets.put(now.version, world.set)
	}
	return world, err
}
