package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/eventpack"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/phases"
)

// Events are encoded by the caller who brings them, so that the one writer does not; the number,
// which only the writer can give, is the first member. The writer packs them: packing takes a
// microsecond or two on a stack of 128 KB, to which each caller's would have to grow.
const unnumbered = `{"seq":0,`

// encoded is one event on its way to its row.
type encoded struct {
	text   []byte // the leaf, but for its number
	behind int    // in how many further rows its pack stands
	pack   []byte // that ends with it; nil, and behind 0: it is stored as it is
}

// encode returns the events as they are stored, but for their numbers and not packed, in buffer.
// It changes the times in es to UTC.
func encode(buffer []byte, es []phases.Event) ([]encoded, []byte, error) {
	texts, buffer, err := encodeTexts(buffer, es)
	if err != nil {
		return nil, buffer, err
	}
	out := make([]encoded, len(texts))
	for i := range texts {
		out[i].text = texts[i]
	}
	return out, buffer, nil
}

// packAll packs what encode returned, at the end of buffer.
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

// encodeTexts returns the events as leaves, but for their numbers, one behind the other in buffer.
func encodeTexts(buffer []byte, es []phases.Event) (texts [][]byte, used []byte, err error) {
	texts = make([][]byte, len(es))
	ends := make([]int, len(es))
	for i, e := range es {
		if e.ID == "" {
			return nil, buffer, errors.New("event without an id")
		}
		e.Seq, e.Restrictions, e.Time = 0, "", e.Time.UTC()
		if buffer, err = eventbytes.Append(buffer, &e); err != nil {
			return nil, buffer, fmt.Errorf("encode event: %w", err)
		}
		ends[i] = len(buffer)
	}
	at := 0
	for i, end := range ends { // now that the buffer grows no more
		texts[i] = buffer[at:end]
		if at = end; !bytes.HasPrefix(texts[i], []byte(unnumbered)) {
			return nil, buffer, errors.New("encode event: the number is not its first member")
		}
	}
	return texts, buffer, nil
}

// numbered returns the encoded event with its number and, unless it is nil, with the
// digest of the rows that restrict, at the beginning of out.
func numbered(out, text []byte, seq int64, stamp *restrict.Digest) []byte {
	out = slices.Grow(out[:0], len(text)+len(stampMember)+100)
	out = append(out, unnumbered[:len(unnumbered)-2]...)
	out = strconv.AppendInt(out, seq, 10)
	if stamp != nil {
		out = append(append(append(append(out, ','), stampMember...), stamp.String()...), '"')
	}
	return append(out, text[len(unnumbered)-1:]...)
}

// writeEvent stores the event and makes it the next leaf.
func writeEvent(c *conn, at *edge, e *phases.Event, enc *encoded, stamp *restrict.Digest) error {
	seq := at.size + 1
	c.body = numbered(c.body, enc.text, seq, stamp) // SQLite and the tree copy it
	column := c.body
	switch {
	case enc.pack != nil:
		c.column = writePack(c.column[:0], seq, stamp, enc.pack)
		column = c.column
	case enc.behind > 0:
		c.column = writePart(c.column[:0], seq, enc.behind)
		column = c.column
	}
	err := c.exec(
		`INSERT INTO events (seq, id, type, time_ns, phase, runtime, session, agent, invocation, binding, decision, kind, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, e.ID, string(e.Type), e.Time, string(e.Phase), e.Runtime, e.Session, e.Agent, e.Invocation, e.Binding,
		e.Decision, string(e.Kind), column)
	if err != nil {
		return err
	}
	return at.add(c.body)
}
