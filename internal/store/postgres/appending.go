package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// appending are the events that one transaction writes.
type appending struct {
	size   int64           // of the log before
	known  map[string]bool // the ids
	ids    array
	times  array
	bodies array

	once     array // ids of events about items of the queue, which other kernels look for
	onceSeqs array

	head, foot []byte // of the message that calls the function append: before the events' bodies, and behind them

	stamped *restrict.Set // whose digest is stamp
	stamp   *restrict.Digest
}

func newAppending(size int64) *appending {
	return &appending{
		size:     size,
		known:    map[string]bool{},
		ids:      newArray(pgtype.ByteaOID),
		times:    newArray(pgtype.Int8OID),
		bodies:   newArray(pgtype.ByteaOID),
		once:     newArray(pgtype.ByteaOID),
		onceSeqs: newArray(pgtype.Int8OID),
	}
}

// appending returns one that is free.
func (w *writer) appending() *appending {
	if n := len(w.spare); n > 0 {
		a := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return a
	}
	return newAppending(0)
}

// ended takes an appending back whose transaction has ended.
func (w *writer) ended(a *appending) {
	if cap(a.bodies.bytes) <= 2*maxBytes && len(w.spare) < 3 {
		w.spare = append(w.spare, a)
	}
}

// renew makes an appending whose transaction has ended one of other events.
func (a *appending) renew(size int64) *appending {
	a.size, a.stamped = size, nil
	clear(a.known)
	for _, l := range []*array{&a.ids, &a.times, &a.bodies, &a.once, &a.onceSeqs} {
		l.reset()
	}
	return a
}

// refuses returns why the events of a request cannot be added.
func (a *appending) refuses(r *request) error {
	var own map[string]bool
	if n := len(r.batch.Events); n > 1 {
		own = make(map[string]bool, n)
	}
	for i := range r.batch.Events {
		id := r.batch.Events[i].ID
		if a.known[id] || own[id] {
			return fmt.Errorf("event id %q is taken", id)
		}
		if own != nil {
			own[id] = true
		}
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
			stamp = a.root(set)
		}
		e.add(a.bodies.add(func(b []byte) []byte { return leaf.AppendNumbered(b, text, e.size+1, stamp) }))
		ev := &r.batch.Events[i]
		a.known[ev.ID] = true
		a.ids.addText(ev.ID)
		a.times.addInt(ev.Time.UnixNano())
	}
	if e.size >= first {
		r.receipt = kernel.Receipt{First: first, Last: e.size, Pruned: pruned}
	}
}

// notes keeps which events of a request that was added are about items of the queue.
func (a *appending) notes(r *request) {
	for i := range r.batch.Events {
		if ev := &r.batch.Events[i]; ev.Type == phases.EventApproval && len(r.batch.Approvals) > 0 {
			a.once.addText(ev.ID)
			a.onceSeqs.addInt(r.receipt.First + int64(i))
		}
	}
}

// root is the digest of what restricts, which most batches leave as it is.
func (a *appending) root(set *restrict.Set) *restrict.Digest {
	if a.stamped != set {
		root := set.Root()
		a.stamped, a.stamp = set, &root
	}
	return a.stamp
}
