package notes

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/leases"
)

// ClockName is the file's name in a state directory.
const ClockName = "clock.json"

// maxClock is the most bytes of the file.
const maxClock = 4 << 10

// jumpTold is what every sentence about a jump ends with.
const jumpTold = "; leases, approvals and orders count by the time since the boot: none ran out early, and none lasts longer"

// ClockWatch looks at the clocks for one process. Safe for concurrent use.
type ClockWatch struct {
	path string // "": the process remembers for itself

	mu   sync.Mutex
	note atomic.Pointer[ClockNote]
}

// NewClockWatch returns a ClockWatch that keeps its note in a file; "" for none.
func NewClockWatch(path string) *ClockWatch { return &ClockWatch{path: path} }

// ClockObservation is the result of a look.
type ClockObservation struct {
	Text   string // "" for nothing
	Record bool   // this look wrote the jump down: the caller logs it
	Err    error  // the note could not be written; the process uses it all the same
}

// Look compares the clocks with the note. It costs nothing while there is no news.
func (w *ClockWatch) Look(at leases.Instant) ClockObservation {
	if known := w.note.Load(); at.Boot == "" || known != nil && !changed(*known, at) {
		return ClockObservation{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.note.Load()
	if known != nil && !changed(*known, at) {
		return ClockObservation{}
	}
	var before ClockNote
	if known != nil {
		before = *known
	}
	next, news := w.take(before, at)
	w.note.Store(&next)
	if jump := next.Jump; news.Text == "" && known != nil && jump != nil && (before.Jump == nil || *before.Jump != *jump) {
		news.Text = jump.String() + jumpTold // another process was faster, and has recorded it
	}
	return news
}

func changed(n ClockNote, at leases.Instant) bool {
	_, _, changed := n.Look(at)
	return changed
}

// take brings the note's file up to date and returns it.
func (w *ClockWatch) take(known ClockNote, at leases.Instant) (next ClockNote, news ClockObservation) {
	var jump *ClockJump
	var damaged error
	look := func(old []byte) ([]byte, error) {
		from, err := DecodeClockNote(old)
		if damaged = err; err != nil || old == nil {
			from = known // what this process knows, if anything
		}
		next, jump, _ = from.Look(at)
		return next.Encode()
	}
	if w.path == "" {
		_, news.Err = look(nil)
	} else if old, err := files.Read(w.path, maxClock); err == nil {
		if n, err := DecodeClockNote(old); err == nil && len(old) > 0 && !changed(n, at) {
			return n, news
		}
		news.Err = statedir.Edit(w.path, maxClock, look)
	} else if errors.Is(err, fs.ErrNotExist) {
		news.Err = statedir.Edit(w.path, maxClock, look)
	} else {
		news.Err = err
	}
	if next.Boot == "" { // the file could not be looked at
		next, jump, _ = known.Look(at)
	}
	news.Record = jump != nil || damaged != nil
	switch {
	case jump != nil:
		news.Text = jump.String() + jumpTold
	case damaged != nil:
		news.Text = "the note of the clock in " + ClockName +
			" was damaged, and is made anew: a jump before now may be missing"
	}
	return next, news
}

// Note returns the remembered note; the zero ClockNote before the first Look.
func (w *ClockWatch) Note() ClockNote {
	if n := w.note.Load(); n != nil {
		return *n
	}
	return ClockNote{}
}

// Calm returns the time by which things are deleted for their age: see ClockNote.Calm. ok
// is false on a host with a boot clock before the first Look: nothing is to be deleted then.
func (w *ClockWatch) Calm(at leases.Instant) (calm time.Time, ok bool) {
	n := w.Note()
	return n.Calm(at), at.Boot == "" || n.Boot == at.Boot
}

const (
	// jumpToldFor is how long the status speaks of a jump, by the clock of the boot.
	jumpToldFor = 24 * time.Hour

	// lagTold is by how much calm time has to be behind for the status to say so.
	lagTold = 24 * time.Hour
)

// Warning says in one line what a person should know of the clock: that it jumped within the
// last day of this boot, that a jump delays deletion by age, or that the host has no boot
// clock. "" means none of these. It is safe to show.
func (w *ClockWatch) Warning(at leases.Instant) string {
	n := w.Note()
	if at.Boot == "" {
		return "this host says no time since its boot: leases and approvals end by the wall clock, and a jump ends them early"
	}
	text := ""
	if j := n.Jump; j != nil && n.Boot == at.Boot && at.Since-time.Duration(j.Since)*time.Millisecond < jumpToldFor {
		text = j.String() + ": leases, approvals and orders count by the time since the boot, none ran out early"
	}
	if lag := at.Wall.Sub(n.Calm(at)); lag >= lagTold {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("until the next boot, events and recordings are kept %v longer than belay.yaml says",
			lag.Round(time.Second))
	}
	return text
}
