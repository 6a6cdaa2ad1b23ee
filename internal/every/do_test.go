package every_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/internal/every"
)

// The first call comes after first, the others a period apart, and none after ctx ended.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var at []time.Duration
		every.Do(ctx, time.Second, time.Minute, func(context.Context) bool {
			at = append(at, time.Since(began))
			if len(at) == 3 {
				cancel()
			}
			return true
		})
		want := []time.Duration{time.Second, time.Minute + time.Second, 2*time.Minute + time.Second}
		if len(at) != 3 || at[0] != want[0] || at[1] != want[1] || at[2] != want[2] {
			t.Errorf("called after %v, want %v", at, want)
		}
	})
}

// What takes longer than a period is called again when it has ended, and not more often.
func TestDoNeverOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		every.Do(t.Context(), time.Second, time.Second, func(context.Context) bool {
			calls++
			time.Sleep(90 * time.Second)
			return calls < 3
		})
		if d := time.Since(began); calls != 3 || d != 271*time.Second {
			t.Errorf("%d calls in %v", calls, d)
		}
	})
}

// When do says that it is over, it is.
func TestDoEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		every.Do(t.Context(), time.Second, time.Second, func(context.Context) bool { calls++; return false })
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// A context that has ended before the first call lets none happen.
func TestDoAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the timer is ready, too
		every.Do(ctx, 1, 1, func(context.Context) bool { t.Error("called"); return true })
	}
}
