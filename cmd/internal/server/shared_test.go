package server

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const fresh = time.Second

var sharedBriefly = sharing{wait: 2 * time.Second, limit: 10 * time.Second}

// However many ask, one finds out, and not again before the answer is old.
func TestOneFindsOutForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found atomic.Int64
		v := newShared(func(context.Context) int64 { time.Sleep(100 * time.Millisecond); return found.Add(1) }, sharedBriefly)
		for _, want := range []int64{1, 1, 2} {
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if a, ok := v.recent(t.Context(), fresh); !ok || a.value != want || a.age() >= fresh {
						t.Errorf("%d %v, %v old; want %d", a.value, ok, a.age(), want)
					}
				})
			}
			wg.Wait()
			time.Sleep(fresh / 2)
		}
	})
}

// While finding out hangs, a caller waits for its bound only, gets the answer of before,
// and can tell how old it is. Without one it is told that there is none.
func TestFindingOutHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		end := make(chan struct{})
		v := newShared(func(context.Context) string {
			if hangs.Load() {
				<-end
			}
			return "well"
		}, sharedBriefly)
		hangs.Store(true)
		ask := func() (string, time.Duration, bool) {
			began := time.Now()
			a, ok := v.recent(t.Context(), fresh)
			if took := time.Since(began); took > sharedBriefly.wait {
				t.Errorf("a caller waited %v", took)
			}
			return a.value, a.age(), ok
		}
		if _, _, ok := ask(); ok {
			t.Error("an answer before there is one")
		}
		end <- struct{}{}
		synctest.Wait()
		hangs.Store(false)
		if s, _, ok := ask(); !ok || s != "well" {
			t.Errorf("%q %v", s, ok)
		}
		hangs.Store(true)
		time.Sleep(30 * time.Second)
		if s, age, ok := ask(); !ok || s != "well" || age < 30*time.Second {
			t.Errorf("%q, %v old, %v", s, age, ok)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if _, ok := v.recent(ctx, fresh); !ok || time.Since(began) > 0 {
			t.Errorf("a caller that has gone waited %v", time.Since(began))
		}
		close(end)
	})
}

// What changed before a caller asked is in the answer that it gets, however young the one
// of before is; who asks for a recent one causes no work by changes.
func TestChangesAreInTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, found atomic.Int64
		v := newShared(func(context.Context) int64 {
			found.Add(1)
			n := now.Load()
			time.Sleep(10 * time.Millisecond)
			return n
		}, sharedBriefly)
		go v.current(t.Context(), fresh) // one that runs, and began before the change
		synctest.Wait()
		for n := range int64(20) {
			now.Store(n)
			v.changed()
			if a, ok := v.current(t.Context(), fresh); !ok || a.value != n {
				t.Fatalf("%d %v, want %d", a.value, ok, n)
			}
		}
		before := found.Load()
		v.changed()
		if _, ok := v.recent(t.Context(), fresh); !ok || found.Load() != before {
			t.Error("a change alone makes work for those who ask for a recent answer")
		}
		now.Store(77)
		time.Sleep(time.Millisecond)
		v.expire()
		if a, ok := v.recent(t.Context(), fresh); !ok || a.value != 77 {
			t.Errorf("%d %v: an answer that has expired", a.value, ok)
		}
	})
}

// A failure to find out leaves no caller behind.
func TestFindingOutIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newShared(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, sharedBriefly)
		if _, ok := v.recent(t.Context(), fresh); ok {
			t.Error("an answer before there is one")
		}
		time.Sleep(sharedBriefly.limit)
		synctest.Wait()
		if a, ok := v.recent(t.Context(), fresh); !ok || a.value == nil {
			t.Errorf("%v %v", a.value, ok)
		}
		time.Sleep(sharedBriefly.limit)
	})
}
