package hookcmd

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/adapters"
)

// Grace is how long a program may take to end by itself when it was told to end, or when
// its time is over. After that it answers without the work that it does.
const Grace = 4 * time.Second

// GraceOf returns the part of a deadline that is left for ending.
func GraceOf(deadline time.Duration) time.Duration { return min(Grace, deadline/5) }

// Deadline returns how long a command that the runtime has started may take for the event; ad is
// nil for a runtime that is not known.
func Deadline(ad adapters.Adapter, event string) time.Duration {
	if ad == nil {
		return adapters.Table{}.Deadline(event)
	}
	return ad.Table().Deadline(event)
}

// noteTime is how long a note of a block may hold up such an answer.
const noteTime = 500 * time.Millisecond

// LastWord lets one of two goroutines answer, and leave the note of the event: the one that
// works, or the one that watches the clock. The zero value is ready; it is safe for
// concurrent use.
type LastWord struct {
	taken atomic.Bool

	mu   sync.Mutex
	left chan struct{} // closed when the note was left, or could not be; nil before the first
	err  error         // why it could not be left
}

// Note leaves the one note of an event. Only the first call runs leave; each later one
// waits for that, and returns its error.
func (w *LastWord) Note(leave func() error) error {
	w.mu.Lock()
	left, first := w.left, w.left == nil
	if first {
		left = make(chan struct{})
		w.left = left
	}
	w.mu.Unlock()
	if first {
		w.err = leave()
		close(left)
	}
	<-left
	return w.err
}

// Take reports whether the caller answers. It is true once.
func (w *LastWord) Take() bool { return w.taken.CompareAndSwap(false, true) }

// InTime runs work and returns its exit status. When ctx has ended and work has not within
// grace, late answers in its place, unless work has begun to answer: then it gets a second
// for that. What cannot be stopped goes on until the process ends, which is up to the
// caller, and cannot answer any more. ended reports whether work has ended.
func InTime(ctx context.Context, grace time.Duration, w *LastWord, work func() int,
	late func() int) (code int, ended bool) {
	done := make(chan int, 1)
	go func() { done <- work() }()
	select {
	case code = <-done:
		return code, true
	case <-ctx.Done():
	}
	select {
	case code = <-done:
		return code, true
	case <-time.After(grace):
	}
	if w.Take() {
		return late(), false
	}
	select {
	case code = <-done:
		return code, true
	case <-time.After(time.Second):
		return exitBlocked, false // half an answer is none, with a status that is no permission
	}
}

// NoteInTime leaves a note, and gives up waiting for a disk that does not answer.
func NoteInTime(leave func() error) error {
	done := make(chan error, 1)
	go func() { done <- leave() }()
	select {
	case err := <-done:
		return err
	case <-time.After(noteTime):
		return context.DeadlineExceeded
	}
}
