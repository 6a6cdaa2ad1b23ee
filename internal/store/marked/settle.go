package marked

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/phases"
)

// Settler writes down a use that has no commit. Each method does nothing where the database has the use.
type Settler interface {
	SettleApproval(id, event string, now time.Time) error
	SettleStatement(id, event string, now time.Time) error
	SettleLease(id string, count int64, now time.Time) error
}

// Settle writes down the uses that have no commit: the process that noted them ended in between, or the database went
// back and was recovered.
func Settle(st *highwater.State, now time.Time, s Settler) error {
	for _, id := range slices.Sorted(maps.Keys(st.Uses)) {
		u := st.Uses[id]
		var err error
		if statement, ok := strings.CutPrefix(id, highwater.Statement); ok {
			if !u.Over(now) { // else its event may be compacted
				err = s.SettleStatement(statement, u.Event, now)
			}
		} else if lease, ok := strings.CutPrefix(id, highwater.Lease); ok {
			err = s.SettleLease(lease, u.Count, now)
		} else if item, ok := strings.CutPrefix(id, highwater.Approval); ok {
			err = s.SettleApproval(item, u.Event, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Unwritten returns the event of the recovery that the mark holds and a log of size events does not, or nil.
func Unwritten(st *highwater.State, size int64) (*phases.Event, error) {
	if st.Recovery == nil || st.Recovery.Size != size {
		return nil, nil
	}
	var e phases.Event
	if err := json.Unmarshal([]byte(st.Recovery.Body), &e); err != nil {
		return nil, err
	}
	return &e, nil
}
