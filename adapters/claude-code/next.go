package claudecode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Next returns the step that follows after the verdicts: see adapters.Table. The spawn step of an
// Agent call is built from the arguments as pre_tool left them.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

func spawnStep(spawn adapters.Step, args jsontext.Value) (adapters.Step, error) {
	raw, err := spawnAction(spawn.Invocation.Agent, args)
	if err != nil {
		return adapters.Step{}, err
	}
	spawn.Invocation.Action = raw
	if c := spawn.Call; c != nil {
		spawn.Call = &adapters.Call{ID: c.ID, Args: args, Prompt: c.Prompt, Awaited: c.Awaited}
	}
	return spawn, nil
}
