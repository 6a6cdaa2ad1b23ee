package clockfile

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/leases"
)

const (
	// jumpToldFor is how long the status speaks of a jump, by the clock of the boot.
	jumpToldFor = 24 * time.Hour

	// lagTold is by how much calm time has to be behind for the status to say so.
	lagTold = 24 * time.Hour
)

// Warning says in one line what a person should know of the clock: that it jumped within the
// last day of this boot, that a jump delays deletion by age, or that the host has no boot
// clock. "" means none of these. It is safe to show.
func (w *Watch) Warning(at leases.Instant) string {
	n := w.Note()
	if at.Boot == "" {
		return "this host says no time since its boot: leases and approvals end by the wall clock, and a jump ends them early"
	}
	text := ""
	if j := n.Jump; j != nil && n.Boot == at.Boot && at.Since-time.Duration(j.Since)*time.Millisecond < jumpToldFor {
		text = j.String() + ": leases, approvals and orders count by the time since the boot, none ran out early"
	}
	if lag := at.Wall.Sub(n.Calm(at)); lag >= lagTold {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("until the next boot, events and recordings are kept %v longer than belay.yaml says",
			lag.Round(time.Second))
	}
	return text
}
