package statelog

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/phases"
)

// copies are the files of JSON lines that belay.yaml names.
type copies struct {
	files []*sink.Copy
	err   error // the first that came up while they were read
}

func openCopies(e *config.Events) (*copies, error) {
	c := &copies{}
	for _, f := range e.JSONL() {
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
