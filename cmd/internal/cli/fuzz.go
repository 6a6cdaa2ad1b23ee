package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// fuzzOptions are the flags of fuzz.
type fuzzOptions struct {
	runs       int
	time       time.Duration
	seed       uint64
	recordings []string
	identities []string
	configs    []string
	out        string
	seal       sealFlags
	json       bool
	reports    []string
}

func (a *App) fuzzCmd() *cobra.Command {
	var options fuzzOptions
	cmd := &cobra.Command{
		Use:   "fuzz FILE.wasm|builtin:NAME|DIR",
		Short: "Look for inputs and failures that get past a hook",
		Long: `fuzz runs a hook on inputs that no author thinks of, ends its fuel and its time at
every point, and makes its calls fail. It looks for:

  evasion, flip      what the hook blocks is let through when it is made longer, or
                     when the same JSON is written in another way
  fail-open          a budget that ended, or a call that failed, lets something through
  trap, fuel-ceiling, memory-ceiling, output, hostcall, protocol
                     a valid input that the hook fails on: it is blocked
  panic, unrecorded, nondeterminism, engines, front-door
                     a promise of belay's own is broken: please report it

Inputs come from recordings, from the cases beside the hook, and from what each phase
can look like. A finding is made small and written to --out as a recording, which
` + "`belay replay`" + ` shows again. The same hook, seed and --runs have the same findings.

Standard error has how far it is, and about how long the rest takes: one line on a terminal, else
a line each 10 s. --runs is how many runs the search makes; making findings small comes on top.
--time bounds both. Ctrl-C ends it: what was found until then is written and shown, as large as it
was found.

Exit status: 0 nothing found, 5 findings, 1 it could not be found out. What a hook itself
reports that it cannot deal with (gives-up) is shown and does not count.`,
		Example: `  belay fuzz guard.wasm --out findings
  belay replay findings                     # what was found, again
  belay fuzz builtin:command-guard --time 1m --seed 7
  belay fuzz guard.wasm --recordings ~/recordings --identity ~/belay-recordings.key --report fuzz.html`,
		Args: oneArg("a module file, builtin: and a name, or the folder of a hook that is built"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("time") && !cmd.Flags().Changed("runs") {
				options.runs = 0
			}
			return a.fuzz(cmd.Context(), options, args[0])
		},
	}
	f := cmd.Flags()
	f.IntVar(&options.runs, "runs", fuzz.DefaultRuns, "how many runs; with --time alone there is no limit")
	f.DurationVar(&options.time, "time", 0, "how long, such as 1m")
	f.Uint64Var(&options.seed, "seed", 1, "what the inputs are made from: another one goes another way")
	f.StringArrayVar(&options.recordings, "recordings", nil,
		"begin with the invocations of a recording, or of those in a directory")
	f.StringArrayVar(&options.identities, "identity", nil, "a file of age identities that opens sealed recordings")
	f.StringArrayVar(&options.configs, "config", nil, "a file with a configuration of the hook, as JSON")
	f.StringVar(&options.out, "out", "", "write a recording of each finding, and the module, to this directory")
	options.seal.flags(f)
	f.BoolVar(&options.json, "json", false, "print JSON")
	f.StringArrayVar(&options.reports, "report", nil, reportUsage)
	return cmd
}

func (a *App) fuzz(ctx context.Context, options fuzzOptions, what string) error {
	if options.runs < 0 || options.time < 0 || options.runs == 0 && options.time == 0 {
		return usageError("--runs and --time are more than nothing", "Such as --runs 5000, or --time 1m.")
	}
	to, err := a.fuzzSeal(options)
	if err != nil {
		return err
	}
	files, err := a.fuzzOutputs(options)
	if err != nil {
		return err
	}
	defer files.drop()
	bench, err := a.replayBench()
	if err != nil {
		return err
	}
	defer bench.Close()
	interpreter, err := loader.OpenBench(loader.BenchOptions{Logger: a.logger(), Interpreter: true})
	if err != nil {
		return failureBy(err, "")
	}
	defer interpreter.Close()
	module, dir, err := a.fuzzModule(bench, what)
	if err != nil {
		return err
	}
	opts := fuzz.Options{Bench: bench, Interpreter: interpreter, Module: module, Seed: options.seed, Runs: options.runs,
		Time:     options.time,
		Progress: a.fuzzProgress(options)}
	if opts.Inputs, err = a.fuzzInputs(options, dir); err != nil {
		return err
	}
	recorded, err := a.fuzzRecordings(options)
	if err != nil {
		return err
	}
	a.noteUnserved(bench, module, recorded)
	opts.Inputs = append(opts.Inputs, recorded...)
	for _, path := range options.configs {
		b, err := readLimited(path, strictyaml.MaxSize)
		if err != nil {
			return failureBy(err, "")
		}
		opts.Configs = append(opts.Configs, jsontext.Value(b))
	}
	// A first signal ends the search and writes the findings; a second one ends
	// the process, as by default.
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	res, err := fuzz.Run(ctx, opts)
	if a.Terminal {
		fmt.Fprint(a.Err, "\r\x1b[K")
	}
	if err != nil {
		return failureBy(err,
			"`belay hook inspect "+safe(what)+"` says what is wrong with a module. A configuration is given with --config FILE.")
	}
	return a.fuzzed(options, res, module, to, files)
}
