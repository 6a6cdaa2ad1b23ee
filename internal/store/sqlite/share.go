package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A shared batch is one of which a part is decided in another store, which also gets its events. Two stores cannot
// commit at once. So this one first writes down, durably, its part of the batch: the intent. Then it prepares
// the transaction, has the other store decide and record, and commits, which also ends the intent. A process that
// dies in between leaves an intent. Until Settle has ended it, no event is written, by whatever process: the next
// number may be taken in the other store.

// forwardingSchema is at most one row. forwarded is a hint. first is the number of the first event of a shared batch
// that is not settled, or 0, and batch is this store's part of it.
const forwardingSchema = `CREATE TABLE forwarding (
		id        INTEGER PRIMARY KEY CHECK (id = 1),
		forwarded INTEGER NOT NULL,
		first     INTEGER NOT NULL,
		batch     BLOB NOT NULL
	) STRICT;`

// Outcome is what became of a part of a batch in the other store.
type Outcome int

const (
	NotRecorded Outcome = iota // it is not there, and will not be
	Recorded                   // it is there, durably
	Unknown                    // it may be there
)

// Sharing decides a part of a batch in another store. Both are called in the turn of this store's writer, at most once.
type Sharing interface {
	// Decide returns the digest of what the other store holds once it has the batch. size is how many events this store
	// has, and high the highest wall time that it has seen. After an error Record is not called.
	Decide(size int64, high time.Time) (restrict.Digest, error)

	// Record makes it durable there, with the leaves of the batch as they are here. An error comes with what became of it.
	Record(bodies [][]byte) (Outcome, error)
}

// sharing is a shared batch on its way through the writer.
type sharing struct {
	with    Sharing
	bodies  [][]byte
	outcome Outcome
}

// intent is this store's part of a shared batch.
type intent struct {
	first int64
	Batch kernel.Batch `json:"batch"` // without events, leases and approvals
	IDs   []string     `json:"ids"`   // of the events
}

func newIntent(first int64, b *kernel.Batch) *intent {
	in := &intent{first: first, Batch: *b}
	for i := range b.Events {
		in.IDs = append(in.IDs, b.Events[i].ID)
	}
	in.Batch.Events, in.Batch.Leases, in.Batch.Approvals = nil, nil, nil
	return in
}

// UnsettledError says that no event is written until a shared batch is settled.
type UnsettledError struct{ First int64 }

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("it is not known yet whether the shared database has event %d: nothing is written until it has "+
		"answered; start belay with the same store.postgres", e.First)
}

func (in *intent) error() error {
	if in == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", kernel.ErrUnavailable, &UnsettledError{First: in.first})
}

// Share commits a batch; with decides about its leases and approvals, and gets its events. After an error with which
// Record has answered, or that came after it, the batch may be unsettled; see Unsettled.
func (s *Store) Share(ctx context.Context, b kernel.Batch, with Sharing) (kernel.Receipt, error) {
	r := &request{batch: b, buffer: s.buffers.Get(), settles: true, share: &sharing{with: with}}
	r.batch.Leases, r.batch.Approvals = nil, nil
	err := b.Valid()
	if err == nil && len(b.Events) == 0 {
		err = errors.New("a shared batch needs an event")
	}
	var texts [][]byte
	if err == nil {
		texts, r.buffer, err = leaf.EncodeTexts(r.buffer, b.Events)
	}
	defer func() { s.buffers.Put(r.buffer) }()
	for _, text := range texts {
		r.events = append(r.events, encoded{text: text}) // not packed: packs know one digest
	}
	if err == nil {
		err = s.submit(ctx, r)
	}
	if err != nil {
		return kernel.Receipt{}, unavailable("commit", err)
	}
	return r.receipt, nil
}

// share decides about a shared batch. Preconditions: w.busy is held.
func (w *writer) share(r *request) {
	note := &request{rows: true, brings: true}
	note.work = func(c *conn) error {
		in := newIntent(w.edge.size+1, &r.batch)
		err := in.write(c)
		if err == nil {
			w.unsettled = in
		}
		return err
	}
	w.together([]*request{note})
	if r.err = note.err; r.err != nil {
		return
	}
	if err := w.transaction([]*request{r}, true); err != nil {
		r.receipt, r.err = kernel.Receipt{}, unavailable("commit", err)
		if r.share.outcome == NotRecorded {
			// If this fails, too, Settle ends the intent.
			w.together([]*request{{work: w.clear, rows: true, settles: true}})
		}
	}
}

func (in *intent) write(c *conn) error {
	body, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		return err
	}
	return c.exec(`INSERT INTO forwarding (id, forwarded, first, batch) VALUES (1, 0, ?, ?)
		ON CONFLICT DO UPDATE SET first = excluded.first, batch = excluded.batch`, in.first, body)
}

// clear ends the intent, if the transaction is committed.
func (w *writer) clear(c *conn) error {
	err := c.exec("UPDATE forwarding SET first = 0, batch = x'' WHERE first <> 0")
	if err == nil {
		w.unsettled = nil
	}
	return err
}

// findUnsettled looks for an intent, where this process does not know that there is none.
func (w *writer) findUnsettled() (err error) {
	if w.looked && w.alone {
		return nil
	}
	w.unsettled, err = readIntent(w.conn)
	w.looked = err == nil
	return err
}

func readIntent(c *conn) (in *intent, err error) {
	err = c.query("SELECT first, batch FROM forwarding WHERE first <> 0", func(st *sqlite3.Stmt) error {
		in = &intent{first: st.ColumnInt64(0)}
		if json.Unmarshal(st.ColumnRawBlob(1), in, json.RejectUnknownMembers(true)) != nil {
			in.IDs = nil // it can be given up, and not be carried out
		}
		return nil
	})
	return in, err
}

// writeShared prepares a shared batch, all but the other store's commit.
func (w *writer) writeShared(r *request) error {
	if w.unsettled == nil || w.unsettled.first != w.edge.size+1 {
		return errors.New("another process has written in between")
	}
	var high time.Time
	err := w.conn.query("SELECT wall_ns FROM lease_clock", func(st *sqlite3.Stmt) error {
		high = time.Unix(0, st.ColumnInt64(0)).UTC()
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.spent(r); err != nil {
		return err
	}
	first := w.edge.size + 1
	set, pruned, err := w.rowsOf(r)
	if err != nil {
		return err
	}
	shared, err := r.share.with.Decide(w.edge.size, high)
	if err != nil {
		return err
	}
	for i := range r.events {
		text, seq := r.events[i].text, w.edge.size+1
		var body []byte
		if i == len(r.events)-1 {
			body = leaf.Sharing(nil, text, seq, set.Root(), shared)
		} else {
			body = leaf.Numbered(nil, text, seq, nil)
		}
		if err := w.writeLeaf(&r.batch.Events[i], body); err != nil {
			return err
		}
		r.share.bodies = append(r.share.bodies, body)
	}
	w.set = set
	r.receipt = kernel.Receipt{First: first, Last: w.edge.size, Pruned: pruned}
	return nil
}

// writeLeaf stores an event as it is, and makes it the next leaf.
func (w *writer) writeLeaf(e *phases.Event, body []byte) error {
	if err := w.conn.insertEvent(w.edge.size+1, e, body); err != nil {
		return err
	}
	return w.edge.add(body)
}

// recordShared ends the intent of a shared batch, and has the other store commit. It is the last step before the commit
// here.
func (w *writer) recordShared(group []*request) error {
	r := group[0]
	if r.share == nil {
		return nil
	}
	if err := w.clear(w.conn); err != nil || r.err != nil {
		return err
	}
	r.share.outcome = Unknown // if it panics
	var err error
	r.share.outcome, err = r.share.with.Record(r.share.bodies)
	if err != nil {
		return fmt.Errorf("%w: %w", errElsewhere, err)
	}
	return nil
}

// Unsettled is a shared batch of which it is not known here whether it counts.
type Unsettled struct {
	First int64    // the number of its first event
	IDs   []string // of its events; none: what was to be written here cannot be read
}

// Unsettled returns the shared batch that is not settled, or nil.
func (s *Store) Unsettled(ctx context.Context) (out *Unsettled, err error) {
	err = s.read(ctx, "read what is shared", func(c *conn) error {
		in, err := readIntent(c)
		if out = nil; in != nil {
			out = &Unsettled{First: in.first, IDs: in.IDs}
		}
		return err
	})
	return out, err
}

// Settle ends the intent whose first event has the number. bodies are the events as the other store has them; nil: it
// does not have them.
func (s *Store) Settle(ctx context.Context, first int64, bodies [][]byte) error {
	r := &request{rows: true, settles: true}
	r.work = func(c *conn) error {
		w := s.writes
		in := w.unsettled
		switch {
		case in == nil && bodies == nil:
			return nil
		case in == nil || in.first != first:
			return fmt.Errorf("no shared batch of event %d waits to be settled", first)
		case bodies != nil:
			if err := w.redo(r, in, bodies); err != nil {
				return err
			}
		}
		return w.clear(c)
	}
	if err := s.submit(ctx, r); err != nil {
		return unavailable("settle what is shared", err)
	}
	return nil
}

// BringBack adds events that another store has kept and this one has lost: bodies are the leaves behind the first after
// ones. It works while the database is behind its mark, and ends an unsettled batch. Rows stay as they are. If they are
// not those that the last event records, everything is blocked until a recovery.
func (s *Store) BringBack(ctx context.Context, after int64, bodies [][]byte) error {
	r := &request{settles: true, back: true}
	r.work = func(c *conn) error {
		w := s.writes
		if w.edge.size != after {
			return fmt.Errorf("the log has %d events, and not %d", w.edge.size, after)
		}
		for i, body := range bodies {
			var e phases.Event
			if err := json.Unmarshal(body, &e); err != nil || e.Seq != after+int64(i)+1 || e.ID == "" {
				return fmt.Errorf("event %d is none", after+int64(i)+1)
			}
			if err := w.writeLeaf(&e, body); err != nil {
				return err
			}
		}
		w.store.watch.forget()
		return w.clear(c)
	}
	if err := s.submit(ctx, r); err != nil {
		return unavailable("bring events back", err)
	}
	return nil
}

// redo carries out an intent, with the events as the other store has them.
func (w *writer) redo(r *request, in *intent, bodies [][]byte) error {
	if in.first != w.edge.size+1 || len(bodies) != len(in.IDs) {
		return fmt.Errorf("event %d of the shared database is not what was written down here", in.first)
	}
	r.batch = in.Batch
	r.batch.Events = make([]phases.Event, len(bodies))
	for i, body := range bodies {
		e := &r.batch.Events[i]
		if err := json.Unmarshal(body, e); err != nil || e.Seq != in.first+int64(i) || e.ID != in.IDs[i] {
			return fmt.Errorf("event %d of the shared database is not what was written down here", in.first+int64(i))
		}
	}
	w.conn.touched = w.conn.touched[:0]
	set, _, err := w.rowsOf(r)
	if err != nil {
		return err
	}
	if stamp, ok := leaf.StampOf(bodies[len(bodies)-1]); !ok || stamp != set.Root() {
		return fmt.Errorf("event %d of the shared database records other rows than those here",
			in.first+int64(len(bodies))-1)
	}
	for i := range bodies {
		if err := w.writeLeaf(&r.batch.Events[i], bodies[i]); err != nil {
			return err
		}
	}
	w.set = set
	return nil
}
