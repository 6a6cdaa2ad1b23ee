package fuzz

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/phases"
)

// Bounds of the tries on one input.
const (
	maxInjected = 48  // calls times errnos
	maxLooks    = 12  // ends of the deadline
	fewFuel     = 12  // ends of the fuel, of later inputs
	allFuel     = 600 // of the first inputs of a phase; smaller turns are tried at every point
	compared    = 24  // inputs that the interpreter runs, too
	smallSlice  = 512
	bigInput    = 6 << 10  // bytes; beyond it less is tried
	largeInput  = 32 << 10 // bytes; only some inputs beyond it get into the corpus
	largeKept   = 32

	largePaddings = 3 // inputs of a phase that are padded to the limit
)

// plan puts everything on the list that is to be tried on an input.
func (f *fuzzer) plan(entry *entry) {
	n := len(f.corpus)
	f.add(f.repeat(entry))
	if f.o.Interpreter != nil && n <= compared {
		f.add(f.engines(entry))
	}
	if entry.res.blockedByFailure() || len(entry.res.turns) == 0 {
		return // a failure says nothing about other forms of the input
	}
	for i, form := range equivalents() {
		f.add(f.equivalent(entry, form.name, form.style, n*8+i))
	}
	if len(entry.plan.wire) > bigInput { // every run of it costs as much as many others
		for _, at := range spread(entry.res.turns[0].fuel-1, 3) {
			f.add(f.fuelEnds(entry, at))
		}
		return
	}
	if entry.res.strength() > 0 {
		f.padded[entry.plan.inv.Phase]++
		for _, size := range sizes(f.padded[entry.plan.inv.Phase] <= largePaddings) {
			for _, v := range paddings() {
				f.add(f.padding(entry, v, size))
			}
		}
	}
	f.planFailures(entry)
	f.planBudgets(entry)
}

func (f *fuzzer) add(j *job) { f.tasks = append(f.tasks, j) }

// repeat runs the same once more.
func (f *fuzzer) repeat(e *entry) *job {
	return &job{make: of(e.plan), look: func(_ *plan, res *result) error {
		if a, b := e.res.fingerprint(), res.fingerprint(); a != b {
			f.unstable(ClassUnstable, e, "the same input had two results", a, b)
		}
		return nil
	}}
}

// engines runs the same on the interpreter.
func (f *fuzzer) engines(e *entry) *job {
	return &job{make: of(e.plan), interpreter: true, look: func(_ *plan, res *result) error {
		if a, b := e.res.fingerprint(), res.fingerprint(); a != b {
			f.unstable(ClassEngines, e, "compiler and interpreter differ", a, b)
		}
		return nil
	}}
}

// rerun runs inputs of the corpus once more at the end, after everything else has run.
func (f *fuzzer) rerun(ctx context.Context) error {
	var jobs []*job
	n := min(len(f.corpus), maxReruns)
	if f.o.Runs > 0 {
		n = min(n, f.o.Runs-f.runs)
	}
	for _, e := range f.corpus[:max(n, 0)] {
		jobs = append(jobs, f.repeat(e))
	}
	out := f.out(ctx)
	return f.pipe(list(jobs), func(int) bool { return out() }, out)
}

func (f *fuzzer) unstable(class string, e *entry, text, a, b string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(at-30, 0)
	text += fmt.Sprintf(": %s… and %s…", phases.SafeLine(a[from:min(len(a), at+40)], 80),
		phases.SafeLine(b[from:min(len(b), at+40)], 80))
	f.report(verdictOn{class, class + "|" + string(e.plan.inv.Phase), text}, "", &repro{base: e.plan})
}
