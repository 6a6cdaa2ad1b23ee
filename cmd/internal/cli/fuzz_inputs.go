package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// fuzzModule finds the module, and the folder that its cases may be in.
func (a *App) fuzzModule(bench *loader.Bench, what string) (module []byte, dir string, err error) {
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
		found, err := filesIn(what, ".wasm") // where `belay hook build` puts it
		if build := filepath.Join(what, "build"); err == nil && len(found) == 0 && isDir(build) {
			found, err = filesIn(build, ".wasm")
		}
		if err != nil {
			return nil, "", err
		}
		if len(found) != 1 {
			return nil, "",
				usageError(fmt.Sprintf("%s holds %s", safe(what), plural(len(found), "module")),
					"Name the file, or build the hook: `belay hook build`.")
		}
		path = found[0]
	}
	if module, err = readModule(path); err != nil {
		return nil, "", failureBy(err, "")
	}
	a.noteStale(path, module)
	return module, dir, nil
}

// fuzzInputs collects the inputs to begin with.
func (a *App) fuzzInputs(o fuzzOptions, dir string) ([]fuzz.Input, error) {
	var out []fuzz.Input
	if dir != "" {
		if cases := filepath.Join(dir, "cases"); isDir(cases) {
			list, err := suite.ReadCases(cases)
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
	return out, nil
}

// fuzzRecordings collects the invocations of recordings.
func (a *App) fuzzRecordings(o fuzzOptions) ([]fuzz.Input, error) {
	if len(o.recordings) == 0 {
		return nil, nil
	}
	var out []fuzz.Input
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

// noteUnserved says that recordings are of no use for a hook: those of another one,
// most likely.
func (a *App) noteUnserved(bench *loader.Bench, module []byte, recorded []fuzz.Input) {
	desc, err := bench.Describe(module)
	if err != nil || len(recorded) == 0 {
		return // the run reports the module's fault
	}
	for _, in := range recorded {
		inv, err := phases.DecodeInvocation(in.Invocation)
		if err == nil && (slices.Contains(desc.Phases, inv.Phase) || slices.Contains(desc.Phases, phases.Audit)) {
			return
		}
	}
	fmt.Fprintf(a.Err,
		"belay: none of the recorded invocations is of a phase that the hook serves (%v): made-up inputs are used alone\n",
		desc.Phases)
}

// fuzzRecording reads the invocations of a recording; those that are alike are taken
// all: the fuzzer keeps the ones that do something new.
func (a *App) fuzzRecording(o fuzzOptions, path string, take func(fuzz.Input)) error {
	f, err := openFile(path)
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
