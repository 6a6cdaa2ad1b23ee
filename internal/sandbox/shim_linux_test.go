package sandbox

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/hostcalls"
)

// TestAnswersOfAnyLength: the length of an answer that does not fit is told, as long as an i32 can tell it.
func TestAnswersOfAnyLength(t *testing.T) {
	long, err := unix.Mmap(-1, 0, math.MaxInt32+1, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE) // no byte is touched
	must(t, err)
	t.Cleanup(func() { _ = unix.Munmap(long) })
	for _, c := range []struct {
		n     int
		ended bool
	}{{0, false}, {33, false}, {math.MaxInt32, false}, {math.MaxInt32 + 1, true}} {
		n := c.n
		e := open(t, Options{Table: table("input_get", func(c *hostcalls.Call) {
			c.Handle = func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
				return hostcalls.Result{Out: long[:n]}, nil
			}
		})})
		inv, ctx := direct(t, e)
		answer, _, ended := hostCall(ctx, inv, e.host[hostcalls.Module]["input_get"], []uint64{64, 1, 256, 32})
		switch {
		case c.ended && (inv.ended == nil || !strings.Contains(fmt.Sprint(inv.ended.Cause), "answer too long")):
			t.Errorf("%d bytes: %d, %q, %v", c.n, answer, ended, inv.ended)
		case !c.ended && (ended != "" || answer != uint64(c.n)):
			t.Errorf("%d bytes: %d, %q", c.n, answer, ended)
		}
	}
}
