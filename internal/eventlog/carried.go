package eventlog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Carried is what restricts, in the statement of a compaction: events that are compacted
// are not needed any more to find out that a restriction is missing, or to make latches again.
type Carried struct {
	Seq     int64          `json:"seq"`     // the event after which this holds
	Root    string         `json:"root"`    // that the event records; see phases.Event.Restrictions
	Tables  []byte         `json:"tables"`  // the digests of the tables, of which root is the digest
	Latches []kernel.Latch `json:"latches"` // oldest first
}

// carriedOf returns what restricts now, or nil if the log does not record that yet. The
// error is ErrLog when it is not what the log records.
func carriedOf(ctx context.Context, log kernel.Log) (*Carried, error) {
	r, err := log.Restrictions(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	case r.Tampered != nil:
		return nil, fmt.Errorf("%w: %w", ErrLog, r.Tampered)
	case r.Recorded == "":
		return nil, nil
	}
	return &Carried{Seq: r.Seq, Root: r.Recorded, Tables: r.Tables, Latches: r.Latches}, nil
}

const openPrefix = "open "

func (o *Carried) line() (string, error) {
	b, err := json.Marshal(o, json.Deterministic(true))
	return openPrefix + string(b), err
}

// parseCarried reads what line has written.
func parseCarried(text string) (*Carried, error) {
	body, ok := strings.CutPrefix(text, openPrefix)
	o := new(Carried)
	if !ok {
		return nil, errors.New("the line does not say what is open")
	}
	if err := json.Unmarshal([]byte(body), o, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if root, ok := restrict.RootOf(o.Tables); !ok || root.String() != o.Root || o.Seq < 1 {
		return nil, errors.New("what is open does not fit its digest")
	}
	return o, nil
}

// Latches returns the sessions that are latched, oldest first, as the events say and not
// the rows of the store: those of the newest statement of a compaction that names them, with what
// later events say. The error is ErrCompacted when events that may have latched a
// session were compacted without such a statement, ErrCheckpoint, or ErrLog.
func Latches(ctx context.Context, log kernel.Log, verifier string) ([]kernel.Latch, error) {
	var held holding
	first := int64(0)
	for after := int64(0); ; {
		leaves, err := log.LogLeaves(ctx, after, page)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLog, err)
		}
		if len(leaves) == 0 {
			break
		}
		if first == 0 {
			first = leaves[0].Seq
		}
		for _, l := range leaves {
			after = l.Seq
			var e phases.Event
			if err := json.Unmarshal(l.Body, &e); err != nil {
				return nil, fmt.Errorf("%w: event %d does not decode: %w", ErrLog, l.Seq, err)
			}
			switch e.Type {
			case phases.EventLatch:
				held.step(l.Seq, e)
			case phases.EventCompaction:
				s, err := announced(l.Body, verifier)
				if err != nil {
					return nil, err
				}
				held.carry(s.Carried)
			}
		}
	}
	if first > held.known+1 {
		return nil, fmt.Errorf("%w: events 1 to %d were compacted without saying which sessions were latched", ErrCompacted,
			first-1)
	}
	return held.latches(), nil
}

// holding collects what events say about latches, in the order of their numbers.
type holding struct {
	known   int64 // the event up to which carried speaks
	carried []kernel.Latch
	steps   []latchEvent
}

type latchEvent struct {
	seq int64
	e   phases.Event
}

func (h *holding) step(seq int64, e phases.Event) { h.steps = append(h.steps, latchEvent{seq, e}) }

// carry takes over the latches that the statement of a compaction carries, if they are newer than the known ones.
func (h *holding) carry(c *Carried) {
	if c != nil && c.Seq > h.known {
		h.known, h.carried = c.Seq, c.Latches
	}
}

// latches returns the latches that stand after every step, oldest first.
func (h *holding) latches() []kernel.Latch {
	held := map[wire.Session]kernel.Latch{}
	for _, l := range h.carried {
		held[l.Key()] = l
	}
	for i := range h.steps {
		if h.steps[i].seq > h.known {
			latchStep(held, &h.steps[i].e)
		}
	}
	return slices.SortedFunc(maps.Values(held), oldest)
}

// latchStep does what an event says. A latch stays as long as it does in a store; see kernel.Latch.Replaces.
func latchStep(held map[wire.Session]kernel.Latch, e *phases.Event) {
	key := wire.Session{Runtime: e.Runtime, Session: e.Session}
	if e.Decision != kernel.DecisionLatched {
		delete(held, key)
		return
	}
	l := kernel.LatchOf(e)
	if old, ok := held[key]; !ok || l.Replaces(&old) {
		held[key] = l
	}
}

// lost names what the rows say otherwise about latches than the events do.
func lost(ctx context.Context, log kernel.Log, verifier string, rows []kernel.Latch) (out []string) {
	want, err := Latches(ctx, log, verifier)
	if err != nil {
		return nil // there is no telling
	}
	stored := map[wire.Session]kernel.Latch{}
	for _, l := range rows {
		stored[l.Key()] = l
	}
	for _, l := range want {
		name := fmt.Sprintf("the latch of %s", restrict.Key(l.Runtime, l.Session))
		got, ok := stored[l.Key()]
		switch {
		case !ok:
			out = append(out, name+" is missing")
		case got != l:
			out = append(out, name+" was changed")
		}
		delete(stored, l.Key())
	}
	for _, l := range rows {
		if _, ok := stored[l.Key()]; ok {
			out = append(out, fmt.Sprintf("no event made the latch of %s", restrict.Key(l.Runtime, l.Session)))
		}
	}
	return out[:min(len(out), kernel.MaxTamperedRows)]
}
