package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// BelayHost is belay's own host: the sandbox and the hostcalls, as every hook has them.
type BelayHost struct{ bench *loader.Bench }

// OpenBelayHost opens belay's own host, which the caller closes. compiler is a command
// that compiles modules in a process of its own, as in belay.Options; nil compiles them
// in this one.
func OpenBelayHost(compiler []string) (*BelayHost, error) {
	bench, err := loader.OpenBench(loader.BenchOptions{Compiler: compiler})
	if err != nil {
		return nil, err
	}
	return &BelayHost{bench}, nil
}

// Close unloads the modules.
func (h *BelayHost) Close() error { return h.bench.Close() }

// Run implements Host.
func (h *BelayHost) Run(ctx context.Context, r Request) (Outcome, error) {
	l, err := h.bench.Load(ctx, loader.BenchHook{Name: "guest", Module: r.Module, Tier: r.Tier, Allowed: r.Granted})
	if err != nil {
		if phases.FaultOf(err) == nil {
			return Outcome{}, fmt.Errorf("load: %w", err)
		}
		return Outcome{Refused: err.Error()}, nil
	}
	if r.Chain {
		return runChain(ctx, l, &r)
	}
	granted, err := hostcalls.ParseGrants(l.Capabilities)
	if err != nil {
		return Outcome{}, fmt.Errorf("load: %w", err)
	}
	asked := &answerer{answers: r.Answers}
	cfg := hostcalls.SessionConfig{
		Phase: r.Phase, Pass: passOf(&r), Input: r.Input, Action: r.Action, Config: r.Config, Granted: granted,
		Observe: r.Observe,
		Actor:   phases.Actor{Hook: "guest", Tier: r.Tier, Mutator: r.Mutator}, Time: r.Time, Seed: r.Seed,
		CWD: "/home/dev/project", State: state(r.State),
	}
	asked.attach(&cfg)
	out, err := kernel.RunUntimed(ctx, l.Hook, kernel.Turn{Session: cfg, Fuel: r.Fuel}, 0)
	if errors.Is(err, kernel.ErrOverran) {
		return Outcome{}, err
	}
	res, err := outcomeOf(&out, err)
	res.Asked = asked.asked
	return res, err
}

func passOf(r *Request) phases.Pass {
	switch {
	case r.Phase == phases.Audit:
		return phases.PassAudit
	case r.Observe:
		return phases.PassObserve
	case !r.Mutator || r.Again:
		return phases.PassValidate
	}
	return phases.PassMutate
}

func outcomeOf(out *kernel.Outcome, err error) (Outcome, error) {
	res := Outcome{FailText: out.FailText, Effects: out.Effects, Fuel: out.Fuel, Dropped: out.LogsDropped}
	for _, line := range out.Logs {
		res.Logs = append(res.Logs, line.Text)
	}
	for _, w := range out.Wishes {
		res.Wishes = append(res.Wishes, Asked{Call: w.Call, Request: w.Request})
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

// answerer answers the calls that something outside of the kernel carries out.
type answerer struct {
	answers map[string]Answer
	asked   []Asked
}

// attach gives the session the ports that there is an answer for.
func (a *answerer) attach(cfg *hostcalls.SessionConfig) {
	for call := range a.answers {
		switch call {
		case rig.CallTool:
			cfg.Tools = rig.Ask(a.ask)
		case rig.CallHTTP:
			cfg.HTTP = rig.Ask(a.ask)
		default:
			cfg.Leases = rig.Ask(a.ask)
		}
	}
}

func (a *answerer) ask(_ context.Context, call string, _ phases.Actor,
	request jsontext.Value) (jsontext.Value, error) {
	answer, ok := a.answers[call]
	if !ok {
		return nil, hostcalls.Unavailable
	}
	a.asked = append(a.asked, Asked{Call: call, Request: request.Clone()})
	if answer.Errno < 0 {
		return nil, &hostcalls.Refusal{Errno: hostcalls.Errno(answer.Errno), Reply: answer.document()}
	}
	return answer.document(), nil
}

// state is the state of a hook; every value is of version 1.
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
