package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Own is belay's own host: the sandbox and the hostcalls, as every hook has them.
type Own struct {
	Bench *loader.Bench
}

// Run implements Host.
func (o Own) Run(ctx context.Context, r Request) (Outcome, error) {
	l, err := o.Bench.Load(ctx, loader.BenchHook{Name: "guest", Module: r.Module, Tier: r.Tier, Allowed: r.Granted})
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

// answerer stands behind the calls that others carry out.
type answerer struct {
	answers map[string]Answer
	asked   []Asked
}

// attach gives the session what there is an answer for.
func (a *answerer) attach(cfg *hostcalls.SessionConfig) {
	for call := range a.answers {
		switch call {
		case "request_tool_call":
			cfg.Tools = a
		case "http_request":
			cfg.HTTP = a
		default:
			cfg.Leases = a
		}
	}
}

func (a *answerer) ask(call string, request jsontext.Value) (jsontext.Value, error) {
	answer, ok := a.answers[call]
	if !ok {
		return nil, hostcalls.Unavailable
	}
	a.asked = append(a.asked, Asked{Call: call, Request: request.Clone()})
	if answer.Errno < 0 {
		return nil, &hostcalls.Refusal{Errno: hostcalls.Errno(answer.Errno), Reply: answer.Document()}
	}
	return answer.Document(), nil
}

// RunTool implements hostcalls.ToolRunner.
func (a *answerer) RunTool(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return a.ask("request_tool_call", r)
}

// Request implements hostcalls.LeaseLedger.
func (a *answerer) Request(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return a.ask("request_lease", r)
}

// Check implements hostcalls.LeaseLedger.
func (a *answerer) Check(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return a.ask("check_lease", r)
}

// Mint implements hostcalls.LeaseLedger.
func (a *answerer) Mint(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return a.ask("mint_lease", r)
}

// Revoke implements hostcalls.LeaseLedger.
func (a *answerer) Revoke(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return a.ask("revoke_lease", r)
}

// DoHTTP implements hostcalls.HTTPDoer.
func (a *answerer) DoHTTP(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return a.ask("http_request", r)
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
