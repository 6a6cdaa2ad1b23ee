package sandbox

import (
	"runtime"
	"testing"
	"time"
)

// The time of a thread is that of the calling one alone, counts work and no waiting, and
// moves in steps far below a millisecond.
func TestTimeOfAThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		taken, ok := threadTime()
		if !ok {
			t.Fatal("it cannot be told")
		}
		return taken
	}
	from := now()
	time.Sleep(50 * time.Millisecond)
	if waited := now() - from; waited < 0 || waited > 25*time.Millisecond {
		t.Errorf("waiting for 50 ms took %v", waited)
	}
	small := 0
	for last, n := now(), 0; n < 10_000; n++ {
		next := now()
		if next < last {
			t.Fatalf("it went back from %v to %v", last, next)
		}
		if next > last && next-last < 100*time.Microsecond {
			small++
		}
		last = next
	}
	if small < 1000 {
		t.Errorf("%d of 10,000 looks saw it move by less than 0.1 ms", small)
	}
	wall := time.Now()
	from = now()
	for now()-from < 20*time.Millisecond {
	}
	if took := time.Since(wall); took < 19*time.Millisecond {
		t.Errorf("20 ms of work took %v on the wall", took)
	}
	from = now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		burn(50 * time.Millisecond)
	}()
	<-done
	if others := now() - from; others > 25*time.Millisecond {
		t.Errorf("the work of another thread counts %v", others)
	}
}

// The work of a run is told apart from its budget, also below a millisecond.
func TestWorkBelowAMillisecond(t *testing.T) {
	var w work
	w.budget = 500 * time.Microsecond
	w.begin(time.Now(), DefaultSlice)
	defer w.end()
	from, _ := threadTime()
	for now := from; now-from < 500*time.Microsecond; now, _ = threadTime() {
	}
	if did := w.done(time.Now()); did < 500*time.Microsecond || did > 5*time.Millisecond {
		t.Errorf("0.5 ms of work are %v", did)
	}
	if !w.spent(time.Now()) {
		t.Error("the budget is not spent")
	}
	before := w.done(time.Now())
	w.pause(func() { burn(2 * time.Millisecond) })
	if did := w.done(time.Now()) - before; did > time.Millisecond {
		t.Errorf("a counted hostcall of 2 ms is %v of work", did)
	}
}
