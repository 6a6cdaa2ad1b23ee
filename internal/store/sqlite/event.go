package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Events are encoded by the caller who brings them, so that the one writer does
// not; the number, which only the writer can give, is the first member.
const unnumbered = `{"seq":0,`

// encode returns the events as they are stored, but for their numbers. It
// changes the times in es to UTC.
func encode(es []phases.Event) ([][]byte, error) {
	out := make([][]byte, len(es))
	for i, e := range es {
		if e.ID == "" {
			return nil, errors.New("event without an id")
		}
		e.Seq, e.Restrictions, e.Time = 0, "", e.Time.UTC()
		b, err := json.Marshal(&e, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		if !bytes.HasPrefix(b, []byte(unnumbered)) {
			return nil, errors.New("encode event: the number is not its first member")
		}
		out[i] = b
	}
	return out, nil
}

// numbered returns the encoded event with its number and, unless it is "", with the
// digest of the rows that restrict.
func numbered(body []byte, seq int64, stamp string) []byte {
	out := make([]byte, 0, len(body)+len(stampMember)+len(stamp)+21)
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
	body = numbered(body, seq, stamp)
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
