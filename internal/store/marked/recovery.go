package marked

import (
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Stand is what a recovery is about.
type Stand struct {
	Database highwater.Head
	Next     highwater.Head   // before the event of the recovery: a recovery that a crash cut off is written first
	Store    string           // id of the database, as it says itself; "" when it says none
	Mark     *highwater.State // nil when there is none that can be read
	Wrong    error            // why the mark does not let the database be used; nil when it does
	Repair   *Repair          // of rows that are not those that the log records; nil when they are

	// Forwarded: Database is a copy of the log, which itself has all its events and goes on behind Next.
	Forwarded bool
}

// Repair says what becomes of the rows in the tables that differ.
type Repair struct {
	// root that the newest event records; "" if that event is not the one of the tree, or records none
	Recorded string   `json:"recorded"`
	Found    string   `json:"found"`    // root of the rows as they are
	Tables   []string `json:"tables"`   // that differ; all of them where that cannot be told
	Rebuilt  []string `json:"rebuilt"`  // made again from the log
	Revoked  []string `json:"revoked"`  // taken back, or removed since the log says otherwise
	Accepted []string `json:"accepted"` // stays as it is found, or is lost: the log does not hold it
}

// Advice is what the log says about rows that it is to replace.
type Advice struct {
	Latches   []kernel.Latch
	Compacted kernel.Compacted
	Newest    time.Time // the latest time of an event
	Denied    []string  // items that the log says are denied, and may still hold
	Doubts    []string  // why the log is not all that was recorded: then the stored latches stay as well

	Compactions map[string]Compaction // of all kernels that share the database, by their names

	// Sound reports whether a stored item is what the log says of it.
	Sound func(*approvals.Item) (bool, error)
}

// Compaction is what the log of a kernel says was compacted.
type Compaction struct {
	kernel.Compacted
	Apart bool // the log is in a store of its own: the shared database keeps what is compacted there
}

// Decision is what a plan makes of a Stand.
type Decision struct {
	// Mark is what the mark says from now on; it is not used where none is kept. Its Recovery is for a
	// crash before the commit: it stands in the log then, so it must say nothing of repaired rows.
	Mark *highwater.State

	Event phases.Event // that records the recovery
}

// Plan is a recovery that was asked for. Both functions are called inside the write transaction.
type Plan struct {
	Advise func() (Advice, error) // only when rows are to be repaired
	Decide func(Stand) (Decision, error)
}

// ErrRefused wraps what a plan answers.
var ErrRefused = errors.New("the recovery was refused")

// ErrBegun: a recovery was agreed to and has not ended. A person agrees anew.
var ErrBegun = errors.New("the recovery has begun and has not ended")

// Refused is an error of a plan.
func Refused(err error) error { return fmt.Errorf("%w: %w", ErrRefused, err) }

// Compare says how the database stands to its mark; behind compares their heads. It reports false when no mark is
// kept.
func (s *Stand) Compare(m Mark, behind func(*highwater.State) error) (marked bool) {
	st, _, err := m.Look()
	switch {
	case errors.Is(err, highwater.ErrNoPlace) && s.Store == "":
		return false
	case err != nil:
		s.Wrong = err
	case st == nil && s.Store != "":
		s.Wrong = highwater.ErrMissing
	case st != nil:
		s.Mark = st
		if s.Wrong = behind(st); s.Wrong == nil && s.Store != "" && s.Store != st.Store {
			s.Wrong = &highwater.Error{Class: highwater.ErrBehind, Reason: "it is another database than the one of the mark"}
		}
	}
	return true
}
