package conformance

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Own is belay's own host: the sandbox and the hostcalls, as every hook has them.
type Own struct {
	Bench *belay.Bench
}

// Run implements Host.
func (o Own) Run(ctx context.Context, r Request) (Outcome, error) {
	l, err := o.Bench.Load(ctx, belay.BenchHook{Name: "guest", Module: r.Module, Tier: phases.Sandboxed, Allowed: r.Granted})
	if err != nil {
		if phases.FaultOf(err) == nil {
			return Outcome{}, fmt.Errorf("load: %w", err)
		}
		return Outcome{Refused: err.Error()}, nil
	}
	granted, err := hostcalls.ParseGrants(l.Capabilities)
	if err != nil {
		return Outcome{}, fmt.Errorf("load: %w", err)
	}
	cfg := hostcalls.SessionConfig{
		Phase: r.Phase, Pass: phases.PassMutate, Input: r.Input, Action: r.Action, Config: r.Config, Granted: granted,
		Actor: phases.Actor{Hook: "guest", Tier: phases.Sandboxed, Mutator: r.Mutator}, Time: r.Time, Seed: r.Seed, CWD: "/home/dev/project", State: state(r.State),
	}
	if !r.Mutator {
		cfg.Pass = phases.PassValidate
	}
	out, err := l.Hook.Run(ctx, kernel.Turn{Session: cfg, Fuel: r.Fuel, Timeout: -1})
	res := Outcome{FailText: out.FailText, Effects: out.Effects, Fuel: out.Fuel}
	for _, line := range out.Logs {
		res.Logs = append(res.Logs, line.Text)
	}
	for _, w := range out.StateWrites {
		if res.State == nil {
			res.State = map[string][]byte{}
		}
		res.State[w.Key] = w.Value
	}
	if err != nil {
		f := phases.FaultOf(err)
		if f == nil {
			return Outcome{}, err
		}
		res.Fault = f.Kind
	}
	return res, nil
}

// state holds what a hook keeps; every value is of version 1.
type state map[string][]byte

// Get implements hostcalls.StateReader.
func (s state) Get(_ context.Context, key string) ([]byte, int64, error) {
	if v, ok := s[key]; ok {
		return v, 1, nil
	}
	return nil, 0, nil
}

// Usage implements hostcalls.StateReader.
func (s state) Usage(context.Context) (keys, bytes int, err error) {
	for k, v := range s {
		keys, bytes = keys+1, bytes+len(k)+len(v)
	}
	return keys, bytes, nil
}
