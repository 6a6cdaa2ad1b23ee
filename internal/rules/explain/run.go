// Package explain runs rules on one action in the sandbox, and says which apply and which
// nearly do. It decides nothing about the action, records nothing, and reaches nothing
// but the files that links lead through.
package explain

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Explained is what rules say about one action.
type Explained struct {
	Verdict phases.Verdict // of the rules, without any other hook
	Rules   []rules.Traced // that apply or nearly do, judging ones first
}

// Run asks the rules of a file about an action, with empty state. Bench compiles them; home
// is the meaning of ~, "" for none.
func Run(ctx context.Context, bench *loader.Bench, f *rules.File, inv phases.Invocation,
	home string) (*Explained, error) {
	engine, err := bench.Builtin(rules.Engine)
	if err != nil {
		return nil, err
	}
	out := &Explained{}
	cfg := &kernel.Config{Revision: "rules"}
	var hooks []*kernel.Loaded
	for _, p := range f.Parts() {
		traced, err := f.BuildTrace(engine, p)
		if err != nil {
			return nil, err
		}
		recorded, _, err := decide(ctx, bench, inv, home, traced)
		if err != nil {
			return nil, err
		}
		for _, t := range recorded {
			some, err := f.ReadTrace(t)
			if err != nil {
				return nil, err
			}
			out.Rules = append(out.Rules, some...)
		}
		module, err := f.Build(engine, p)
		if err != nil {
			return nil, err
		}
		hook, err := bench.Load(ctx, loader.BenchHook{Name: f.HookName(p), Module: module, Tier: phases.Sandboxed})
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, hook)
		cfg.Bindings = append(cfg.Bindings, kernel.BindingSpec{Name: f.HookName(p)})
	}
	_, verdict, err := run(ctx, inv, home, cfg, hooks)
	if err != nil {
		return nil, err
	}
	out.Verdict = verdict
	return out, nil
}

// decide runs one module that traces, and returns the lines of its log.
func decide(ctx context.Context, bench *loader.Bench, inv phases.Invocation, home string,
	module []byte) (logs [][]string, v phases.Verdict, err error) {
	hook, err := bench.Load(ctx, loader.BenchHook{Name: "trace", Module: module, Tier: phases.Sandboxed})
	if err != nil {
		return nil, v, err
	}
	cfg := &kernel.Config{Revision: "rules", Bindings: []kernel.BindingSpec{{Name: "trace"}}}
	recording, v, err := run(ctx, inv, home, cfg, []*kernel.Loaded{hook})
	if err != nil {
		return nil, v, err
	}
	if v.Decision == phases.Block {
		return nil, v, fmt.Errorf("the action cannot be explained: %s", v.Reason)
	}
	for _, t := range recording.Turns {
		var lines []string
		for _, l := range t.Outcome.Logs {
			lines = append(lines, l.Text)
		}
		logs = append(logs, lines)
	}
	return logs, v, nil
}

func run(ctx context.Context, inv phases.Invocation, home string, cfg *kernel.Config,
	hooks []*kernel.Loaded) (*kernel.Recording, phases.Verdict, error) {
	load := func(_ context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
		for i, b := range cfg.Bindings {
			if b.Name == spec.Name {
				return hooks[i], nil
			}
		}
		return nil, fmt.Errorf("there is no hook %s", spec.Name)
	}
	r, err := rig.Open(ctx, rig.Options{Config: cfg, Loader: rig.LoaderFunc(load), Files: loader.HostFiles{}, Home: home,
		Wrap: func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook { return l.Hook }, Time: inv.Time})
	if err != nil {
		return nil, phases.Verdict{}, err
	}
	v, err := r.Decide(ctx, rig.Case{Invocation: inv, Clock: inv.Time, Record: true})
	recording := r.Recorded()
	if closed := r.Close(); err == nil {
		err = closed
	}
	return recording, v, err
}
