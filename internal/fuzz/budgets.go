package fuzz

import (
	"fmt"

	"github.com/belay-hooks/belay/phases"
)

// planBudgets ends fuel and time at many places, and takes memory away.
func (f *fuzzer) planBudgets(entry *entry) {
	phase := entry.plan.inv.Phase
	f.swept[phase]++
	fuel := entry.res.turns[0].fuel
	points := fewFuel
	if f.swept[phase] <= 2 {
		points = allFuel
		if f.o.Runs > 0 {
			points = min(points, max(f.o.Runs/20, fewFuel))
		}
	}
	for _, at := range spread(fuel-1, points) {
		f.add(f.fuelEnds(entry, at))
	}
	for _, at := range spread(int64(entry.res.turns[0].looks), maxLooks) {
		f.add(f.timeEnds(entry, int(at)))
	}
	if entry.res.turns[0].peak > 1<<20 {
		f.add(f.memoryEnds(entry, 1))
	}
	if f.swept[phase] <= 4 {
		f.add(f.sliced(entry))
		for _, fault := range []storeFault{storeConflictsOnce, storeConflicts, storeDown} {
			f.add(f.storeFails(entry, fault))
		}
	}
}

// spread returns the numbers from 1 to top, or n of them: all at both ends, evenly between.
func spread(top int64, n int) []int64 {
	var out []int64
	if top <= int64(n) {
		for i := int64(1); i <= top; i++ {
			out = append(out, i)
		}
		return out
	}
	for i := range int64(n) {
		out = append(out, 1+i*(top-1)/int64(n-1))
	}
	return out
}

// mustFail reports a budget that ended and was not told.
func (f *fuzzer) mustFail(e *entry, kind phases.Kind, how string, change func(*plan)) *job {
	return &job{make: changed(e.plan, change), look: func(p *plan, res *result) error {
		bad := res.failed()
		if bad == nil || bad.fault.Kind != kind || res.verdict.Decision != phases.Block {
			f.report(verdictOn{ClassFailOpen, fmt.Sprintf("%s|%s|%s", ClassFailOpen, e.plan.inv.Phase, kind),
				fmt.Sprintf("%s, and the verdict is %s (%s)", how, res.verdict.Decision, res.verdict.Kind)}, how,
				&repro{base: p})
		}
		return nil
	}}
}

func (f *fuzzer) fuelEnds(e *entry, at int64) *job {
	return f.mustFail(e, phases.KindFuel, fmt.Sprintf("the fuel ends at %d of %d", at, e.res.turns[0].fuel),
		func(p *plan) { p.fuel = at })
}

func (f *fuzzer) timeEnds(e *entry, at int) *job {
	return f.mustFail(e, phases.KindDeadline, fmt.Sprintf("the time ends at look %d of %d", at, e.res.turns[0].looks),
		func(p *plan) { p.look = at })
}

// memoryEnds runs the hook with less memory than it took. A guest that gets none may
// do without; it must not come to a weaker decision for that. One that does not even
// load with so little blocks.
func (f *fuzzer) memoryEnds(e *entry, mib int64) *job {
	less := func(p *plan) { p.memory = mib }
	return &job{make: changed(e.plan, less), mayNotLoad: true, look: func(_ *plan, res *result) error {
		if weaker(e.res, res) {
			f.report(verdictOn{ClassFailOpen, fmt.Sprintf("%s|%s|memory", ClassFailOpen, e.plan.inv.Phase),
				outcomes(e.res, res) + " with less memory"}, "less memory",
				&repro{base: e.plan, holds: weaker, vary: func(base *plan, _ int) *plan { return base.with(less) }})
		}
		return nil
	}}
}

// sliced looks at the deadline more often, which changes nothing, and ends it at
// looks that there are only then.
func (f *fuzzer) sliced(e *entry) *job {
	return &job{make: changed(e.plan, func(p *plan) { p.slice = smallSlice }), look: func(p *plan, res *result) error {
		if a, b := e.res.fingerprint(), res.fingerprint(); a != b {
			f.unstable(ClassUnstable, e, "a look at the clock changed the result", a, b)
		}
		cut := &entry{p, res}
		for _, at := range spread(int64(res.turns[0].looks), maxLooks) {
			f.add(f.timeEnds(cut, int(at)))
		}
		return nil
	}}
}

// storeFails lets the commit fail; judge compares the result with the one that has to come.
func (f *fuzzer) storeFails(e *entry, fault storeFault) *job {
	return &job{make: changed(e.plan, func(p *plan) { p.store = fault }), look: func(p *plan, res *result) error {
		if fault == storeConflictsOnce && res.verdict.Decision != e.res.verdict.Decision {
			f.report(verdictOn{ClassUnstable, ClassUnstable + "|conflict",
				"after a conflict in the store the verdict is another one"}, "", &repro{base: p})
		}
		return nil
	}}
}
