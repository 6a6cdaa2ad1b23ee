package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A Turn is the writer of a kernel whose log is in a store of its own, for one taker until End. The taker brings the
// log here up to the log there, and has what kernels share decided in between. It is used by one goroutine at a time.
type Turn struct {
	writer *writer
	given  chan struct{} // closed when the writer waits for the end of the turn
	over   chan struct{}
	once   sync.Once

	decided *decided
	lost    *attempt // it may have been committed

	anew  bool  // for a recovery
	reset bool  // which has made the database as it is the one that counts
	due   *dues // as Dues has found them
}

// decided is a part of a batch that is decided in a transaction that is still open.
type decided struct {
	request *request
	world   *world
	deltas  []delta
	dues    bool // it is no batch, but what is due
}

// undecided reports whether an error leaves open whether a transaction was committed.
func undecided(err error) bool { return errors.Is(err, errUndecided()) }

// Undecided reports whether an error of Turn.Commit leaves open whether events were written: see Turn.Resolve.
func Undecided(err error) bool { return undecided(err) }

// ForkedError says that the log in the database is not a beginning of the kernel's log.
type ForkedError struct{ Why string }

func (e *ForkedError) Error() string { return "the log of this kernel is forked: " + e.Why }

// Turn waits for the writer, and for a connection that holds the name and answers. The error is kernel.ErrUnavailable,
// and kernel.ErrRollback when the database went back.
func (s *Store) Turn(ctx context.Context) (*Turn, error) { return s.turn(ctx, false) }

func (s *Store) turn(ctx context.Context, anew bool) (*Turn, error) {
	if !s.o.Forwarding {
		return nil, unavailable("take a turn", errors.New("opened for events of its own"))
	}
	t := &Turn{writer: s.writes, given: make(chan struct{}), over: make(chan struct{}), anew: anew}
	r := &request{turn: t}
	if err := s.enqueue(ctx, r, s.circuit.now()); err != nil {
		return nil, unavailable("take a turn", err)
	}
	select {
	case <-t.given:
	case <-ctx.Done():
		if r.take() {
			return nil, unavailable("take a turn", ctx.Err()) // the writer will skip it
		}
		<-t.given
	}
	if r.err != nil {
		return nil, unavailable("take a turn", r.err)
	}
	return t, nil
}

// lend gives the writer away until the turn ends.
func (w *writer) lend(r *request) {
	if r.turn.anew {
		w.lendAnew(r)
		return
	}
	ctx, cancel := w.bounded()
	for range 2 { // a connection that broke since it was last used shows now
		if r.err = w.present(ctx); r.err == nil {
			_, r.err = w.conn.Exec(ctx, "SELECT renew($1, $2)", w.held.kernel, w.held.fence)
		}
		if refusal(r.err) == codeFenced {
			w.drop()
		}
		if w.dropBroken(); r.err == nil || w.conn != nil {
			break
		}
	}
	cancel()
	w.lent = true
	close(r.turn.given)
	if r.err == nil {
		<-r.turn.over
		w.dropBroken()
	}
	w.lent = false
}

// End gives the writer back. A decision that was not committed is called off.
func (t *Turn) End() {
	t.once.Do(func() {
		t.CallOff()
		close(t.over)
	})
}

// Lose says that the taker has found that the database went back, and gives the name back: `belay recover` may be
// another process. The turn is of no use any more.
func (t *Turn) Lose(err error) {
	t.CallOff()
	if w := t.writer; w.lost == nil {
		w.lose(err)
	}
}

// Size is how many events of the kernel's log are in the database.
func (t *Turn) Size() int64 { return t.writer.edge.size }

// Connection is a number that is another one when the connection is: what was known of the database before may not
// hold any more.
func (t *Turn) Connection() int64 { return t.writer.held.fence }

// Peaks are the hashes, by their index in the tree, that all others of the log in the database are under.
func (t *Turn) Peaks() map[int64]tlog.Hash { return t.writer.edge.peaks() }

func (e *edge) peaks() map[int64]tlog.Hash {
	out := map[int64]tlog.Hash{}
	for level, x := range e.lacks() {
		out[x] = e.roots[level]
	}
	return out
}

// Forward adds leaves, which continue the log. same looks at the peaks of the tree that they lead to, before anything
// is written: the kernel's own tree has to have the same hashes.
func (t *Turn) Forward(ctx context.Context, bodies [][]byte, same func(peaks map[int64]tlog.Hash) error) error {
	err := t.forward(ctx, bodies, same)
	switch refusal(err) {
	case codeForked:
		return unavailable("forward", &ForkedError{Why: err.Error()})
	case codeFenced, codeBehind: // a new connection is compared with what is known
		t.writer.drop()
	}
	t.writer.dropBroken()
	if err != nil {
		return unavailable("forward", err)
	}
	return nil
}

func (t *Turn) forward(ctx context.Context, bodies [][]byte, same func(map[int64]tlog.Hash) error) error {
	w := t.writer
	if w.conn == nil {
		return errNoConnection()
	}
	e, first := w.edge.clone(), w.edge.size+1
	ids, times, events := make([][]byte, len(bodies)), make([]int64, len(bodies)), make([]phases.Event, len(bodies))
	for i, body := range bodies {
		ev := &events[i]
		if err := eventbytes.Head(body, ev); err != nil || ev.Seq != first+int64(i) || ev.ID == "" {
			return fmt.Errorf("event %d of the log is none", first+int64(i))
		}
		e.add(body)
		ids[i], times[i] = []byte(ev.ID), ev.Time.UnixNano()
	}
	if err := same(e.peaks()); err != nil {
		return err
	}
	full := e.full
	if full == nil {
		full = [][]byte{}
	}
	for n := 0; ; n++ {
		_, err := w.conn.Exec(ctx, "SELECT forward($1, $2, $3, $4, $5, $6, $7, $8, $9)", w.held.kernel, w.held.fence, first,
			e.tail, ids, times, bodies, e.fullRows(), full)
		if refusal(err) != codeNoPlace || n > 0 {
			if err != nil {
				return err
			}
			break
		}
		if _, err := w.conn.Exec(ctx, "SELECT partition_ahead($1, $2)", w.held.kernel, len(bodies)); err != nil {
			return err
		}
	}
	e.full = nil
	w.edge = e
	w.forwarded()
	w.store.fresh.add(first, events)
	w.store.grown(e.size)
	return nil
}

// noConnectionError is a class of errors for errors.Is.
type noConnectionError struct{}

func (noConnectionError) Error() string { return "the connection is gone" }

func errNoConnection() error { return noConnectionError{} }

// A Head is a signed checkpoint.
type Head struct {
	Size int64
	Note []byte
}

// ForwardHeads adds checkpoints that are not there yet, and returns how many of them are there now: those behind one of
// more events than the log has are not.
func (t *Turn) ForwardHeads(ctx context.Context, heads []Head) (n int, err error) {
	w := t.writer
	if w.conn == nil {
		return 0, unavailable("forward checkpoints", errNoConnection())
	}
	sizes, notes := make([]int64, len(heads)), make([][]byte, len(heads))
	for i, h := range heads {
		sizes[i], notes[i] = h.Size, h.Note
	}
	err = w.conn.QueryRow(ctx, "SELECT forward_heads($1, $2, $3, $4)", w.held.kernel, w.held.fence, sizes, notes).Scan(&n)
	if w.dropBroken(); err != nil {
		return 0, unavailable("forward checkpoints", err)
	}
	return n, nil
}

const lastHead = "SELECT size, note FROM checkpoints WHERE kernel = $1 ORDER BY id DESC LIMIT 1"

// LastHead returns the newest checkpoint in the database, or nil.
func (t *Turn) LastHead(ctx context.Context) (*Head, error) {
	w := t.writer
	if w.conn == nil {
		return nil, unavailable("read checkpoints", errNoConnection())
	}
	var h Head
	err := w.conn.QueryRow(ctx, lastHead, w.held.kernel).Scan(&h.Size, &h.Note)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if w.dropBroken(); err != nil {
		return nil, unavailable("read checkpoints", err)
	}
	return &h, nil
}

// Bodies returns events of the log in the database, from first on.
func (t *Turn) Bodies(ctx context.Context, first int64, limit int) (out [][]byte, err error) {
	w := t.writer
	if w.conn == nil {
		return nil, unavailable("read the log", errNoConnection())
	}
	rows, err := w.conn.Query(ctx, leavesOfKernel, w.held.kernel, first-1, limit)
	if err == nil {
		var seq int64
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&seq, nil, nil, &body}, func() error {
			if seq != first+int64(len(out)) {
				return damaged("event %d is missing", first+int64(len(out)))
			}
			out = append(out, bytes.Clone(body))
			return nil
		})
	}
	if w.dropBroken(); err != nil {
		return nil, unavailable("read the log", err)
	}
	return out, nil
}

// Decide decides about the leases and the approvals of a batch, and about what it prunes of them, in a transaction that
// stays open, and returns the digest of all shared rows after it. high is the highest wall time that the kernel's own
// store has seen. The error is ErrConflict or ErrUnavailable; then nothing stays open.
func (t *Turn) Decide(ctx context.Context, b *kernel.Batch, high time.Time) (out restrict.Digest, err error) {
	r := &request{batch: kernel.Batch{Now: b.Now, Calm: b.Calm, Events: b.Events, Approvals: b.Approvals,
		Leases: b.Leases, Prune: b.Prune}}
	for n := 0; ; n++ {
		if out, err = t.decide(ctx, r, high); err == nil {
			return out, nil
		}
		t.CallOff()
		w := t.writer
		if w.dropBroken(); w.conn == nil || !passing(err) || n > 2 {
			break
		}
		if perr := w.prepare(err, []*request{r}); perr != nil {
			err = perr
			break
		}
	}
	return out, unavailable("decide", t.writer.judged(err))
}

func (t *Turn) decide(ctx context.Context, r *request, high time.Time) (out restrict.Digest, err error) {
	w := t.writer
	if w.conn == nil {
		return out, errNoConnection()
	}
	if err := w.ready(ctx); err != nil {
		return out, err
	}
	t.decided = &decided{request: r} // it is called off from here on
	var n needs
	n.of(&r.batch)
	if t.decided.world, err = w.look(ctx, &n); err != nil {
		return out, err
	}
	world := t.decided.world
	w.forwarded() // what was seen of others
	// The kernel's own log may have seen a later time. It counts for what this kernel does, and not for others.
	if high.UnixNano() > world.single.wall {
		world.leases.SetHigh(high)
	}
	if err := w.unspent(world, &r.batch); errors.Is(err, overtaken()) || errors.Is(err, kernel.ErrRollback) {
		return out, conflict("the high-water mark says that it was used: that is written down first") // see Dues
	} else if err != nil {
		return out, err
	}
	s, err := world.decide(&r.batch, w.edge.size)
	if err != nil {
		return out, err
	}
	t.decided.deltas = world.take(s)
	return world.set.Root(), nil
}

// CallOff ends a decision that was not committed, without a trace.
func (t *Turn) CallOff() {
	w := t.writer
	if t.decided == nil {
		return
	}
	t.decided = nil
	if w.conn == nil || w.conn.IsClosed() {
		return
	}
	ctx, cancel := w.bounded()
	defer cancel()
	if _, err := w.conn.Exec(ctx, "ROLLBACK"); err != nil {
		w.drop()
	}
}

// Commit commits what was decided, with the events of the batch as the kernel's log will have them. The error leaves
// open whether it was written when Undecided says so; else nothing was.
func (t *Turn) Commit(ctx context.Context, bodies [][]byte) error {
	w, d := t.writer, t.decided
	if d == nil || w.conn == nil {
		return unavailable("commit", errNoConnection())
	}
	if len(bodies) != len(d.request.batch.Events) {
		t.CallOff()
		return unavailable("commit", errors.New("there are other events than were decided about"))
	}
	a := newAppending(w.edge.size)
	at := &attempt{group: []*request{d.request}, edge: w.edge.clone(), version: w.version, set: w.set}
	d.request.receipt = kernel.Receipt{First: w.edge.size + 1, Last: w.edge.size + int64(len(bodies))}
	for i, body := range bodies {
		at.edge.add(body)
		a.bodies.addBytes(body)
		a.ids.addText(d.request.batch.Events[i].ID)
		a.times.addInt(d.request.batch.Events[i].Time.UnixNano())
	}
	a.notes(d.request)
	err := w.spends(at, d)
	if err == nil {
		err = w.record(ctx, at, d.world, a, d.deltas)
	}
	if err == nil {
		t.decided = nil
		w.won(at)
		w.guarded.settled = w.guarded.settled || d.dues
		w.placeAhead()
		w.store.fresh.add(d.request.receipt.First, d.request.batch.Events)
		w.store.grown(w.edge.size)
		return nil
	}
	broken := w.conn.IsClosed()
	t.CallOff()
	if w.dropBroken(); broken && at.sent {
		t.lost = at
		return unavailable("commit", fmt.Errorf("%w: %w", errUndecided(), err))
	}
	w.guarded.unused(at.uses)
	return unavailable("commit", w.judged(err))
}

// spends finds what a batch uses up of what kernels share. Statements of reviewers are noted with the kernel's own log.
func (w *writer) spends(at *attempt, d *decided) error {
	if w.guarded.mark == nil || d.dues {
		return nil
	}
	uses, err := marked.Uses(&d.request.batch, spending{d.world, nil})
	for _, u := range uses {
		if !strings.HasPrefix(u.ID, highwater.Statement) {
			at.uses = append(at.uses, u)
		}
	}
	return err
}

// Resolve finds out whether what Commit could not tell was written. It asks until it knows, or until the store is
// closed.
func (t *Turn) Resolve() (written bool, err error) {
	if t.lost == nil {
		return false, nil
	}
	if written, err = t.writer.resolve(t.lost); err != nil {
		return false, unavailable("find out what was written", err)
	}
	if !written {
		t.writer.guarded.unused(t.lost.uses)
	}
	t.lost = nil
	return written, nil
}
