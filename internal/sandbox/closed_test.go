package sandbox

import (
	"context"
	"errors"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// failing is a strategy whose errors are not of the promised kind.
type failing struct{ instances }

func (failing) acquire(context.Context, *invocation) (*instance, error) {
	return nil, errors.New("no idea")
}

// Whatever goes wrong inside of this package, no hook that did not run has "no
// opinion".
func TestNothingRunIsAFault(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "guard"))
	m.info.Phases = append(m.info.Phases, phases.PostTool) // which it does not export
	_, err := m.Run(context.Background(),
		RunRequest{Phase: phases.PostTool, Session: session(t, phases.PostTool, `{"tool":"exec","result":1}`)})
	if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindLoad {
		t.Errorf("a phase without its export: %v", err)
	}
	m.instances = failing{m.instances}
	_, err = m.Run(context.Background(), RunRequest{Phase: phases.PreTool, Session: session(t, phases.PreTool, lsAction)})
	if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindTrap {
		t.Errorf("no instance: %v", err)
	}
}
