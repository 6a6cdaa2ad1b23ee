package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// The lookup says in which events of a block a value stands, one row for each value of a
// block. A query reads the rows of its values, block by block, and then only events in
// which all of them stand: it does not matter how often each value is there by itself.
// Blocks are made from events that are already stored (indexer.go), so that a commit
// writes nothing for them; what is not in a block yet is searched without one. A row never
// decides that an event matches: the event itself does.

// blockEvents is the number of events in a block: block n has events n*blockEvents+1 to
// (n+1)*blockEvents.
const blockEvents = 1024

// lookupSchema: a term is a digest of a member and its value, so that rows are narrow and no
// name outlives its events. first_ns and last_ns are the earliest and the latest time in
// the block.
const lookupSchema = `CREATE TABLE lookup (
		block  INTEGER NOT NULL,
		term   INTEGER NOT NULL,
		events BLOB NOT NULL,
		PRIMARY KEY (block, term)
	) STRICT, WITHOUT ROWID;
	CREATE TABLE lookup_blocks (
		block    INTEGER PRIMARY KEY,
		first_ns INTEGER NOT NULL,
		last_ns  INTEGER NOT NULL
	) STRICT;`

// term is the digest of a member's name and a value of it. Two that are equal by chance cost
// a look at an event that does not match.
func term(member, value string) int64 {
	sum := sha256.Sum256(append(append(make([]byte, 0, 128), member...), "\x00"+value...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// looked are the members of an event, and of a query, that are in the lookup. Those come first
// of which most values are rare.
func looked(q *wire.Query) [10]struct{ member, value string } {
	return [...]struct{ member, value string }{
		{"invocation", q.Invocation}, {"session", q.Session}, {"kind", string(q.Kind)}, {"binding", q.Binding},
		{"agent", q.Agent}, {"tool", q.Tool},
		{"decision", q.Decision}, {"phase", string(q.Phase)}, {"type", string(q.Type)}, {"runtime", q.Runtime},
	}
}

// terms returns the terms of the members that are not empty.
func terms(q *wire.Query) []int64 { return new(digested).terms(q) }

// digested are the terms of the event before. Most members of one event say what they said of that.
type digested struct {
	last [10]struct {
		value string
		term  int64
	}
	out [10]int64
}

// terms is terms for one event after the other; what it returns holds until it is called again.
func (d *digested) terms(q *wire.Query) []int64 {
	out := d.out[:0]
	for i, l := range looked(q) {
		if l.value == "" {
			continue
		}
		if last := &d.last[i]; last.value != l.value {
			last.value, last.term = l.value, term(l.member, l.value)
		}
		out = append(out, d.last[i].term)
	}
	return out
}

// facts returns the query that asks for everything that is looked up of an event.
func facts(e *phases.Event) wire.Query {
	return wire.Query{Invocation: e.Invocation, Session: e.Session, Kind: e.Kind, Binding: e.Binding, Agent: e.Agent,
		Tool:     e.Tool,
		Decision: e.Decision, Phase: e.Phase, Type: e.Type, Runtime: e.Runtime}
}

// blockOf returns the block of an event, and its place there.
func blockOf(seq int64) (block int64, place int) {
	return (seq - 1) / blockEvents, int((seq - 1) % blockEvents)
}

// places is a set of events of a block.
type places [blockEvents / 64]uint64

func (p *places) add(i int)      { p[i/64] |= 1 << (i % 64) }
func (p *places) has(i int) bool { return p[i/64]>>(i%64)&1 == 1 }

func (p *places) count() (n int) {
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

// and keeps what is in other as well; without keeps what is not.
func (p *places) and(other *places) {
	for i := range p {
		p[i] &= other[i]
	}
}

func (p *places) without(other *places) {
	for i := range p {
		p[i] &^= other[i]
	}
}

const bitmapBytes = blockEvents / 8

// bytes returns the stored form: nothing for all events, two bytes for each of a few, else a
// bit for each event.
func (p *places) bytes() []byte {
	n := p.count()
	switch {
	case n == blockEvents:
		return nil
	case 2*n >= bitmapBytes:
		out := make([]byte, 0, bitmapBytes)
		for _, w := range p {
			out = binary.LittleEndian.AppendUint64(out, w)
		}
		return out
	}
	out := make([]byte, 0, 2*n)
	for i := range blockEvents {
		if p.has(i) {
			out = binary.LittleEndian.AppendUint16(out, uint16(i))
		}
	}
	return out
}

// parsePlaces reads the stored form; ok is false for what is none.
func parsePlaces(b []byte) (p places, ok bool) {
	switch {
	case len(b) == 0:
		for i := range p {
			p[i] = ^uint64(0)
		}
	case len(b) == bitmapBytes:
		for i := range p {
			p[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case len(b) < bitmapBytes && len(b)%2 == 0:
		for ; len(b) > 0; b = b[2:] {
			i := int(binary.LittleEndian.Uint16(b))
			if i >= blockEvents {
				return places{}, false
			}
			p.add(i)
		}
	default:
		return places{}, false
	}
	return p, true
}

// block is one block of the lookup.
type block struct {
	number      int64
	first, last int64 // time in ns
	terms       map[int64]*places
	counts      [blockEvents]uint16 // of terms, by place; only of one that was loaded
	digested    digested            // of the event that was added, or compared, last
}

// add puts an event in.
func (b *block) add(e *phases.Event) {
	_, at := blockOf(e.Seq)
	ns := e.Time.UnixNano()
	if len(b.terms) == 0 {
		b.first, b.last = ns, ns
	}
	b.first, b.last = min(b.first, ns), max(b.last, ns)
	q := facts(e)
	for _, t := range b.digested.terms(&q) {
		p := b.terms[t]
		if p == nil {
			p = new(places)
			b.terms[t] = p
		}
		p.add(at)
	}
}

// holds reports whether the event is found under its own values, and under no other.
func (b *block) holds(e *phases.Event) bool {
	_, at := blockOf(e.Seq)
	if ns := e.Time.UnixNano(); ns < b.first || ns > b.last {
		return false
	}
	q := facts(e)
	own := b.digested.terms(&q)
	for _, t := range own {
		if p := b.terms[t]; p == nil || !p.has(at) {
			return false
		}
	}
	return int(b.counts[at]) == len(own)
}

// indexedThrough returns the number of the last event that a block holds; 0: there is none.
func indexedThrough(c *conn) (through int64, err error) {
	err = c.query("SELECT coalesce(max(block)+1, 0) FROM lookup_blocks", func(st *sqlite3.Stmt) error {
		through = st.ColumnInt64(0) * blockEvents
		return nil
	})
	return through, err
}

// loadBlock reads a block; nil: there is none.
func loadBlock(c *conn, number int64) (b *block, err error) {
	err = c.query("SELECT first_ns, last_ns FROM lookup_blocks WHERE block=?", func(st *sqlite3.Stmt) error {
		b = &block{number: number, first: st.ColumnInt64(0), last: st.ColumnInt64(1), terms: map[int64]*places{}}
		return nil
	}, number)
	if err != nil || b == nil {
		return nil, err
	}
	err = c.query("SELECT term, events FROM lookup WHERE block=?", func(st *sqlite3.Stmt) error {
		p, ok := parsePlaces(st.ColumnRawBlob(1))
		if !ok {
			p = places{}
		}
		b.terms[st.ColumnInt64(0)] = &p
		for i, w := range p {
			for ; w != 0; w &= w - 1 {
				b.counts[64*i+bits.TrailingZeros64(w)]++
			}
		}
		return nil
	}, number)
	return b, err
}

// A lookupCheck compares events with the blocks that they are in.
type lookupCheck struct {
	through int64
	block   *block
	number  int64 // of block, which is nil when there is none
}

// holds reports whether the lookup says of the event what the event says.
func (l *lookupCheck) holds(c *conn, e *phases.Event) (ok bool, err error) {
	if e.Seq > l.through {
		return true, nil // it is searched without the lookup
	}
	if n, _ := blockOf(e.Seq); n != l.number {
		l.number = n
		if l.block, err = loadBlock(c, n); err != nil {
			return false, err
		}
	}
	return l.block != nil && l.block.holds(e), nil
}

// newCheck returns a check that has read no block yet.
func newCheck(c *conn) (*lookupCheck, error) {
	through, err := indexedThrough(c)
	return &lookupCheck{through: through, number: -1}, err
}

// forget removes the blocks whose events are all gone, up to event last.
func forget(c *conn, last int64) error {
	if last < blockEvents {
		return nil
	}
	for _, table := range []string{"lookup", "lookup_blocks"} {
		if err := c.exec("DELETE FROM "+table+" WHERE block < ?", last/blockEvents); err != nil {
			return err
		}
	}
	return nil
}

// bounds returns a query's times in ns: not before since, before until.
func bounds(q *wire.Query) (since, until int64) {
	ns := func(t time.Time, none int64) int64 {
		if t.IsZero() {
			return none
		}
		return t.UnixNano()
	}
	return ns(q.Since, -1<<63), ns(q.Until, 1<<63-1)
}
