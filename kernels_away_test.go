package belay_test

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/phases"
)

// While PostgreSQL is away, a kernel that writes there blocks every action at once; while it says nothing at all,
// within its bounds for locks. It goes on by itself.
func TestActionsWhileTheDatabaseIsAway(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "a")
	o.DSN, o.Hold, o.LockTimeout, o.ConnectTimeout = p.DSN(t), 3*time.Second, 100*time.Millisecond, 300*time.Millisecond
	b := open(t, state(t, guarded), belay.Options{Store: pgtest.Open(t, o)})
	invoke(t, b, exec("ls"))
	blocked := func(what string, within time.Duration) {
		t.Helper()
		begun := time.Now()
		v, err := b.Invoke(t.Context(), exec("ls"))
		took := time.Since(begun)
		if err == nil || v.Decision != phases.Block || v.Kind != phases.KindStore || took > within {
			t.Errorf("%s: after %v: %+v, %v", what, took, v, err)
		}
		t.Logf("%s: blocked after %v", what, took)
	}
	for _, way := range []struct {
		name  string
		away  func(bool)
		first time.Duration
	}{{"it ended", p.Down, time.Second}, {"it is silent", p.Silence, 4 * time.Second}} {
		way.away(true)
		blocked(way.name+", the first one", way.first)
		for range 3 {
			blocked(way.name+", a later one", 500*time.Millisecond)
		}
		way.away(false)
		for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if v, err := b.Invoke(t.Context(), exec("ls")); err == nil && v.Decision == phases.Allow {
				t.Logf("%s: back after %v", way.name, time.Since(begun))
				break
			} else if time.Since(begun) > 10*time.Second {
				t.Fatal(v, err)
			}
		}
	}
}
