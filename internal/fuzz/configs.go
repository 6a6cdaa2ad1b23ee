package fuzz

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/loader"
)

// configs collects the configurations that the hook takes.
func (f *fuzzer) configs(ctx context.Context) ([]jsontext.Value, error) {
	var out []jsontext.Value
	seen := map[string]bool{}
	var first error // with which a configuration was refused
	try := func(c jsontext.Value) {
		if seen[string(c)] || len(out) >= maxConfigs {
			return
		}
		seen[string(c)] = true
		_, err := f.o.Bench.Load(ctx, loader.BenchHook{Name: f.o.Name, Module: f.o.Module, Tier: f.o.Tier, Config: c})
		switch {
		case err == nil:
			out = append(out, c)
		default:
			first = err
		}
	}
	try(nil)
	for _, c := range f.o.Configs { // the caller asked for these
		if try(c); !slices.ContainsFunc(out, func(o jsontext.Value) bool { return string(o) == string(c) }) {
			if first == nil {
				first = errors.New("too many configurations")
			}
			return nil, hookError(first)
		}
	}
	for _, e := range f.desc.Manifest.Examples {
		try(e.Config)
	}
	for _, in := range f.o.Inputs {
		try(in.Config)
	}
	if s := f.desc.Manifest.ConfigSchema; s != nil && len(out) < 2 {
		if schema, err := parse(s); err == nil {
			n := len(out)
			try(fromSchema(schema, 0).bytes())
			f.made = len(out) > n
		}
	}
	if len(out) == 0 {
		return nil, hookError(first)
	}
	return out, nil
}

// checkMade drops a configuration that was made up and that the hook itself does not
// understand: schemas do not say everything, and no operator has asked for it.
func (f *fuzzer) checkMade(ctx context.Context) {
	if !f.made {
		return
	}
	s := f.subject(f.o.Bench)
	defer s.close()
	last := len(f.hook.configs) - 1
	for _, phase := range f.desc.Phases {
		for _, in := range seeds(phase, f.desc.Manifest.Match) {
			p := (&plan{config: last}).withInput([]byte(in))
			if p == nil {
				continue
			}
			if res, err := s.exec(ctx, p); err != nil || res.failed() != nil || res.blockedByFailure() {
				f.hook.configs = f.hook.configs[:last]
				return
			}
		}
	}
}
