package harness

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/phases"
)

// FuzzOptions say how a hook is fuzzed. The zero value makes 20,000 runs with seed 0.
type FuzzOptions struct {
	// StateDir is a state directory whose compiled code is used, and nothing else of it;
	// "" uses none.
	StateDir string

	Seed uint64
	Runs int // 0: until Time is over, else 20,000
	// Time bounds all of it by the clock, the making small included; 0 does not. How many runs fit into a time
	// differs from run to run.
	Time time.Duration

	Inputs  []phases.Invocation // to begin with, beside those that belay makes up
	Configs []jsontext.Value    // configurations, beside the manifest's examples
}

// FuzzResult is the result of a fuzz run.
type FuzzResult struct {
	Report
	Runs     int
	Stopped  bool      // the context ended before the search did
	Findings []Finding // the worst first
}

// Finding is one fault, with the smallest input that shows it.
type Finding struct {
	Class    string // such as evasion; docs/HARNESS.md lists them
	Severity string // critical, high, medium; low is a note
	Phase    phases.Phase
	Text     string // in one line
	How      string // the change to the input or to the run
	Input    string // the action, cut

	// Recording shows the fault in a Replay; nil when a replay cannot repeat it.
	Recording []byte
}

// Fuzz searches for inputs and failing calls that a hook cannot cope with. Its result
// depends on the module, the seed, the runs and the inputs alone. When ctx ends, the
// result holds the findings until then.
func Fuzz(ctx context.Context, module []byte, o FuzzOptions) (*FuzzResult, error) {
	compiled, err := loader.OpenBench(loader.BenchOptions{Dir: o.StateDir})
	if err != nil {
		return nil, err
	}
	defer compiled.Close()
	interpreted, err := loader.OpenBench(loader.BenchOptions{Interpreter: true})
	if err != nil {
		return nil, err
	}
	defer interpreted.Close()
	opts := fuzz.Options{Bench: compiled, Interpreter: interpreted, Module: module, Seed: o.Seed, Runs: o.Runs,
		Time: o.Time, Configs: o.Configs}
	for _, inv := range o.Inputs {
		wire, err := phases.EncodeInvocation(inv)
		if err != nil {
			return nil, err
		}
		opts.Inputs = append(opts.Inputs, fuzz.Input{Invocation: wire})
	}
	r, err := fuzz.Run(ctx, opts)
	if err != nil {
		return nil, err
	}
	out := &FuzzResult{Report: Report{r}, Runs: r.Runs, Stopped: r.Stopped}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, Finding{Class: f.Class, Severity: string(f.Severity), Phase: f.Phase,
			Text: f.Text, How: f.How, Input: f.Input, Recording: f.Recording})
	}
	return out, nil
}
