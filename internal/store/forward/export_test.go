package forward

import (
	"context"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
)

// Steps are all steps of a shared batch at which a test can have something happen, in their order.
func Steps() []string {
	return []string{string(stepTurn), string(stepForward), string(stepSent), string(stepDecide), string(stepDecided),
		string(stepRecord), string(stepRecorded), string(stepEnd)}
}

// Settling is the step in which an earlier batch is settled.
const Settling = string(stepSettle)

// SetFault has f called at each step. An error of it is one of the step.
func (s *Store) SetFault(f func(step string) error) {
	hook := func(p step) error { return f(string(p)) }
	s.fault.Store(&hook)
}

// OpenFaulty is Open with a fault from the beginning.
func OpenFaulty(ctx context.Context, local *sqlite.Store, there postgres.Options, o Options,
	f func(step string) error) (*Store, error) {
	s, err := open(ctx, local, there, o)
	if err != nil {
		return nil, err
	}
	s.SetFault(f)
	s.start(ctx)
	return s, nil
}
