package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// recoveryOrigin is the first line of a statement about a recovery.
const recoveryOrigin = "belay event log recovery v1"

// Recovery says that a log counts with its first Size events, although it had more, or
// others: a person has decided that. It explains the earlier checkpoints of lost events,
// which no longer fit the log.
type Recovery struct {
	Checkpoint        // of the events that are left, and when
	Mark       string // the head that was known outside: SIZE:ROOT, or "none"
	By, Why    string // one line each
}

// SignRecovery returns the statement as a signed note.
func SignRecovery(k *Key, r Recovery) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\nmark %s\nby %s\nwhy %s\n", recoveryOrigin, r.Size, r.Root,
		r.Time.UTC().Format(time.RFC3339), line(r.Mark), line(r.By), line(r.Why))
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return signed, nil
}

// OpenRecovery checks the signature of a statement about a recovery. The error is ErrCheckpoint.
func OpenRecovery(signed []byte, verifier string) (Recovery, error) {
	lines, err := open(signed, verifier, recoveryOrigin, 7)
	if err != nil {
		return Recovery{}, err
	}
	var r Recovery
	for i, m := range []struct {
		name string
		to   *string
	}{{"mark ", &r.Mark}, {"by ", &r.By}, {"why ", &r.Why}} {
		v, ok := strings.CutPrefix(lines[4+i], m.name)
		if !ok {
			return Recovery{}, fmt.Errorf("%w: not a statement of a recovery", ErrCheckpoint)
		}
		*m.to = v
	}
	r.Checkpoint, err = parseCheckpoint(lines)
	return r, err
}

// reaches returns how many events the log had, as far as the mark knew; 0 when it was missing.
func (r *Recovery) reaches() int64 {
	size, _, _ := strings.Cut(r.Mark, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// explains reports whether a checkpoint covers events that the recovery dropped: it is
// signed no later, of more events than are left, and of no more than the mark knew.
func (r *Recovery) explains(c Checkpoint) bool {
	most := r.reaches()
	return !c.Time.After(r.Time) && c.Size > r.Size && (most == 0 || c.Size <= most)
}

// recoveryOf returns the statement in an event of a recovery.
func recoveryOf(seq int64, body []byte, verifier string) (Recovery, error) {
	var e phases.Event
	var doc struct {
		Statement string `json:"statement"`
	}
	err := json.Unmarshal(body, &e)
	if err == nil {
		err = json.Unmarshal(e.Output, &doc)
	}
	if err != nil || e.Type != phases.EventRecovery {
		return Recovery{}, fmt.Errorf("%w: the event records no recovery", ErrCheckpoint)
	}
	r, err := OpenRecovery([]byte(doc.Statement), verifier)
	if err == nil && r.Size != seq-1 {
		err = fmt.Errorf("%w: the statement is about other events", ErrCheckpoint)
	}
	return r, err
}

// Recovered is a recovery that the log records.
type Recovered struct {
	Event       int64 `json:"event"`                // that records it
	First       int64 `json:"first,omitzero"`       // the first event that was lost
	Last        int64 `json:"last,omitzero"`        // the last, as far as it is known; 0 when it is not
	Checkpoints int   `json:"checkpoints,omitzero"` // of lost events: they do not fit the log, and do not count

	Tables []string `json:"tables,omitzero"` // whose rows were not those that the log records, and were repaired
	Kept   bool     `json:"kept,omitzero"`   // no event was lost
}

// repaired returns the tables that the event of a recovery says were repaired.
func repaired(body []byte) []string {
	var e phases.Event
	var doc struct {
		Rows struct {
			Tables []string `json:"tables"`
		} `json:"rows"`
	}
	if json.Unmarshal(body, &e) != nil || json.Unmarshal(e.Output, &doc) != nil {
		return nil
	}
	return doc.Rows.Tables
}

// recoveries reads the recoveries that the log records. One whose statement does not
// verify explains nothing.
func (v *verifier) recoveries(ctx context.Context) error {
	after := int64(0)
	reader, ok := v.log.(interface {
		Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
	})
	if !ok {
		return nil
	}
	for {
		es, err := reader.Events(ctx, wire.Query{Type: phases.EventRecovery, After: after, Limit: page})
		if err != nil || len(es) == 0 {
			return err
		}
		for i := range es {
			after = es[i].Seq
			leaves, err := v.log.LogLeaves(ctx, after-1, 1)
			if err != nil {
				return err
			}
			if len(leaves) == 0 || leaves[0].Seq != after {
				continue
			}
			r, err := recoveryOf(after, leaves[0].Body, v.ev.Verifier)
			var root tlog.Hash
			if err == nil {
				root, err = tlog.TreeHash(r.Size, hashes(ctx, v.log))
			}
			if errors.Is(err, ErrCheckpoint) || err == nil && root != r.Root {
				continue
			}
			if err != nil {
				return err
			}
			v.recovered = append(v.recovered, r)
			out := Recovered{Event: after, First: after, Last: r.reaches(), Tables: repaired(leaves[0].Body)}
			out.Kept = r.Mark == fmt.Sprintf("%d:%s", r.Size, r.Root)
			if out.Last < out.First {
				out.First, out.Last = 0, 0
			}
			v.report.Recovered = append(v.report.Recovered, out)
		}
	}
}

// explained reports whether a recovery explains that a checkpoint does not fit, and counts it.
func (v *verifier) explained(c Checkpoint) bool {
	for i := range v.recovered {
		if v.recovered[i].explains(c) {
			v.report.Recovered[i].Checkpoints++
			return true
		}
	}
	return false
}
