package belay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/phases"
)

// LogReport is the outcome of a verification of the event log.
type LogReport = eventlog.Report

// LogProof shows that one event is in the log.
type LogProof = eventlog.Proof

// LogEvidence is what the event log is verified against.
type LogEvidence struct {
	// Verifier is the key's public half, as it was noted outside; "" means the one
	// of the state directory, which proves nothing against somebody who replaced it.
	Verifier string

	// Checkpoints is a file of checkpoints from outside the database; "" means the
	// one that belay.yaml names, if any.
	Checkpoints string

	// Copies is JSON lines of events that were exported earlier; nil means none.
	Copies io.Reader
}

// CheckpointKey returns the public half of the key that signs checkpoints.
func (b *Belay) CheckpointKey() string { return b.keys.events.Verifier() }

// VerifyLog proves that the event log is what was signed. A log that is wrong is
// no error: LogReport.Wrong says what is. With an error nothing is known.
func (b *Belay) VerifyLog(ctx context.Context, ev LogEvidence) (LogReport, error) {
	e := eventlog.Evidence{Verifier: ev.Verifier}
	if e.Verifier == "" {
		e.Verifier = b.CheckpointKey()
	}
	file := ev.Checkpoints
	if file == "" {
		b.mu.Lock()
		file = b.file.Events.Checkpoint.File
		b.mu.Unlock()
	}
	if file != "" {
		src, err := os.ReadFile(file)
		if err != nil && !(ev.Checkpoints == "" && errors.Is(err, fs.ErrNotExist)) {
			return LogReport{}, fmt.Errorf("checkpoints: %w", err)
		}
		e.Outside = eventlog.Split(src)
		if ev.Checkpoints != "" && len(e.Outside) == 0 {
			return LogReport{}, fmt.Errorf("checkpoints: %s holds none", file)
		}
	}
	if ev.Copies != nil {
		copies, err := readCopies(ev.Copies)
		if err != nil {
			return LogReport{}, err
		}
		e.Copies = func(seq int64) (tlog.Hash, bool) { h, ok := copies[seq]; return h, ok }
	}
	return eventlog.Verify(ctx, b.store, e)
}

// readCopies returns the leaf hashes of exported events: an event is stored in the
// one form that encoding it again gives.
func readCopies(r io.Reader) (map[int64]tlog.Hash, error) {
	out := map[int64]tlog.Hash{}
	for dec := jsontext.NewDecoder(r); ; {
		var e phases.Event
		err := json.UnmarshalDecode(dec, &e)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("copies: after event %d of them: %w", len(out), err)
		}
		body, err := json.Marshal(&e, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("copies: %w", err)
		}
		out[e.Seq] = tlog.RecordHash(body)
	}
}

// ProveEvent makes a proof that the event is in the log.
func (b *Belay) ProveEvent(ctx context.Context, seq int64) (*LogProof, error) {
	return eventlog.Prove(ctx, b.store, b.keys.events, seq, time.Now())
}

// CheckProof checks a proof with the verifier key alone, and returns the event.
func CheckProof(src []byte, verifier string) (jsontext.Value, error) {
	p, err := eventlog.ParseProof(src)
	if err != nil {
		return nil, err
	}
	event, _, err := p.Check(verifier)
	return event, err
}
