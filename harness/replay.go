package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/report"
	"github.com/belay-hooks/belay/phases"
)

// ReplayOptions are the hooks of a replay, and which differences count. The zero value
// compares every call, answer, effect and all fuel of the recorded hooks.
type ReplayOptions struct {
	// StateDir is a state directory whose installed modules and compiled code are used,
	// and nothing else of it; "" uses none.
	StateDir string
	// Modules are module files that a recording may name by their digests, beside those in
	// StateDir and those that come with belay.
	Modules [][]byte

	// Hooks are compared with the recorded ones. They exclude Policy.
	Hooks []ReplayHook
	// Policy is the path of a belay.yaml that is compared with the recorded configuration.
	// Its modules and trust.yaml lie beside it. "" keeps the recorded configuration.
	Policy string

	// Compare is "exact", "decision" (decisions and final actions) or "budget" (these, and
	// fuel and memory). "" is "decision" with Hooks or Policy, else "exact".
	Compare string

	Keys Keys // open sealed recordings
}

// ReplayHook is a module that takes the place of a recorded one, or is added.
type ReplayHook struct {
	// Name is the binding whose module it replaces; "" is the name in the manifest. A hook
	// whose name no recorded configuration has is added.
	Name     string
	Module   []byte
	Config   jsontext.Value // nil: the recorded one
	Priority *int           // nil: the recorded one, 0 for one that is added
	// AllowAll gives it every capability that it declares. Otherwise it has what the
	// operator allowed the hook that it replaces.
	AllowAll bool
}

// ReplayResult is the result of a replay. Numbers count invocations.
type ReplayResult struct {
	Report
	Invocations int
	Different   int
	Flips       int // with another decision
	Rewrites    int // with another final action under the same decision
	Unknown     int // whose hooks made a request that the recording has no answer to
}

// Replay runs recorded invocations again. The recording answers each hostcall; for one that
// it does not contain, state is absent and a call is unavailable. A difference is no error:
// errors say that a recording cannot be read, or that an invocation could not be run. A
// recording that is given twice counts once.
func Replay(ctx context.Context, o ReplayOptions, recordings ...io.Reader) (*ReplayResult, error) {
	bench, err := loader.OpenBench(loader.BenchOptions{Dir: o.StateDir})
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	opts := replay.Options{Bench: bench, Mode: replay.Mode(o.Compare), Modules: map[string][]byte{}}
	for _, m := range o.Modules {
		opts.Modules[phases.ByteDigest(m)] = m
	}
	b, err := o.begin(bench, &opts)
	if err != nil {
		return nil, err
	}
	runs := 0
	for i, r := range recordings {
		rd, err := o.Keys.open(r, fmt.Sprintf("recording %d", i+1))
		if err != nil {
			return nil, err
		}
		if _, err := b.Replay(ctx, opts, rd); err != nil {
			return nil, err
		}
		runs += rd.Runs()
	}
	if runs == 0 {
		return nil, errors.New("there is no invocation in it: nothing was replayed")
	}
	r, err := b.Report()
	if err != nil {
		return nil, err
	}
	s := &r.Summary
	return &ReplayResult{Report: Report{r}, Invocations: s.Invocations, Different: s.Different, Flips: s.Flips,
		Rewrites: s.Rewrites, Unknown: s.Unknown}, nil
}

// begin begins the report, and sets the candidate.
func (o *ReplayOptions) begin(bench *loader.Bench, opts *replay.Options) (*report.Builder, error) {
	var names []string
	revision := ""
	if len(o.Hooks) > 0 || o.Policy != "" {
		c := &replay.Candidate{Policy: o.Policy}
		for _, h := range o.Hooks {
			name, version := bench.NameOf(h.Module)
			h.Name = cmp.Or(h.Name, name, "hook")
			c.Hooks = append(c.Hooks, replay.Hook(h))
			names = append(names, strings.TrimSpace(h.Name+" "+version))
		}
		opts.Candidate = c
	}
	if o.Policy != "" {
		cfg, _, err := bench.Policy(o.Policy)
		if err != nil {
			return nil, err
		}
		names, revision = []string{"another configuration"}, cfg.Revision
	}
	first, err := replay.New(*opts)
	if err != nil {
		return nil, err
	}
	b := report.NewBuilder(string(first.Mode()), strings.Join(names, ", "))
	if revision != "" {
		b.Now(revision)
	}
	return b, first.Close()
}
