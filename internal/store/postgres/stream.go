package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Batches that change no row that restricts stream: while one group of them is on its way to the disk, the writer
// numbers and hashes the next, as if that group were written already. Its transaction is sent only when it is. Then the
// callers of the group before are told, while the server works on.

// A draft is a group that is being made ready, and later its attempt.
type draft struct {
	attempt
	events *appending
	bytes  int
	answer chan error // of its transaction
}

// last is what the writer knows of the log, as an attempt has left it.
func (w *writer) last() *attempt {
	return &attempt{edge: w.edge, version: w.version, set: w.set, single: w.single}
}

// after begins the group behind an attempt, which may yet have to be written.
func (t *attempt) after(events *appending) *draft {
	return &draft{attempt: attempt{edge: t.edge.clone(), version: t.version, set: t.set, single: t.single},
		events: events.renew(t.edge.size)}
}

func (d *draft) put(r *request) {
	d.group = append(d.group, r)
	d.bytes += r.bytes
	d.events.add(r, d.edge, d.set, 0)
}

func (d *draft) full() bool { return len(d.group) >= maxGroup || d.bytes >= maxBytes }

// takes puts a request in, unless it is of another kind.
func (d *draft) takes(r *request) (ok bool) {
	ok = true // one whose caller gave up is taken, and forgotten
	r.waits(func() {
		batch := r.work == nil && r.turn == nil && r.recover == nil
		if ok = batch && !alone(&r.batch) && !touches(d.set, d.single.wall, &r.batch); ok {
			d.put(r)
		}
	})
	return ok
}

// decided leaves those in the draft whose callers still wait; from now on they wait for its outcome.
func (d *draft) decided(before *attempt) *draft {
	var waiting []*request
	for _, r := range d.group {
		if r.take() {
			waiting = append(waiting, r)
		}
	}
	if len(waiting) == len(d.group) {
		return d
	}
	out := before.after(d.events)
	for _, r := range waiting {
		out.put(r)
	}
	return out
}

// send begins the transaction of a draft. Until its answer is there, nothing else uses the connection.
func (w *writer) send(d *draft) {
	// Whether an error says that nothing was sent is not asked: the client library says so of answers that were lost.
	d.sent = alive(w.conn)
	d.answer = make(chan error, 1)
	values := d.events.values(&w.held, &d.attempt)
	go func(c *pgconn.PgConn, answer chan<- error) {
		ctx, cancel := w.bounded()
		defer cancel()
		answer <- appendAlone(ctx, c, values)
	}(w.conn.PgConn(), d.answer)
}

// streams reports whether the writer can send at once.
func (w *writer) streams() bool {
	return w.lost == nil && w.conn != nil && !w.conn.IsClosed() && w.set != nil && w.compared && w.unmoved()
}

// stream writes the first request and those that come while it does, until none waits. It returns one that does not
// stream, about which nothing is decided yet, or nil.
func (w *writer) stream(first *request) (other *request) {
	until := time.Now().Add(w.store.o.Hold / 7) // then it is time to look at the clocks
	last := w.last()
	next, spare := last.after(newAppending(0)), newAppending(0)
	if !next.takes(first) {
		return first
	}
	requests := w.store.requests
	var told []*request // of the group before: it is durable, and they do not know yet
	for {
		if other == nil && requests != nil && time.Now().Before(until) {
			other = next.gather(requests)
		}
		d := next.decided(last)
		if len(d.group) == 0 {
			break
		}
		if !w.unmoved() {
			w.inform(told)
			w.commit(d.group, nil)
			w.inform(d.group)
			return other
		}
		w.send(d)
		w.inform(told)
		next, last = d.after(spare), &d.attempt
		for answered := false; !answered; {
			in := requests
			if other != nil || next.full() || time.Now().After(until) {
				in = nil
			}
			select {
			case d.err = <-d.answer:
				answered = true
			case r, ok := <-in:
				if !ok {
					requests = nil
				} else if !next.takes(r) {
					other = r
				}
			}
		}
		if told = d.group; d.err != nil {
			return w.unstream(d, next, other)
		}
		w.won(last)
		spare = d.events
	}
	w.inform(told)
	return other
}

// gather puts requests in that wait already; none waits for more that may never come. It returns one that is of
// another kind, or nil.
func (d *draft) gather(requests <-chan *request) (other *request) {
	for !d.full() {
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			if !d.takes(r) {
				return r
			}
		default:
			return nil
		}
	}
	return nil
}

// unstream decides about a group whose transaction failed, and then about the one that was made ready behind it.
func (w *writer) unstream(failed, next *draft, other *request) *request {
	w.commit(failed.group, &failed.attempt)
	w.inform(failed.group)
	if next = next.decided(&failed.attempt); len(next.group) > 0 {
		w.commit(next.group, nil)
		w.inform(next.group)
	}
	return other
}
