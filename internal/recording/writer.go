package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// line is one line of a recording: exactly one member beside the digest.
type line struct {
	Header jsontext.Value `json:"header,omitzero"`
	Chain  jsontext.Value `json:"chain,omitzero"`
	Run    jsontext.Value `json:"run,omitzero"`
	End    jsontext.Value `json:"end,omitzero"`
	SHA256 string         `json:"sha256"` // of the member's bytes
}

// Writer writes one recording. The same runs give the same bytes. It is safe for
// concurrent use.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	hash   hash.Hash
	chains map[string]bool
	known  map[*kernel.RecordedChain]string
	end    End
	err    error
	closed bool
}

// NewWriter begins a recording. Version is filled in.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	rw := &Writer{w: w, hash: sha256.New(), chains: map[string]bool{}, known: map[*kernel.RecordedChain]string{}}
	h.Version = Version
	b, err := encode(h)
	if err != nil {
		return nil, err
	}
	return rw, rw.write(line{Header: b, SHA256: sum(b)})
}

// Record adds an invocation as the kernel gives it. An invocation that is larger
// than a recording may hold is counted as dropped.
func (w *Writer) Record(r *kernel.Recording) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	digest, ok := w.known[r.Chain]
	if !ok {
		chain := ChainOf(r.Chain)
		var err error
		if digest, err = w.chain(&chain); err != nil {
			return err
		}
		if len(w.known) >= MaxChains {
			clear(w.known)
		}
		w.known[r.Chain] = digest
	}
	run, err := RunOf(r, digest)
	if err != nil {
		return err
	}
	return w.run(&run)
}

// AddChain adds a configuration, once, and returns its digest.
func (w *Writer) AddChain(c *Chain) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain(c)
}

// AddRun adds an invocation; its chain must have been added.
func (w *Writer) AddRun(r *Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.run(r)
}

func (w *Writer) chain(c *Chain) (string, error) {
	b, err := encode(c)
	if err != nil {
		return "", err
	}
	digest := phases.ByteDigest(b)
	if w.chains[digest] {
		return digest, nil
	}
	if len(w.chains) == MaxChains {
		return "", &Error{Class: ErrLimit, Text: "too many configurations"}
	}
	w.chains[digest] = true
	w.end.Chains++
	return digest, w.write(line{Chain: b, SHA256: sum(b)})
}

func (w *Writer) run(r *Run) error {
	if r.Chain != "" && !w.chains[r.Chain] {
		return &Error{Class: ErrFormat, Text: "a run of a configuration that is not in the recording"}
	}
	if w.end.Runs == MaxRuns {
		return &Error{Class: ErrLimit, Text: "too many invocations"}
	}
	b, err := encode(r)
	if err != nil {
		return err
	}
	if len(b) > MaxLineBytes-256 {
		w.end.Dropped++
		return nil
	}
	w.end.Runs++
	return w.write(line{Run: b, SHA256: sum(b)})
}

// Dropped counts invocations that were lost before they reached the writer.
func (w *Writer) Dropped(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end.Dropped += n
}

// Cut says that the recording ends before its source does.
func (w *Writer) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end.Cut = true
}

// Err returns the error that ended the writing, if one did.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Runs returns how many invocations were written.
func (w *Writer) Runs() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end.Runs
}

// Losses returns how many invocations are missing, as far as the writer knows.
func (w *Writer) Losses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end.Dropped
}

// Digest names the recording once it is closed, as Reader.Digest does.
func (w *Writer) Digest() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return "sha256:" + w.end.SHA256
}

// Close writes the last line; without it the recording counts as cut off. The
// destination is not closed.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.err != nil {
		return w.err
	}
	w.closed = true
	w.end.SHA256 = hex.EncodeToString(w.hash.Sum(nil))
	b, err := encode(w.end)
	if err != nil {
		return err
	}
	return w.write(line{End: b, SHA256: sum(b)})
}

// write appends one line. After an error nothing more is written: half a line in
// the middle would look like damage.
func (w *Writer) write(l line) error {
	if w.err != nil {
		return w.err
	}
	b, err := encode(l)
	if err == nil {
		b = append(b, '\n')
		w.hash.Write(b)
		_, err = w.w.Write(b)
	}
	w.err = err
	return err
}
