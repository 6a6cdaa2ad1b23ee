package belay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/readfile"
	"github.com/belay-hooks/belay/internal/sink"
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

	// Copies is JSON lines of events that were exported earlier; nil means the files
	// of JSON lines that belay.yaml names, if any.
	Copies io.Reader
}

// CheckpointKey returns the public half of the key that signs checkpoints.
func (b *Belay) CheckpointKey() string {
	if b.keys.events == nil {
		return "" // only of a Log
	}
	return b.keys.events.Verifier()
}

// StoreID names the state directory in the orders of reviewers: it comes from the key
// that signs checkpoints. "" only of a Log without that key.
func (b *Belay) StoreID() string {
	if b.keys.events == nil {
		return ""
	}
	return b.keys.events.StoreID()
}

// VerifyLog proves that the event log is what was signed. A log that is wrong is
// no error: LogReport.Wrong says what is. With an error nothing is known.
func (b *Belay) VerifyLog(ctx context.Context, ev LogEvidence) (LogReport, error) {
	e := eventlog.Evidence{Verifier: ev.Verifier}
	if e.Verifier == "" {
		if e.Verifier = b.CheckpointKey(); e.Verifier == "" {
			return LogReport{}, stateError("a verifier key has to be given", errNoKey)
		}
	}
	outside, torn, err := b.outsideMarks(ev.Checkpoints, e.Verifier)
	if err != nil {
		return LogReport{}, err
	}
	e.Outside, e.Torn = outside, torn
	if ev.Copies != nil {
		copies, err := readCopies(ev.Copies)
		if err != nil {
			return LogReport{}, err
		}
		e.Copies = func(seq int64) (tlog.Hash, bool) { h, ok := copies[seq]; return h, ok }
		r, err := eventlog.Verify(ctx, b.store, e)
		return b.marked(ctx, r, err)
	}
	// They are opened before the size of the log is read: whatever is in them then is
	// in the store as well, since the store comes first.
	copies, err := b.openCopies()
	if err != nil {
		return LogReport{}, err
	}
	defer copies.close()
	if len(copies.files) > 0 {
		e.Copies = copies.hash
	}
	r, err := eventlog.Verify(ctx, b.store, e)
	return b.marked(ctx, r, errors.Join(err, copies.err))
}

// copies are the files of JSON lines that belay.yaml names.
type copies struct {
	files []*sink.Copy
	err   error // the first that came up while they were read
}

func (b *Belay) openCopies() (*copies, error) {
	b.mu.Lock()
	files := b.file.Events.JSONL()
	b.mu.Unlock()
	c := &copies{}
	for _, f := range files {
		opened, err := sink.OpenCopy(f.Path)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("copies: %w", err)
		}
		c.files = append(c.files, opened)
	}
	return c, nil
}

// hash returns the leaf hash that the files say event seq has; one that no event
// has when they do not say the same.
func (c *copies) hash(seq int64) (h tlog.Hash, ok bool) {
	for _, f := range c.files {
		line, there, err := f.Line(seq)
		if err != nil {
			c.err = errors.Join(c.err, fmt.Errorf("copies: %w", err))
			return h, false
		}
		if !there {
			continue
		}
		this := tlog.RecordHash(line)
		if ok && this != h {
			return tlog.Hash{}, true
		}
		h, ok = this, true
	}
	return h, ok
}

func (c *copies) close() {
	for _, f := range c.files {
		f.Close()
	}
}

// maxMarkFile is the most that is read of a file of checkpoints, in bytes: a million of them.
const maxMarkFile = 512 << 20

// outsideMarks reads the checkpoints of a file, or else of all that belay.yaml names,
// and says how many of the files end in the middle of one.
func (b *Belay) outsideMarks(file, verifier string) (out [][]byte, torn int, err error) {
	marks := func(src []byte) [][]byte {
		src, cut := eventlog.CutTorn(src, verifier)
		if cut {
			torn++
		}
		return splitMarks(src)
	}
	if file != "" {
		src, err := readfile.All(file, maxMarkFile)
		if err != nil {
			return nil, 0, fmt.Errorf("checkpoints: %w", err)
		}
		if out = marks(src); len(out) > 0 {
			return out, torn, nil
		}
		return nil, 0, fmt.Errorf("checkpoints: %s holds none", file)
	}
	b.mu.Lock()
	files := b.file.Events.MarkFiles()
	b.mu.Unlock()
	for _, f := range files {
		src, err := readfile.All(f.Path, maxMarkFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, fmt.Errorf("checkpoints: %w", err)
		}
		out = append(out, marks(src)...)
	}
	return out, torn, nil
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
	if err := b.behind(ctx); err != nil {
		return nil, err
	}
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
