package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Batches that change no row that restricts stream: while one group of them is on its way to the disk, the writer
// numbers and hashes the next, as if that group were written already. When about half of the callers are in it, it is
// sent before the answer of the first is there, and the server goes on with it by itself. It names the size of the log
// that the group before leaves: if that one fails, so does this one, and nothing of both is written.

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

// send begins the transaction of a draft, alone or behind another. Until the answers of all are there, nothing else
// uses the connection.
func (w *writer) send(d *draft, behind bool) {
	c := w.conn.PgConn().Conn()
	d.answer = make(chan error, 1)
	// Whether an error says that nothing was sent is not asked: a part of it may have been.
	if d.sent = behind || alive(w.conn); !behind {
		w.await(d) // first: it bounds how long it takes to send, too
	}
	if !d.sent {
		return
	}
	// A server that reads no more: the answer in front of this group may come, and bound nothing here from then on.
	_ = c.SetWriteDeadline(time.Now().Add(w.store.o.StatementTimeout + 5*time.Second))
	message := d.events.message(&w.held, &d.attempt)
	if _, err := message.WriteTo(c); err != nil {
		_ = c.Close() // no answer comes
		return
	}
	_ = c.SetWriteDeadline(time.Time{})
}

// await has the answer to a draft read, when those before it have theirs.
func (w *writer) await(d *draft) {
	go func(c *pgconn.PgConn, answer chan<- error) {
		ctx, cancel := w.bounded()
		defer cancel()
		answer <- answerOf(ctx, c)
	}(w.conn.PgConn(), d.answer)
}

// streams reports whether the writer can send at once.
func (w *writer) streams() bool {
	return w.lost == nil && w.conn != nil && !w.conn.IsClosed() && w.set != nil && w.compared && w.unmoved()
}

const (
	maxOnWay  = 2 // groups on their way at once
	minBehind = 8 // batches in the second of them: few gain little, and would be in doubt with those of the first
)

// A flow is what streams until no request waits.
type flow struct {
	*writer
	until    time.Time       // then it is time to look at the clocks
	requests <-chan *request // nil: no more are taken
	other    *request        // that does not stream

	next  *draft
	last  *attempt // the log as it will be when all groups on their way are written
	onWay []*draft // the oldest first
	told  []*request
}

// stream writes the first request and those that come while it does, until none waits. It returns one that does not
// stream, about which nothing is decided yet, or nil.
func (w *writer) stream(first *request) (other *request) {
	f := &flow{writer: w, until: time.Now().Add(w.store.o.Hold / 7), requests: w.store.requests, last: w.last()}
	f.next = f.last.after(w.appending())
	if !f.next.takes(first) {
		return first
	}
	defer func() {
		w.store.need.Store(0)
		w.ended(f.next.events)
	}()
	for {
		f.gather()
		if f.due() {
			if !w.unmoved() { // the mark is looked at before anything else is sent
				f.requests = nil
				if len(f.onWay) == 0 {
					return f.aside()
				}
			} else {
				f.send()
			}
		}
		f.inform()
		if len(f.onWay) == 0 {
			return f.other
		}
		if !f.wait() {
			return f.other
		}
	}
}

// gather puts requests in that wait already; none waits for more that may never come.
func (f *flow) gather() {
	if f.other != nil || time.Now().After(f.until) {
		f.requests = nil
	}
	for f.requests != nil && !f.next.full() {
		select {
		case r, ok := <-f.requests:
			if !ok {
				f.requests = nil
			} else if !f.next.takes(r) {
				f.other, f.requests = r, nil
			}
		default:
			return
		}
	}
}

// due reports whether the next group is to be sent now.
func (f *flow) due() bool {
	switch n := len(f.next.group); {
	case n == 0 || len(f.onWay) >= maxOnWay:
		return false
	case len(f.onWay) == 0:
		return true
	default:
		return f.follows() && (n >= f.half() || f.next.full())
	}
}

// follows reports whether a group may be sent behind the one that is on its way: one that adds nothing would not be
// missed by it, and partitions are made when nothing is.
func (f *flow) follows() bool { return f.onWay[0].events.ids.n > 0 && f.isPlaced() }

// half is how many batches are worth a group behind another.
func (f *flow) half() int { return max(minBehind, min((f.crowd+1)/2, maxGroup)) }

// send sends the next group, and begins another.
func (f *flow) send() {
	d := f.next.decided(f.last)
	if len(d.group) > 0 {
		if len(f.onWay) == 0 {
			f.placeAhead()
		}
		f.writer.send(d, len(f.onWay) > 0)
		f.onWay = append(f.onWay, d)
		f.last = &d.attempt
		f.next = f.last.after(f.appending())
		return
	}
	f.next = f.last.after(d.events)
}

// inform tells callers whose groups are durable.
func (f *flow) inform() {
	if len(f.told) > 0 {
		f.writer.inform(f.told)
		f.told = nil
	}
}

// wait waits for the answer to the oldest group, or for enough requests to send another. It reports whether there is
// anything left to do.
func (f *flow) wait() bool {
	d := f.onWay[0]
	if f.requests != nil && len(f.onWay) < maxOnWay && f.follows() && !f.next.full() {
		need := max(1, f.half()-len(f.next.group))
		f.store.need.Store(int64(need))
		if len(f.requests) >= need {
			return true
		}
	}
	select {
	case d.err = <-d.answer:
	case <-f.store.nudge:
		return true
	}
	f.store.need.Store(0)
	if d.err != nil {
		f.fail(d)
		return false
	}
	f.count()
	f.won(&d.attempt)
	f.told = d.group
	f.ended(d.events)
	if f.onWay = f.onWay[1:]; len(f.onWay) > 0 {
		f.await(f.onWay[0])
		f.inform()
	}
	return true
}

// count notes how many requests come at once. Fewer are believed slowly: some are on their way back.
func (f *flow) count() {
	n := len(f.next.group) + len(f.store.requests)
	for _, d := range f.onWay {
		n += len(d.group)
	}
	if n >= f.crowd {
		f.crowd = n
	} else {
		f.crowd -= (f.crowd - n + 7) / 8
	}
}

// aside writes the next group where it does not stream.
func (f *flow) aside() *request {
	f.inform()
	d := f.next.decided(f.last)
	f.commit(d.group, nil)
	f.writer.inform(d.group)
	return f.other
}

// fail decides about a group whose transaction failed, then about the one that was sent behind it, and then about the
// one that was made ready.
func (f *flow) fail(d *draft) {
	behind := f.onWay[1:]
	for _, b := range behind {
		f.await(b)
		if b.err = <-b.answer; b.err == nil {
			// It counts on what the first one wrote. So that one was written, whatever its answer said: the log knows.
			f.drop()
		}
	}
	broken := f.conn == nil || f.conn.IsClosed()
	d.lost = broken
	f.commit(d.group, &d.attempt)
	f.writer.inform(d.group)
	for _, b := range behind {
		var sent *attempt // what was refused is begun anew
		if b.lost = broken; broken {
			sent = &b.attempt
		}
		f.commit(b.group, sent)
		f.writer.inform(b.group)
	}
	if next := f.next.decided(f.last); len(next.group) > 0 {
		f.commit(next.group, nil)
		f.writer.inform(next.group)
	}
}
