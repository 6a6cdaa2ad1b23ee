package server

import (
	"context"
	"sync"
	"time"
)

// What takes work to find out is found out once for all who ask: callers cost no work of
// their own and hang with nothing that the work waits for.

// sharing says how an answer is kept. All members are needed.
type sharing struct {
	wait  time.Duration // how long a caller waits for a newer one
	limit time.Duration // how long finding out may take by its context
}

// shared is an answer that is found out at most once at a time. Safe for concurrent use.
type shared[T any] struct {
	o    sharing
	find func(context.Context) T

	mu      sync.Mutex // never held while find runs
	changes uint64
	since   time.Time // answers of before are of no use: expire
	answer  answer[T]
	known   bool          // answer is one
	running chan struct{} // closed when the find that runs has ended; nil: none does
}

// answer is a result, and when computing it began.
type answer[T any] struct {
	value   T
	began   time.Time
	changes uint64
}

// age is how old the answer is now.
func (a *answer[T]) age() time.Duration { return time.Since(a.began) }

// newShared returns what find answers, shared. find runs in a goroutine of its own.
func newShared[T any](find func(context.Context) T, o sharing) *shared[T] {
	return &shared[T]{o: o, find: find}
}

// changed says that an answer of before may not be right any more; see current.
func (v *shared[T]) changed() {
	v.mu.Lock()
	v.changes++
	v.mu.Unlock()
}

// expire says that the answer of before is not right any more.
func (v *shared[T]) expire() {
	v.mu.Lock()
	v.since = time.Now()
	v.mu.Unlock()
}

// recent returns an answer that is younger than fresh, or what there is after
// sharing.wait. Without ok there is none yet.
func (v *shared[T]) recent(ctx context.Context, fresh time.Duration) (a answer[T], ok bool) {
	return v.get(ctx, fresh, false)
}

// current is recent with what changed told of before it was called.
func (v *shared[T]) current(ctx context.Context, fresh time.Duration) (a answer[T], ok bool) {
	return v.get(ctx, fresh, true)
}

func (v *shared[T]) get(ctx context.Context, fresh time.Duration, changed bool) (answer[T], bool) {
	timer := time.NewTimer(v.o.wait)
	defer timer.Stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	asked, least := time.Now(), uint64(0)
	if changed {
		least = v.changes
	}
	for {
		if v.known && v.answer.changes >= least && !v.answer.began.Before(v.since) && asked.Sub(v.answer.began) < fresh {
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

func (v *shared[T]) run(done chan struct{}, changes uint64) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), v.o.limit)
	defer cancel()
	found := false
	var value T
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if found {
			v.answer, v.known = answer[T]{value, began, changes}, true
		}
		v.running = nil
		close(done)
	}()
	value = v.find(ctx)
	found = true
}
