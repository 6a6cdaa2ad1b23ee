package recording

import (
	"sync"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Recorder is a kernel.Recorder that writes every invocation at once. An error of the
// destination is final: nothing is recorded after it.
type Recorder struct {
	w  *Writer
	mu sync.Mutex
	// err is the first error.
	err error
}

// NewRecorder returns a recorder that writes to w, which stays the caller's.
func NewRecorder(w *Writer) *Recorder { return &Recorder{w: w} }

// Wants implements kernel.Recorder.
func (t *Recorder) Wants(*phases.Invocation) bool { return t.Err() == nil }

// Recorded implements kernel.Recorder.
func (t *Recorder) Recorded(r *kernel.Recording) {
	if err := t.w.Record(r); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.err == nil {
			t.err = err
		}
	}
}

// Err returns the first error.
func (t *Recorder) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
