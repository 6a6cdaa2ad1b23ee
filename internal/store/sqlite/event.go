package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/phases"
)

// Events are encoded by the caller who brings them, so that the one writer does
// not; the number, which only the writer can give, is the first member.
const unnumbered = `{"seq":0,`

// encode returns the events as they are stored, but for their numbers, one behind the other in
// buffer. It changes the times in es to UTC.
func encode(buffer []byte, es []phases.Event) (bodies [][]byte, used []byte, err error) {
	bodies = make([][]byte, len(es))
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
		bodies[i] = buffer[at:end:end]
		if at = end; !bytes.HasPrefix(bodies[i], []byte(unnumbered)) {
			return nil, buffer, errors.New("encode event: the number is not its first member")
		}
	}
	return bodies, buffer, nil
}

// numbered returns the encoded event with its number and, unless it is "", with the
// digest of the rows that restrict, at the beginning of out.
func numbered(out, body []byte, seq int64, stamp string) []byte {
	out = slices.Grow(out[:0], len(body)+len(stampMember)+len(stamp)+21)
	out = append(out, unnumbered[:len(unnumbered)-2]...)
	out = strconv.AppendInt(out, seq, 10)
	if stamp != "" {
		out = append(append(append(append(out, ','), stampMember...), stamp...), '"')
	}
	return append(out, body[len(unnumbered)-1:]...)
}

// writeEvent stores the event and makes it the next leaf.
func writeEvent(c *conn, at *edge, e *phases.Event, body []byte, stamp string) error {
	seq := at.size + 1
	c.body = numbered(c.body, body, seq, stamp) // SQLite and the tree copy it
	body = c.body
	err := c.exec(
		`INSERT INTO events (seq, id, type, time_ns, phase, runtime, session, agent, invocation, binding, decision, kind, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, e.ID, string(e.Type), e.Time, string(e.Phase), e.Runtime, e.Session, e.Agent, e.Invocation, e.Binding,
		e.Decision, string(e.Kind), body)
	if err != nil {
		return err
	}
	return at.add(body)
}
