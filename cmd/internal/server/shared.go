// Package lately decides how old an answer may be that takes work to find out, so that
// callers cost no work of their own and hang with nothing that the work waits for. It
// never judges an answer.
package lately

import (
	"context"
	"sync"
	"time"
)

// Options are the ways to keep an answer. All are needed.
type Options struct {
	Wait  time.Duration // how long a caller waits for a newer one
	Limit time.Duration // how long finding out may take by its context
}

// Value is an answer that is found out at most once at a time. Safe for concurrent use.
type Value[T any] struct {
	o    Options
	find func(context.Context) T

	mu      sync.Mutex // never held while find runs
	changes uint64
	since   time.Time // answers of before are of no use: Expire
	answer  Answer[T]
	known   bool          // answer is one
	running chan struct{} // closed when the find that runs has ended; nil: none does
}

// Answer is a result, and when computing it began.
type Answer[T any] struct {
	Value   T
	Began   time.Time
	changes uint64
}

// Age is how old the answer is now.
func (a *Answer[T]) Age() time.Duration { return time.Since(a.Began) }

// New returns a Value of what find answers. find runs in a goroutine of its own.
func New[T any](find func(context.Context) T, o Options) *Value[T] {
	return &Value[T]{o: o, find: find}
}

// Changed says that an answer of before may not be right any more; see Current.
func (v *Value[T]) Changed() {
	v.mu.Lock()
	v.changes++
	v.mu.Unlock()
}

// Expire says that the answer of before is not right any more.
func (v *Value[T]) Expire() {
	v.mu.Lock()
	v.since = time.Now()
	v.mu.Unlock()
}

// Recent returns an answer that is younger than fresh, or what there is after
// Options.Wait. Without ok there is none yet.
func (v *Value[T]) Recent(ctx context.Context, fresh time.Duration) (a Answer[T], ok bool) {
	return v.get(ctx, fresh, false)
}

// Current is Recent with what Changed told of before it was called.
func (v *Value[T]) Current(ctx context.Context, fresh time.Duration) (a Answer[T], ok bool) {
	return v.get(ctx, fresh, true)
}

func (v *Value[T]) get(ctx context.Context, fresh time.Duration, changed bool) (Answer[T], bool) {
	timer := time.NewTimer(v.o.Wait)
	defer timer.Stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	asked, least := time.Now(), uint64(0)
	if changed {
		least = v.changes
	}
	for {
		if v.known && v.answer.changes >= least && !v.answer.Began.Before(v.since) && asked.Sub(v.answer.Began) < fresh {
			return v.answer, true
		}
		if v.running == nil {
			v.running = make(chan struct{})
			go v.run(v.running, v.changes)
		}
		running := v.running
		v.mu.Unlock()
		late := false
		select {
		case <-running:
		case <-timer.C:
			late = true
		case <-ctx.Done():
			late = true
		}
		v.mu.Lock()
		if late {
			return v.answer, v.known
		}
	}
}

func (v *Value[T]) run(done chan struct{}, changes uint64) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), v.o.Limit)
	defer cancel()
	found := false
	var value T
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if found {
			v.answer, v.known = Answer[T]{value, began, changes}, true
		}
		v.running = nil
		close(done)
	}()
	value = v.find(ctx)
	found = true
}
