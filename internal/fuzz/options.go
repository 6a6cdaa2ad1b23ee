package fuzz

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/phases"
)

// Defaults and limits.
const (
	DefaultRuns = 20_000
	maxCorpus   = 2048 // inputs of the corpus
	maxFindings = 64   // different ones
	maxConfigs  = 8
)

// Classes of errors, for errors.Is.
var (
	ErrHook  = errors.New("the hook cannot be loaded")
	ErrInput = errors.New("there is nothing to begin with")
)

// Options are the hook and the bounds of a fuzz run. Bench and Module are needed.
type Options struct {
	Bench  *loader.Bench
	Module []byte
	Name   string      // of the binding; "" means the manifest's, else "hook"
	Tier   phases.Tier // as which it runs; "" means trusted, so that it has all that it asks for

	Seed uint64
	Runs int           // 0: until Time is over, else DefaultRuns
	Time time.Duration // of the wall clock, for all of it; 0: until Runs are made. How far it gets differs.

	// Inputs are invocations to begin with, in wire form, with a configuration each;
	// those of phases that the hook does not serve are left out.
	Inputs  []Input
	Configs []jsontext.Value // more configurations; one that the manifest refuses is ErrHook

	// Workers is how many runs are made at once; 0: as many as there are processors.
	// Findings do not depend on it.
	Workers int

	// Interpreter loads the hook on the interpreter; nil: engines are not compared.
	Interpreter *loader.Bench

	// Ceiling is the longest time of one turn; 0 means kernel.ToolCeiling. One that takes
	// longer ends the run with kernel.ErrOverran: it is no finding.
	Ceiling time.Duration

	// Progress is called now and then, on the caller's goroutine; nil is not.
	Progress func(Progress)
}

// Input is an invocation to begin with.
type Input struct {
	Invocation []byte
	Config     jsontext.Value // nil: any
}

// InputOf writes an invocation that was built in Go.
func InputOf(build func() (phases.Invocation, error), config jsontext.Value) (Input, error) {
	inv, err := build()
	if err != nil {
		return Input{}, err
	}
	wire, err := phases.EncodeInvocation(inv)
	return Input{Invocation: wire, Config: config}, err
}

// Progress is how far a fuzz run is.
type Progress struct {
	Runs, Inputs, Findings int
	Elapsed                time.Duration
}
