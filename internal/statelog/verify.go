package statelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// Evidence is what the event log is verified against.
type Evidence struct {
	// Verifier is the key's public half, as it was noted outside; "" means the one
	// of the state directory, which proves nothing against an attacker who replaced it.
	Verifier string

	// Checkpoints is a file of checkpoints from outside the database; "" means the
	// one that belay.yaml names, if any.
	Checkpoints string

	// Copies is JSON lines of events that were exported earlier; nil means the files
	// of JSON lines that belay.yaml names, if any.
	Copies io.Reader

	// SinceHead reads only the events behind the newest checkpoint; Report.Unread says how many
	// were not read.
	SinceHead bool
}

// Verify proves that the event log is the signed one. A wrong log is no error:
// Report.Wrong names the fault. With an error nothing is known.
func (l *Log) Verify(ctx context.Context, ev Evidence) (Report, error) {
	e := eventlog.Evidence{Verifier: ev.Verifier, SinceHead: ev.SinceHead}
	if e.Verifier == "" {
		if e.Verifier = l.Key(); e.Verifier == "" {
			return Report{}, statedir.Unusable("a verifier key has to be given", errNoKey)
		}
	}
	outside, torn, err := l.outsideCheckpoints(ev.Checkpoints, e.Verifier)
	if err != nil {
		return Report{}, err
	}
	e.Outside, e.Torn = outside, torn
	if ev.Copies != nil {
		copies, err := readCopies(ev.Copies)
		if err != nil {
			return Report{}, err
		}
		e.Copies = func(seq int64) (tlog.Hash, bool) { h, ok := copies[seq]; return h, ok }
		r, err := eventlog.Verify(ctx, l.store, e)
		return l.compareMark(ctx, r, err)
	}
	// They are opened before the size of the log is read: whatever is in them then is
	// in the store as well, since the store comes first.
	copies, err := openCopies(l.events.Load())
	if err != nil {
		return Report{}, err
	}
	defer copies.close()
	if len(copies.files) > 0 {
		e.Copies = copies.hash
	}
	r, err := eventlog.Verify(ctx, l.store, e)
	return l.compareMark(ctx, r, errors.Join(err, copies.err))
}

// maxMarkFile is the most that is read of a file of checkpoints, in bytes: a million of them.
const maxMarkFile = 512 << 20

// outsideCheckpoints reads the checkpoints of a file, or else of all that belay.yaml names,
// and says how many of the files end in the middle of one.
func (l *Log) outsideCheckpoints(file, verifier string) (out [][]byte, torn int, err error) {
	marks := func(src []byte) [][]byte {
		src, cut := eventlog.CutTorn(src, verifier)
		if cut {
			torn++
		}
		return splitMarks(src)
	}
	if file != "" {
		src, err := files.Read(file, maxMarkFile)
		if err != nil {
			return nil, 0, fmt.Errorf("checkpoints: %w", err)
		}
		if out = marks(src); len(out) > 0 {
			return out, torn, nil
		}
		return nil, 0, fmt.Errorf("checkpoints: %s holds none", file)
	}
	for _, f := range l.events.Load().CheckpointFiles() {
		src, err := files.Read(f.Path, maxMarkFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, fmt.Errorf("checkpoints: %w", err)
		}
		out = append(out, marks(src)...)
	}
	return out, torn, nil
}

// Prove makes a proof that the event is in the log. Without the key the error is
// statedir.ErrUnusable.
func (l *Log) Prove(ctx context.Context, seq int64) (*eventlog.Proof, error) {
	if l.key == nil {
		return nil, statedir.Unusable("a proof holds a checkpoint that is signed now", errNoKey)
	}
	if err := l.behind(ctx); err != nil {
		return nil, err
	}
	return eventlog.Prove(ctx, l.store, l.key, seq, time.Now())
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
