package sandbox

import (
	"context"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// A guest that returns after its deadline has not answered: the stretch after its last
// look at the clock counts, too. With a slice without end there is no look but the first.
func TestAnswerAfterTheDeadline(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "loops"))
	for timeout, tries := 100*time.Microsecond, 0; tries < 200; tries++ {
		o := run(t, m, RunRequest{Phase: phases.PrePlan, Fuel: 1 << 60, Slice: 1 << 60, Timeout: timeout}, lsAction)
		switch {
		case o.Kind == "" && o.Report.Duration > timeout+time.Millisecond: // some of it is before and after the guest
			t.Fatalf("an answer after %v of %v counts", o.Report.Duration, timeout)
		case o.Kind == "":
			timeout = 100 * time.Microsecond // the guest was faster: begin again
		case o.Kind != phases.KindDeadline:
			t.Fatalf("%q %q", o.Kind, o.Cause)
		case o.Cause == "it answered too late":
			return
		default: // it was too late before the guest began
			timeout += timeout / 4
		}
	}
	t.Error("no run was late at its end only")
}

// A run comes back to the host several times in a slice, so that a collector waits for a part of one, and looks at its
// deadline once in a slice.
func TestStopsWithinASlice(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	inst, err := m.instances.acquire(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.instances.release(inst, false, time.Now())
	for _, c := range []struct{ slice, between, stops int64 }{
		{0, DefaultSlice / stopsInSlice, stopsInSlice}, {1000, 1000, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		inv := newInvocation(ctx, m, &RunRequest{Slice: c.slice, Fuel: 1 << 40,
			Session: session(t, phases.PrePlan, lsAction)}, time.Now())
		inv.inst = inst
		stops, used := int64(0), int64(0)
		func() {
			defer func() {
				if f, ok := recover().(*phases.Fault); !ok || f.Kind != phases.KindDeadline {
					t.Errorf("slice %d: %v after %d stops", c.slice, f, stops)
				}
			}()
			for left := inv.refill(-1); stops <= c.stops; left = inv.refill(-1) { // each uses what the one before gave
				if left != c.between-1 {
					t.Fatalf("slice %d: %d are given, not %d", c.slice, left, c.between-1)
				}
				stops++
				used += c.between
			}
		}()
		if stops != c.stops || used != inv.slice {
			t.Errorf("slice %d: it looks at its deadline after %d stops and %d fuel", c.slice, stops, used)
		}
	}
}

// However much the stretches differ after which a guest asks for more fuel, it is looked at once in each slice.
func TestNoSliceWithoutALook(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	inst, err := m.instances.acquire(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.instances.release(inst, false, time.Now())
	for _, slice := range []int64{0, 1000} {
		for _, stretches := range [][]int64{{1, 1}, {1, 500}, {500, 1}, {999, 500, 1}, {7, 90_000_000, 1, 1}} {
			ctx := &looks{Context: t.Context()}
			inv := newInvocation(ctx, m, &RunRequest{Slice: slice, Fuel: 1 << 40, Timeout: -1,
				Session: session(t, phases.PrePlan, lsAction)}, time.Now())
			inv.inst = inst
			last, n := int64(0), 0 // where it was looked at, in slices, and how often
			for k := range 2000 {
				left := inv.refill(-stretches[k%len(stretches)])
				if now := inv.account.Used(left) / inv.slice; ctx.n > n {
					last, n = now, ctx.n
				} else if now != last {
					t.Fatalf("slices of %d, stretches of %v: no look in slice %d after one in %d", inv.slice, stretches, now, last)
				}
			}
			if n < 1 {
				t.Errorf("slices of %d, stretches of %v: no look", inv.slice, stretches)
			}
		}
	}
}

// looks counts how often a run asks whether it must stop.
type looks struct {
	context.Context
	n int
}

func (c *looks) Err() error { c.n++; return nil }
