package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Proof shows, without the log, that an event is in it.
type Proof struct {
	Event      []byte           `json:"event"` // exactly as it is stored, base64
	Seq        int64            `json:"seq"`
	Path       tlog.RecordProof `json:"path"`
	Checkpoint string           `json:"checkpoint"` // a signed note
}

// Mark signs a checkpoint of the log as it is now. The error is ErrLog, or ErrCheckpoint when
// the key cannot sign.
func Mark(ctx context.Context, log kernel.Log, key *Key, now time.Time) (Checkpoint, []byte, error) {
	size, err := log.LogSize(ctx)
	if err != nil {
		return Checkpoint{}, nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	root, err := tlog.TreeHash(size, hashes(ctx, log))
	if err != nil {
		return Checkpoint{}, nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	c := Checkpoint{Size: size, Root: root, Time: now.UTC().Truncate(time.Second)}
	text, err := key.Sign(c)
	return c, text, err
}

// Root returns the root hash over the first events of a log.
func Root(ctx context.Context, log kernel.Log, size int64) ([32]byte, error) {
	h, err := tlog.TreeHash(size, hashes(ctx, log))
	return h, err
}

func hashes(ctx context.Context, log kernel.Log) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		found, err := log.LogHashes(ctx, indexes)
		if err != nil {
			return nil, err
		}
		out := make([]tlog.Hash, len(found))
		for i, h := range found {
			out[i] = h
		}
		return out, nil
	}
}

// Prove makes the proof of event seq with a checkpoint signed now. The error is
// ErrProof when there is no such event, ErrCompacted when its contents
// are gone, else ErrLog.
func Prove(ctx context.Context, log kernel.Log, key *Key, seq int64, now time.Time) (*Proof, error) {
	leaves, err := log.LogLeaves(ctx, seq-1, 1)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	done, err := log.LogCompacted(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	if seq >= 1 && seq <= done.Through-done.Left {
		return nil, fmt.Errorf("%w: events 1 to %d were, as event %d says; only hashes are left of them", ErrCompacted,
			done.Through-done.Left, done.Event)
	}
	if seq < 1 || len(leaves) == 0 || leaves[0].Seq != seq {
		return nil, fmt.Errorf("%w: there is no event %d", ErrProof, seq)
	}
	c, text, err := Mark(ctx, log, key, now)
	if err != nil {
		return nil, err
	}
	if seq > c.Size {
		return nil, fmt.Errorf("%w: event %d is not in the tree", ErrProof, seq)
	}
	path, err := tlog.ProveRecord(c.Size, seq-1, hashes(ctx, log))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	p := &Proof{Event: leaves[0].Body, Seq: seq, Path: path, Checkpoint: string(text)}
	if _, _, err := p.Check(key.Verifier()); err != nil {
		return nil, err // the log does not hold together: no proof comes of it
	}
	return p, nil
}

// ParseProof decodes a proof strictly. The error is ErrProof.
func ParseProof(src []byte) (*Proof, error) {
	p := new(Proof)
	if err := json.Unmarshal(src, p, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProof, err)
	}
	return p, nil
}

// Check verifies the proof with nothing but the verifier key, and returns the
// event and the checkpoint that covers it. The error is ErrProof.
func (p *Proof) Check(verifier string) (jsontext.Value, Checkpoint, error) {
	c, err := Open([]byte(p.Checkpoint), verifier)
	if err != nil {
		return nil, c, fmt.Errorf("%w: %w", ErrProof, err)
	}
	if p.Seq < 1 || p.Seq > c.Size {
		return nil, c, fmt.Errorf("%w: the checkpoint does not cover event %d", ErrProof, p.Seq)
	}
	if err := tlog.CheckRecord(p.Path, c.Size, c.Root, p.Seq-1, tlog.RecordHash(p.Event)); err != nil {
		return nil, c, fmt.Errorf("%w: event %d is not in the log of the checkpoint", ErrProof, p.Seq)
	}
	var e phases.Event
	if err := json.Unmarshal(p.Event, &e); err != nil || e.Seq != p.Seq {
		return nil, c, fmt.Errorf("%w: the event is not number %d", ErrProof, p.Seq)
	}
	return jsontext.Value(p.Event), c, nil
}
