package marked

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Rows that were edited cannot be told from those that were there before: the log holds a digest. So a repair takes
// whole tables. What events say is made again from them; what permits something is taken back; what remains stays as it
// is found, and is named.

// maxNamed is how many things one list of a Repair names, and maxName the bytes of each.
const (
	maxNamed = 100
	maxName  = 300
)

// Repaired is the reason of what a repair takes back.
const Repaired = "rows beside it were changed outside of belay, and the database was recovered"

// AddRebuilt names what was made again from the log.
func (r *Repair) AddRebuilt(format string, args ...any) { name(&r.Rebuilt, format, args...) }

// AddRevoked names what was taken back.
func (r *Repair) AddRevoked(format string, args ...any) { name(&r.Revoked, format, args...) }

// AddAccepted names what stays as it is found.
func (r *Repair) AddAccepted(format string, args ...any) { name(&r.Accepted, format, args...) }

func name(list *[]string, format string, args ...any) {
	*list = append(*list, phases.SafeText(fmt.Sprintf(format, args...), maxName))
}

// Bound cuts long lists short, and counts what they lose.
func (r *Repair) Bound() {
	for _, list := range []*[]string{&r.Rebuilt, &r.Revoked, &r.Accepted} {
		if more := len(*list) - maxNamed; more > 0 {
			*list = append((*list)[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
		}
	}
}

// UnreadableLatch stands for a stored latch that cannot be read. A person has to clear it.
func UnreadableLatch(key wire.Session, now time.Time) kernel.Latch {
	return kernel.Latch{Runtime: key.Runtime, Session: key.Session, Reason: "the stored latch could not be read",
		Kind: phases.KindStore, DecidedBy: "belay", Since: now.UTC().Round(0)}
}

// Latched returns the latches that stand after a repair: those of the log. Where the log is in doubt, the found ones
// stay as well.
func (a *Advice) Latched(found []kernel.Latch, out *Repair) (stand []kernel.Latch) {
	out.AddRebuilt("latches, as events say: %d", len(a.Latches))
	stored := map[wire.Session]kernel.Latch{}
	for _, l := range found {
		stored[l.Key()] = l
	}
	for _, l := range a.Latches {
		old, there := stored[l.Key()]
		if there && len(a.Doubts) != 0 && old.Replaces(&l) {
			l = old // the event that made it may be one of those that do not count
		}
		stand = append(stand, l)
		if old != l {
			out.AddRebuilt("latch %s", restrict.Key(l.Runtime, l.Session))
		}
		delete(stored, l.Key())
	}
	for _, l := range found {
		if _, left := stored[l.Key()]; !left {
			continue
		}
		if len(a.Doubts) > 0 {
			stand = append(stand, l)
			out.AddAccepted("latch %s, which no event that is left made", restrict.Key(l.Runtime, l.Session))
		} else {
			out.AddRevoked("latch %s, which no event made", restrict.Key(l.Runtime, l.Session))
		}
	}
	return stand
}
