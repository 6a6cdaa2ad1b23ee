package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const (
	maxGroup    = 128     // batches in one transaction
	maxBytes    = 8 << 20 // of their events, about
	maxAttempts = 20      // of a transaction that was undone by what may pass
)

// writer writes. One goroutine decides about requests, and it alone uses the connection.
type writer struct {
	store  *Store
	conn   *pgx.Conn // nil: there is none, or it broke
	held   held
	edge   *edge // as the last transaction left it
	lost   error // why nothing can be written any more
	placed int64 // the partition of the next event, when partitions were last made ahead

	version int64 // of the rows that restrict
	set     *restrict.Set
	single  single // of version; the clock and the version of values only

	compared bool   // set is of the history that conn leads to
	followed shared // as it was last read
}

func (w *writer) run() {
	defer w.end()
	beat := time.NewTicker(w.store.o.Hold / 7)
	defer beat.Stop()
	for {
		select {
		case r, ok := <-w.store.requests:
			if !ok {
				return
			}
			w.serve(r)
		case <-beat.C:
			w.renew()
		}
	}
}

// serve decides about the first request and those behind it, and tells their callers.
func (w *writer) serve(first *request) {
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
		case !r.taken.CompareAndSwap(false, true):
		case r.work != nil:
			w.work(r)
		case r.batch.Prune || r.batch.Compact != 0: // these go alone
			w.commit([]*request{r})
		default:
			together = append(together, r)
		}
	}
	if len(together) > 0 {
		w.commit(together)
	}
	for _, r := range group {
		close(r.done)
	}
}

// bounded returns a context for one exchange with the server.
func (w *writer) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), w.store.o.StatementTimeout+5*time.Second)
}

// work runs what is no batch, and may be done twice without harm: when the connection breaks, it is tried once more.
func (w *writer) work(r *request) {
	for range 2 {
		ctx, cancel := w.bounded()
		if r.err = w.ready(ctx); r.err == nil {
			r.err = r.work(ctx, w.conn)
		}
		cancel()
		if w.dropBroken(); r.err == nil || w.conn != nil {
			return
		}
	}
}

// commit decides about batches. Each has its outcome when it returns.
func (w *writer) commit(group []*request) {
	err := w.transaction(group)
	if err != nil && len(group) > 1 && w.conn != nil && !errors.Is(err, errUndecided()) {
		for _, r := range group { // perhaps without one of them
			w.commit([]*request{r})
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
func (w *writer) transaction(group []*request) error {
	var err error
	for n := range maxAttempts {
		if n > 2 {
			time.Sleep(time.Duration(n) * time.Millisecond)
		}
		for _, r := range group {
			r.receipt, r.err = kernel.Receipt{}, nil
		}
		var t *attempt
		if t, err = w.try(group); err == nil {
			w.won(t)
			return nil
		}
		if w.dropBroken(); w.conn == nil && t != nil && t.sent {
			written, rerr := w.resolve(t)
			if written {
				return nil
			}
			if rerr != nil {
				return rerr
			}
			continue // nothing of it was written
		}
		if w.conn == nil && n > 2 || w.conn != nil && !passing(err) {
			break
		}
		if perr := w.prepare(err, group); perr != nil {
			return w.judged(perr)
		}
	}
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
		w.set = nil // what is next believed is compared as a whole
		w.store.sets.forget()
	}
	if refusal(err) == codeFenced {
		w.drop() // the next request asks for the name anew
	}
	return err
}

// An attempt is a transaction that was, or may have been, committed.
type attempt struct {
	group   []*request
	edge    *edge
	sent    bool // it may have been committed
	version int64
	set     *restrict.Set
	single  single
}

func (w *writer) won(t *attempt) {
	t.edge.full = nil
	w.edge, w.version, w.set, w.single = t.edge, t.version, t.set, t.single
	w.store.sets.put(t.version, t.set)
	for _, r := range t.group {
		if r.err == nil && r.receipt.First > 0 {
			w.store.fresh.add(r.receipt.First, r.batch.Events)
		}
	}
	w.store.grown(w.edge.size)
	if at := w.edge.size / w.held.span; at > w.placed {
		ctx, cancel := w.bounded()
		defer cancel()
		if _, err := w.conn.Exec(ctx, "SELECT partition_ahead($1, $2)", w.held.kernel, 1); err == nil {
			w.placed = at
		}
	}
}

// try writes the group once.
func (w *writer) try(group []*request) (*attempt, error) {
	ctx, cancel := w.bounded()
	defer cancel()
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	for _, r := range group {
		if touches(w.set, w.single.wall, &r.batch) {
			return w.locked(ctx, group)
		}
	}
	t := &attempt{group: group, edge: w.edge.clone(), version: w.version, set: w.set, single: w.single}
	a := newAppending(w.edge.size)
	for _, r := range group {
		a.add(r, t.edge, t.set, 0)
	}
	sql, args := a.statement(&w.held, t)
	// Whether an error says that nothing was sent is not asked: the client library says so of answers that were lost.
	t.sent = !w.conn.IsClosed()
	_, err := w.conn.Exec(ctx, sql, args...)
	return t, err
}

// appending are the events that one transaction writes.
type appending struct {
	size   int64 // of the log before
	ids    [][]byte
	known  map[string]bool
	times  []int64
	bodies [][]byte

	once     [][]byte // events about items of the queue, which other kernels look for
	onceSeqs []int64
}

func newAppending(size int64) *appending {
	return &appending{size: size, ids: [][]byte{}, known: map[string]bool{}, times: []int64{}, bodies: [][]byte{}}
}

// refuses returns why the events of a request cannot be added.
func (a *appending) refuses(r *request) error {
	own := map[string]bool{}
	for i := range r.batch.Events {
		id := r.batch.Events[i].ID
		if a.known[id] || own[id] {
			return fmt.Errorf("event id %q is taken", id)
		}
		own[id] = true
	}
	return nil
}

// add numbers the events of a request and makes them the next leaves; set is what restricts after it.
func (a *appending) add(r *request, e *edge, set *restrict.Set, pruned int) {
	if r.err = a.refuses(r); r.err != nil {
		return
	}
	first := e.size + 1
	for i, text := range r.texts {
		var stamp *restrict.Digest
		if i == len(r.texts)-1 {
			root := set.Root()
			stamp = &root
		}
		body := leaf.Numbered(nil, text, e.size+1, stamp)
		e.add(body)
		ev := &r.batch.Events[i]
		a.known[ev.ID] = true
		a.ids, a.times, a.bodies = append(a.ids, []byte(ev.ID)), append(a.times, ev.Time.UnixNano()), append(a.bodies, body)
		if ev.Type == phases.EventApproval && len(r.batch.Approvals) > 0 {
			a.once, a.onceSeqs = append(a.once, []byte(ev.ID)), append(a.onceSeqs, e.size)
		}
	}
	if e.size >= first {
		r.receipt = kernel.Receipt{First: first, Last: e.size, Pruned: pruned}
	}
}

const appendEvents = "SELECT append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"

func (a *appending) statement(h *held, t *attempt) (string, []any) {
	full := t.edge.full
	if full == nil {
		full = [][]byte{}
	}
	return appendEvents, []any{h.kernel, h.fence, a.size, t.version, t.edge.tail, a.ids, a.times, a.bodies,
		t.edge.fullRows(), full}
}

// locked writes a group that changes rows that restrict.
func (w *writer) locked(ctx context.Context, group []*request) (*attempt, error) {
	t, err := w.lockedSteps(ctx, group)
	if err != nil && w.conn != nil && !w.conn.IsClosed() {
		if _, rerr := w.conn.Exec(ctx, "ROLLBACK"); rerr != nil {
			_ = w.conn.Close(ctx)
		}
	}
	return t, err
}

func (w *writer) lockedSteps(ctx context.Context, group []*request) (*attempt, error) {
	world, err := w.look(ctx, group)
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
		s, err := world.decide(&r.batch, t.edge.size)
		if err != nil {
			r.err = err
			continue
		}
		deltas = append(deltas, world.take(s)...)
		a.add(r, t.edge, world.set, s.pruned)
	}
	if len(a.ids) == 0 {
		_, err := w.conn.Exec(ctx, "ROLLBACK") // all of them conflict
		t.version, t.set, t.single = w.version, w.set, w.single
		return t, err
	}
	b := &pgx.Batch{}
	world.writes(b)
	h := &w.held
	if was := world.before.through; world.single.through != was {
		b.Queue("SELECT compact($1, $2, $3, $4)", h.kernel, h.fence, world.single.through, world.single.announced)
	}
	if t.set, t.single = world.set, world.single; len(deltas) > 0 {
		t.version++
		b.Queue("SELECT advance($1, $2, $3, $4, $5, $6, $7, $8, $9)", h.kernel, h.fence, t.version, t.set.Node(),
			t.edge.size, tlog.StoredHashIndex(0, t.edge.size-1), t.single.wall, t.single.version, encodeDeltas(deltas))
	}
	sql, args := a.statement(h, t)
	b.Queue(sql, args...)
	if len(a.once) > 0 {
		b.Queue("SELECT note_once($1, $2, $3, $4)", h.kernel, h.fence, a.once, a.onceSeqs)
	}
	if err := w.conn.SendBatch(ctx, b).Close(); err != nil {
		return t, err
	}
	t.sent = !w.conn.IsClosed()
	_, err = w.conn.Exec(ctx, "COMMIT")
	return t, err
}

// look begins a transaction, makes it the only one that changes rows that restrict, and reads those of the group.
func (w *writer) look(ctx context.Context, group []*request) (*world, error) {
	var n needs
	for _, r := range group {
		n.of(&r.batch)
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	var now shared
	var own single
	world := newWorld(w.held.kernel, nil, single{})
	b.Queue("SELECT " + sharedColumns + " FROM lock_shared() s").QueryRow(func(r pgx.Row) error {
		return r.Scan(now.fields()...)
	})
	b.Queue("SELECT through, announced FROM kernels WHERE id = $1", w.held.kernel).QueryRow(func(r pgx.Row) error {
		return r.Scan(&own.through, &own.announced)
	})
	b.Queue(changesAfter, w.version).Query(func(rows pgx.Rows) error {
		set, err := followed(w.version, w.set, &now, rows)
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
	switch {
	case errors.Is(err, errGap()): // so far behind that all rows are to be read anew
		w.set = nil
		w.store.sets.forget()
	case errors.Is(err, kernel.ErrRollback):
		w.lost = err
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
