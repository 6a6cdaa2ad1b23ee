// Package clockfile remembers the wall clock of a boot in a file of the state directory, so
// that a jump is found by the next process that looks, and told once.
package clockfile

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/leases"
)

// Name is the file's name in a state directory.
const Name = "clock.json"

const maxBytes = 4 << 10

// Told is what every sentence about a jump ends with.
const Told = "; leases, approvals and orders count by the time since the boot: none ran out early, and none lasts longer"

// Watch looks at the clocks for one process. Safe for concurrent use.
type Watch struct {
	path string // "": the process remembers for itself

	mu   sync.Mutex
	note atomic.Pointer[Note]
}

// New returns a Watch that keeps its note in a file; "" for none.
func New(path string) *Watch { return &Watch{path: path} }

// Observation is the result of a look.
type Observation struct {
	Text   string // "" for nothing
	Record bool   // this look wrote the jump down: the caller logs it
	Err    error  // the note could not be written; the process uses it all the same
}

// Look compares the clocks with the note. It costs nothing while there is no news.
func (w *Watch) Look(at leases.Instant) Observation {
	if known := w.note.Load(); at.Boot == "" || known != nil && !changed(*known, at) {
		return Observation{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.note.Load()
	if known != nil && !changed(*known, at) {
		return Observation{}
	}
	var before Note
	if known != nil {
		before = *known
	}
	next, news := w.take(before, at)
	w.note.Store(&next)
	if jump := next.Jump; news.Text == "" && known != nil && jump != nil && (before.Jump == nil || *before.Jump != *jump) {
		news.Text = jump.String() + Told // another process was faster, and has recorded it
	}
	return news
}

func changed(n Note, at leases.Instant) bool {
	_, _, changed := n.Look(at)
	return changed
}

// take brings the note's file up to date and returns it.
func (w *Watch) take(known Note, at leases.Instant) (next Note, news Observation) {
	var jump *Jump
	var damaged error
	look := func(old []byte) ([]byte, error) {
		from, err := DecodeNote(old)
		if damaged = err; err != nil || old == nil {
			from = known // what this process knows, if anything
		}
		next, jump, _ = from.Look(at)
		return next.Encode()
	}
	if w.path == "" {
		_, news.Err = look(nil)
	} else if old, err := files.Read(w.path, maxBytes); err == nil {
		if n, err := DecodeNote(old); err == nil && len(old) > 0 && !changed(n, at) {
			return n, news
		}
		news.Err = statedir.Edit(w.path, maxBytes, look)
	} else if errors.Is(err, fs.ErrNotExist) {
		news.Err = statedir.Edit(w.path, maxBytes, look)
	} else {
		news.Err = err
	}
	if next.Boot == "" { // the file could not be looked at
		next, jump, _ = known.Look(at)
	}
	news.Record = jump != nil || damaged != nil
	switch {
	case jump != nil:
		news.Text = jump.String() + Told
	case damaged != nil:
		news.Text = "the note of the clock in " + Name + " was damaged, and is made anew: a jump before now may be missing"
	}
	return next, news
}

// Note returns the remembered note; the zero Note before the first Look.
func (w *Watch) Note() Note {
	if n := w.note.Load(); n != nil {
		return *n
	}
	return Note{}
}

// Calm returns the time by which things are deleted for their age: see Note.Calm. ok
// is false on a host with a boot clock before the first Look: nothing is to be deleted then.
func (w *Watch) Calm(at leases.Instant) (calm time.Time, ok bool) {
	n := w.Note()
	return n.Calm(at), at.Boot == "" || n.Boot == at.Boot
}
