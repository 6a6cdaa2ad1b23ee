package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventpack"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/phases"
)

// Events are encoded and packed by the caller who brings them, so that the one writer does not.

// encoded is one event on its way to its row.
type encoded struct {
	text   []byte // the leaf, but for its number
	behind int    // in how many further rows its pack stands
	pack   []byte // that ends with it; nil, and behind 0: it is stored as it is
}

// encode returns the events as they are stored, but for their numbers, in buffer. It changes the
// times in es to UTC.
func encode(packs *eventpack.Codec, buffer []byte, es []phases.Event) ([]encoded, []byte, error) {
	texts, buffer, err := leaf.EncodeTexts(buffer, es)
	if err != nil {
		return nil, buffer, err
	}
	out := make([]encoded, len(texts))
	for i := range texts {
		out[i].text = texts[i]
	}
	buffer, err = packAll(packs, buffer, out)
	return out, buffer, err
}

// packAll packs encoded texts, at the end of buffer.
func packAll(packs *eventpack.Codec, buffer []byte, es []encoded) ([]byte, error) {
	var err error
	for len(es) > 0 {
		n := fit(es)
		if n == 0 {
			es = es[1:]
			continue
		}
		if buffer, err = pack(packs, buffer, es[:n]); err != nil {
			return buffer, fmt.Errorf("pack events: %w", err)
		}
		es = es[n:]
	}
	return buffer, nil
}

// fit returns how many events go into the next pack.
func fit(es []encoded) int {
	var texts [eventpack.MaxTexts][]byte
	n := min(len(es), len(texts))
	for i := range n {
		texts[i] = es[i].text
	}
	return eventpack.Fit(texts[:n])
}

// pack puts events into one pack, at the end of buffer. Their texts are one behind the other.
func pack(packs *eventpack.Codec, buffer []byte, es []encoded) ([]byte, error) {
	var ends [eventpack.MaxTexts]int
	total := 0
	for i := range es {
		total += len(es[i].text)
		ends[i], es[i].behind = total, len(es)-1-i
	}
	start := len(buffer)
	buffer, err := packs.Append(buffer, es[0].text[:total:total], ends[:len(es)])
	es[len(es)-1].pack = buffer[start:len(buffer):len(buffer)]
	return buffer, err
}

// writeEvent stores the event and makes it the next leaf.
func writeEvent(c *conn, at *edge, e *phases.Event, enc *encoded, stamp *restrict.Digest) error {
	seq := at.size + 1
	c.body = leaf.Numbered(c.body, enc.text, seq, stamp) // SQLite and the tree copy it
	column := c.body
	switch {
	case enc.pack != nil:
		c.column = writePack(c.column[:0], seq, stamp, enc.pack)
		column = c.column
	case enc.behind > 0:
		c.column = writePart(c.column[:0], seq, enc.behind)
		column = c.column
	}
	err := c.insertEvent(seq, e, column)
	if err != nil {
		return err
	}
	return at.add(c.body)
}

// insertedTexts are the values of the columns that are texts, in the order of their parameters.
type insertedTexts [10]string

// insertion is the statement that stores an event. Most texts of an event are those of the one before it, and
// stay bound.
type insertion struct {
	stmt  *sqlite3.Stmt
	texts insertedTexts // that are bound
	bound bool          // they are all
}

// Parameters of the statement.
const (
	seqParameter  = 1
	timeParameter = 2
	bodyParameter = 3
	firstText     = 4
)

// maxBound is the largest body, in bytes, that stays bound.
const maxBound = 64 << 10

func (c *conn) insertEvent(seq int64, e *phases.Event, column []byte) (err error) {
	in := &c.insertion
	if in.stmt == nil {
		if in.stmt, err = c.prepare(`INSERT INTO events
			(seq, time_ns, body, id, type, phase, runtime, session, agent, invocation, binding, decision, kind)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`); err != nil {
			return err
		}
	}
	st := in.stmt
	texts := insertedTexts{e.ID, string(e.Type), string(e.Phase), e.Runtime, e.Session, e.Agent, e.Invocation, e.Binding,
		e.Decision, string(e.Kind)}
	was := in.bound
	in.bound = false // until all are
	for i, text := range texts {
		if was && in.texts[i] == text {
			continue
		}
		if err := st.BindText(firstText+i, text); err != nil {
			return err
		}
	}
	in.texts, in.bound = texts, true
	if err := errors.Join(st.BindInt64(seqParameter, seq), st.BindInt64(timeParameter, e.Time.UnixNano()),
		st.BindBlob(bodyParameter, column)); err != nil {
		return err
	}
	st.Step()
	err = st.Err()
	if e := st.Reset(); err == nil {
		err = e
	}
	if len(column) > maxBound {
		err = errors.Join(err, st.BindZeroBlob(bodyParameter, 0))
	}
	return err
}
