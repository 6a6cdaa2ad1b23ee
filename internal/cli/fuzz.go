package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/harness"
	"github.com/belay-hooks/belay/harness/fuzz"
	"github.com/belay-hooks/belay/harness/recording"
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
	var o fuzzOptions
	cmd := &cobra.Command{
		Use:   "fuzz FILE.wasm|builtin:NAME|DIR",
		Short: "Look for inputs and failures that get past a hook",
		Long: `fuzz runs a hook on inputs that nobody would think of, ends its fuel and its time at
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

Exit status: 0 nothing found, 5 findings, 1 it could not be found out. What a hook itself
reports that it cannot deal with (gives-up) is shown and does not count.`,
		Example: `  belay fuzz guard.wasm --out findings
  belay replay findings                     # what was found, again
  belay fuzz builtin:command-block --time 1m --seed 7
  belay fuzz guard.wasm --recordings ~/recordings --identity ~/belay-recordings.key --report fuzz.html`,
		Args: oneArg("a module file, builtin: and a name, or the folder of a hook that is built"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("time") && !cmd.Flags().Changed("runs") {
				o.runs = 0
			}
			return a.fuzz(cmd.Context(), o, args[0])
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.runs, "runs", fuzz.DefaultRuns, "how many runs; with --time alone there is no limit")
	f.DurationVar(&o.time, "time", 0, "how long, such as 1m")
	f.Uint64Var(&o.seed, "seed", 1, "what the inputs are made from: another one goes another way")
	f.StringArrayVar(&o.recordings, "recordings", nil, "begin with the invocations of a recording, or of those in a directory")
	f.StringArrayVar(&o.identities, "identity", nil, "a file of age identities that opens sealed recordings")
	f.StringArrayVar(&o.configs, "config", nil, "a file with a configuration of the hook, as JSON")
	f.StringVar(&o.out, "out", "", "write a recording of each finding, and the module, to this directory")
	o.seal.flags(f)
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringArrayVar(&o.reports, "report", nil, "write a report: FILE.html, FILE.json or FILE.xml (JUnit)")
	return cmd
}

func (a *App) fuzz(ctx context.Context, o fuzzOptions, what string) error {
	for _, r := range o.reports {
		if fuzzForm(r) == nil {
			return usageError("--report "+safe(r)+": the name says no form", "It ends in .html, .json or .xml.")
		}
	}
	if o.runs < 0 || o.time < 0 || o.runs == 0 && o.time == 0 {
		return usageError("--runs and --time are more than nothing", "Such as --runs 5000, or --time 1m.")
	}
	to, err := a.fuzzSeal(o)
	if err != nil {
		return err
	}
	bench, err := a.replayBench()
	if err != nil {
		return err
	}
	defer bench.Close()
	interpreter, err := belay.OpenBench(belay.BenchOptions{Logger: a.logger(), Interpreter: true})
	if err != nil {
		return failureBy(err, "")
	}
	defer interpreter.Close()
	module, dir, err := fuzzModule(bench, what)
	if err != nil {
		return err
	}
	opts := fuzz.Options{Bench: bench, Interpreter: interpreter, Module: module, Seed: o.seed, Runs: o.runs, Time: o.time, Progress: a.fuzzProgress()}
	if opts.Inputs, err = a.fuzzInputs(o, dir); err != nil {
		return err
	}
	for _, path := range o.configs {
		b, err := os.ReadFile(path)
		if err != nil {
			return failureBy(err, "")
		}
		opts.Configs = append(opts.Configs, jsontext.Value(b))
	}
	res, err := fuzz.Run(ctx, opts)
	if a.Terminal {
		fmt.Fprint(a.Err, "\r\x1b[K")
	}
	if err != nil {
		return failureBy(err, "`belay hook inspect FILE` says what is wrong with a module. A configuration is given with --config FILE.")
	}
	return a.fuzzed(o, res, module, to)
}

// fuzzSeal says for whom findings are sealed; nil: for everybody. Made-up inputs are
// nobody's secret, recorded ones are.
func (a *App) fuzzSeal(o fuzzOptions) (recording.Recipients, error) {
	if o.out == "" {
		return nil, nil
	}
	if err := a.outsideState(o.out); err != nil {
		return nil, err
	}
	if len(o.recordings) == 0 && !o.seal.set() {
		return nil, nil
	}
	return a.recipients(o.seal)
}

// fuzzModule finds the module, and the folder that its cases may be in.
func fuzzModule(bench *belay.Bench, what string) (module []byte, dir string, err error) {
	if isBuiltin(what) {
		module, err = bench.Builtin(strings.TrimPrefix(what, "builtin:"))
		if err != nil {
			return nil, "", failureBy(err, "`belay hook list --builtin` lists them.")
		}
		return module, "", nil
	}
	fi, err := os.Stat(what)
	if err != nil {
		return nil, "", failureBy(err, "")
	}
	path, dir := what, filepath.Dir(what)
	if fi.IsDir() {
		dir = what
		var found []string
		for _, pattern := range []string{"*.wasm", "build/*.wasm"} {
			list, err := filepath.Glob(filepath.Join(what, pattern))
			if err != nil {
				return nil, "", failureBy(err, "")
			}
			found = append(found, list...)
		}
		if len(found) != 1 {
			return nil, "", usageError(fmt.Sprintf("%s holds %s", safe(what), plural(len(found), "module")), "Name the file, or build the hook: `belay hook build`.")
		}
		path = found[0]
	}
	if module, err = readModule(path); err != nil {
		return nil, "", failureBy(err, "")
	}
	return module, dir, nil
}

// fuzzInputs collects the inputs to begin with.
func (a *App) fuzzInputs(o fuzzOptions, dir string) ([]fuzz.Input, error) {
	var out []fuzz.Input
	if dir != "" {
		if cases := filepath.Join(dir, "cases"); isDir(cases) {
			list, err := harness.ReadSuites(cases)
			if err != nil {
				return nil, failureBy(err, "Correct the cases beside the hook.")
			}
			for _, c := range list {
				in, err := fuzz.InputOf(c.Input.Invocation, c.Config)
				if err == nil { // a case that stands for a recording has no invocation of its own
					out = append(out, in)
				}
			}
		}
	}
	if len(o.recordings) == 0 {
		return out, nil
	}
	files, err := recordingFiles(o.recordings)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		if err := a.fuzzRecording(o, path, func(in fuzz.Input) { out = append(out, in) }); err != nil {
			return nil, replayFailure(err)
		}
	}
	return out, nil
}

// fuzzRecording reads the invocations of a recording; those that are alike are taken
// all: the fuzzer keeps the ones that do something new.
func (a *App) fuzzRecording(o fuzzOptions, path string, take func(fuzz.Input)) error {
	f, err := os.Open(path)
	if err != nil {
		return failureBy(err, "")
	}
	defer f.Close()
	in, err := a.unseal(f, path, o.identities)
	if err != nil {
		return err
	}
	rd, err := recording.NewReader(in, path)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		run, _, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n < maxFuzzInputs {
			take(fuzz.Input{Invocation: []byte(run.Invocation)})
		}
	}
}

// maxFuzzInputs is how many invocations of one recording are begun with.
const maxFuzzInputs = 5000

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// fuzzProgress tells a person how far it is.
func (a *App) fuzzProgress() func(fuzz.Progress) {
	if !a.Terminal {
		return nil
	}
	return func(p fuzz.Progress) {
		rate := float64(p.Runs) / max(p.Elapsed.Seconds(), 0.001)
		fmt.Fprintf(a.Err, "\r\x1b[K%s runs, %.0f a second, %s inputs, %d found", count(int64(p.Runs)), rate, count(int64(p.Inputs)), p.Findings)
	}
}

// fuzzed writes and prints what came out.
func (a *App) fuzzed(o fuzzOptions, res *fuzz.Result, module []byte, to recording.Recipients) error {
	if o.out != "" {
		if err := writeFindings(o.out, res, module, to); err != nil {
			return failureBy(err, "")
		}
	}
	for _, path := range o.reports {
		out, err := fuzzForm(path)(res)
		if err == nil {
			err = renameio.WriteFile(path, out, 0o600)
		}
		if err != nil {
			return failureBy(err, "")
		}
	}
	if o.json {
		out, err := res.JSON()
		if err != nil {
			return failureBy(err, "")
		}
		if _, err := a.Out.Write(out); err != nil {
			return err
		}
	} else {
		a.printFuzz(o, res)
	}
	if res.Found() > 0 {
		return exitWith(ExitDifferences)
	}
	return nil
}

func fuzzForm(path string) func(*fuzz.Result) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html":
		return (*fuzz.Result).HTML
	case ".json":
		return (*fuzz.Result).JSON
	case ".xml":
		return (*fuzz.Result).JUnit
	}
	return nil
}
