package sandbox

import (
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
