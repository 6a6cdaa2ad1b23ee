package fuzz

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of what is tried on one input.
const (
	maxInjected = 48  // calls times errnos
	maxLooks    = 12  // ends of the deadline
	fewFuel     = 12  // ends of the fuel, of later inputs
	allFuel     = 600 // of the first inputs of a phase; smaller turns are tried at every point
	compared    = 24  // inputs that the interpreter runs, too
	smallSlice  = 512
	bigInput    = 6 << 10  // bytes; beyond it less is tried
	largeInput  = 32 << 10 // bytes; of inputs beyond it only some are kept
	largeKept   = 32

	largePaddings = 3 // inputs of a phase that are padded to the limit
)

// signature is equal for runs that did about the same: decision, calls, and fuel to
// within a quarter of its size.
func signature(p *plan, r *result) string {
	h := fnv.New64a()
	for i := range r.turns {
		t := &r.turns[i]
		fuel := uint64(max(t.fuel, 1))
		n := bits.Len64(fuel)
		fmt.Fprintf(h, "%s %d.%d %d|", t.pass, n, fuel>>max(n-3, 0), bits.Len(uint(t.calls)))
		for j, s := range t.sites {
			if j < 64 && (j == 0 || t.sites[j-1].call.Name != s.call.Name) {
				h.Write([]byte(s.call.Name))
			}
		}
		for _, e := range t.effects {
			h.Write([]byte(e.Kind))
		}
		if t.fault != nil {
			h.Write([]byte(t.fault.Kind))
		}
	}
	return fmt.Sprintf("%s %s %s %d %x", p.inv.Phase, r.verdict.Decision, r.verdict.Kind, p.config, h.Sum64())
}

// plan puts everything on the list that is to be tried on an input.
func (f *fuzzer) plan(e *entry) {
	n := len(f.corpus)
	add := func(task func(context.Context) error) { f.tasks = append(f.tasks, task) }
	add(func(ctx context.Context) error { return f.repeat(ctx, e) })
	if f.other != nil && n <= compared {
		add(func(ctx context.Context) error { return f.engines(ctx, e) })
	}
	if e.res.blockedByFailure() || len(e.res.turns) == 0 {
		return // what fails closed says nothing about other forms of it
	}
	for i, form := range equivalents() {
		add(func(ctx context.Context) error { return f.equivalent(ctx, e, form.name, form.style, n*8+i) })
	}
	if len(e.plan.wire) > bigInput { // every run of it costs as much as many others
		fuel := e.res.turns[0].fuel
		for _, at := range spread(fuel-1, 3) {
			add(func(ctx context.Context) error { return f.fuelEnds(ctx, e, at) })
		}
		return
	}
	if e.res.strength() > 0 {
		f.padded[e.plan.inv.Phase]++
		for _, size := range sizes(f.padded[e.plan.inv.Phase] <= largePaddings) {
			for _, v := range paddings() {
				add(func(ctx context.Context) error { return f.padding(ctx, e, v, size) })
			}
		}
	}
	f.planFailures(e, add)
	f.planBudgets(e, add)
}

// planFailures makes calls fail, one at a time and then all of a name.
func (f *fuzzer) planFailures(e *entry, add func(func(context.Context) error)) {
	type failure struct {
		list []hostcalls.Injected
		how  string
	}
	var list []failure
	all := map[string][]int{}
	for _, s := range e.res.turns[0].sites {
		for _, errno := range s.call.Failures() {
			list = append(list, failure{[]hostcalls.Injected{{Call: s.n, Errno: errno}}, fmt.Sprintf("%s answers %q", s.call.Name, errno.String())})
		}
		// What the operator has configured is as long as it is.
		if s.call.CanBeLong() && (s.call.Name == "state_get" || s.call.Capability == "" && !strings.HasPrefix(s.call.Name, "config_")) {
			list = append(list, failure{[]hostcalls.Injected{{Call: s.n, Long: true}}, s.call.Name + " answers more than its buffer holds"})
		}
		if len(s.call.Failures()) > 0 {
			all[s.call.Name] = append(all[s.call.Name], s.n)
		}
	}
	for len(list) > maxInjected { // any of them, so that late calls have their turn
		i := f.rng.IntN(len(list))
		list = slices.Delete(list, i, i+1)
	}
	for _, x := range list {
		add(func(ctx context.Context) error { return f.injected(ctx, e, x.list, x.how) })
	}
	for _, s := range e.res.turns[0].sites {
		if calls := all[s.call.Name]; len(calls) > 1 {
			delete(all, s.call.Name)
			var every []hostcalls.Injected
			for _, n := range calls {
				every = append(every, hostcalls.Injected{Call: n, Errno: s.call.Failures()[0]})
			}
			add(func(ctx context.Context) error {
				return f.injected(ctx, e, every, fmt.Sprintf("every %s answers %q", s.call.Name, s.call.Failures()[0].String()))
			})
		}
	}
}

// planBudgets ends fuel and time at many places, and takes memory away.
func (f *fuzzer) planBudgets(e *entry, add func(func(context.Context) error)) {
	p := e.plan.inv.Phase
	f.swept[p]++
	fuel := e.res.turns[0].fuel
	points := fewFuel
	if f.swept[p] <= 2 {
		points = allFuel
		if f.o.Runs > 0 {
			points = min(points, max(f.o.Runs/20, fewFuel))
		}
	}
	for _, at := range spread(fuel-1, points) {
		add(func(ctx context.Context) error { return f.fuelEnds(ctx, e, at) })
	}
	for _, at := range spread(int64(e.res.turns[0].looks), maxLooks) {
		add(func(ctx context.Context) error { return f.timeEnds(ctx, e, int(at)) })
	}
	if e.res.turns[0].peak > 1<<20 {
		add(func(ctx context.Context) error { return f.memoryEnds(ctx, e, 1) })
	}
	if f.swept[p] <= 4 {
		add(func(ctx context.Context) error { return f.sliced(ctx, e) })
		for _, fault := range []storeFault{storeConflictsOnce, storeConflicts, storeDown} {
			add(func(ctx context.Context) error { return f.storeFails(ctx, e, fault) })
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

// repeat runs the same once more.
func (f *fuzzer) repeat(ctx context.Context, e *entry) error {
	res, err := f.exec(ctx, e.plan)
	if err != nil {
		return err
	}
	if a, b := e.res.fingerprint(), res.fingerprint(); a != b {
		f.unstable(ClassUnstable, e, "the same input had two results", a, b)
	}
	return nil
}

func (f *fuzzer) unstable(class string, e *entry, text, a, b string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(at-30, 0)
	text += fmt.Sprintf(": %s… and %s…", phases.SafeLine(a[from:min(len(a), at+40)], 80), phases.SafeLine(b[from:min(len(b), at+40)], 80))
	f.report(verdictOn{class, class + "|" + string(e.plan.inv.Phase), text}, "", &repro{base: e.plan})
}

// engines runs the same on the interpreter.
func (f *fuzzer) engines(ctx context.Context, e *entry) error {
	f.s.runs++
	res, err := f.other.exec(ctx, e.plan)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHook, err)
	}
	if a, b := e.res.fingerprint(), res.fingerprint(); a != b {
		f.unstable(ClassEngines, e, "compiler and interpreter differ", a, b)
	}
	return nil
}

// again runs every kept input once more at the end, after everything else has run.
func (f *fuzzer) again(ctx context.Context) {
	for _, e := range f.corpus[:min(len(f.corpus), 64)] {
		if f.repeat(ctx, e) != nil {
			return
		}
	}
}

// weaker is a pair whose second run keeps an agent from less.
func weaker(base, varied *result) bool {
	return base.decided() && varied.decided() && varied.strength() < base.strength()
}

func outcomes(base, varied *result) string {
	name := func(r *result) string {
		if r.strength() == 1 {
			return "changed"
		}
		return string(r.verdict.Decision)
	}
	return name(base) + " became " + name(varied)
}

// padding makes the input longer.
func (f *fuzzer) padding(ctx context.Context, e *entry, v variant, size int) error {
	vary := padded(v)
	p := vary(e.plan, size)
	if p == nil {
		return nil
	}
	res, err := f.exec(ctx, p)
	if err != nil {
		return err
	}
	if weaker(e.res, res) {
		key := fmt.Sprintf("%s|%s|%s|%d", ClassEvasion, e.plan.inv.Phase, v.name, e.res.strength())
		f.report(verdictOn{ClassEvasion, key, outcomes(e.res, res) + " with " + v.name}, v.name, &repro{base: e.plan, vary: vary, param: size, holds: weaker})
	}
	return nil
}

// equivalent writes the same JSON in another way.
func (f *fuzzer) equivalent(ctx context.Context, e *entry, name string, form func(int) style, seed int) error {
	vary := rewritten(form)
	p := vary(e.plan, seed)
	if p == nil {
		return nil
	}
	res, err := f.exec(ctx, p)
	if err != nil {
		return err
	}
	other := func(base, varied *result) bool {
		return base.decided() && varied.decided() && (varied.strength() != base.strength() || varied.verdict.Decision != base.verdict.Decision)
	}
	if other(e.res, res) {
		key := fmt.Sprintf("%s|%s|%s", ClassFlip, e.plan.inv.Phase, name)
		f.report(verdictOn{ClassFlip, key, outcomes(e.res, res) + " with " + name}, name, &repro{
			base: e.plan, param: 0, holds: other, vary: func(p *plan, _ int) *plan { return vary(p, seed) },
		})
	}
	return nil
}

// injected makes calls fail.
func (f *fuzzer) injected(ctx context.Context, e *entry, list []hostcalls.Injected, how string) error {
	p := e.plan.with(func(p *plan) { p.inject = list })
	res, err := f.exec(ctx, p)
	if err != nil {
		return err
	}
	if weaker(e.res, res) {
		f.report(verdictOn{ClassFailOpen, fmt.Sprintf("%s|%s|%s", ClassFailOpen, e.plan.inv.Phase, how), outcomes(e.res, res) + " when " + how}, how,
			&repro{base: e.plan, holds: weaker, vary: func(base *plan, _ int) *plan { return base.with(func(p *plan) { p.inject = list }) }})
	}
	return nil
}

// mustFail reports a budget that ended and was not told.
func (f *fuzzer) mustFail(ctx context.Context, e *entry, kind phases.Kind, how string, change func(*plan)) error {
	res, err := f.exec(ctx, e.plan.with(change))
	if err != nil {
		return err
	}
	open := func(_, r *result) bool {
		bad := r.failed()
		return bad == nil || bad.fault.Kind != kind && kind != phases.KindMemory || r.verdict.Decision != phases.Block
	}
	if open(nil, res) {
		f.report(verdictOn{ClassFailOpen, fmt.Sprintf("%s|%s|%s", ClassFailOpen, e.plan.inv.Phase, kind), fmt.Sprintf("%s, and the verdict is %s (%s)", how, res.verdict.Decision, res.verdict.Kind)}, how,
			&repro{base: e.plan.with(change)})
	}
	return nil
}

func (f *fuzzer) fuelEnds(ctx context.Context, e *entry, at int64) error {
	return f.mustFail(ctx, e, phases.KindFuel, fmt.Sprintf("the fuel ends at %d of %d", at, e.res.turns[0].fuel), func(p *plan) { p.fuel = at })
}

func (f *fuzzer) timeEnds(ctx context.Context, e *entry, at int) error {
	return f.mustFail(ctx, e, phases.KindDeadline, fmt.Sprintf("the time ends at look %d of %d", at, e.res.turns[0].looks), func(p *plan) { p.look = at })
}

// memoryEnds runs the hook with less memory than it took. A guest that gets none may
// do without; it must not come to a weaker decision for that.
func (f *fuzzer) memoryEnds(ctx context.Context, e *entry, mib int64) error {
	p := e.plan.with(func(p *plan) { p.memory = mib })
	if _, err := f.s.rig(ctx, p); err != nil {
		return nil // it does not even load with so little: that blocks
	}
	res, err := f.exec(ctx, p)
	if err != nil {
		return err
	}
	if weaker(e.res, res) {
		f.report(verdictOn{ClassFailOpen, fmt.Sprintf("%s|%s|memory", ClassFailOpen, e.plan.inv.Phase), outcomes(e.res, res) + " with less memory"}, "less memory",
			&repro{base: e.plan, holds: weaker, vary: func(base *plan, _ int) *plan { return base.with(func(p *plan) { p.memory = mib }) }})
	}
	return nil
}

// sliced looks at the deadline more often, which changes nothing, and ends it at
// looks that there are only then.
func (f *fuzzer) sliced(ctx context.Context, e *entry) error {
	p := e.plan.with(func(p *plan) { p.slice = smallSlice })
	res, err := f.exec(ctx, p)
	if err != nil {
		return err
	}
	if a, b := e.res.fingerprint(), res.fingerprint(); a != b {
		f.unstable(ClassUnstable, e, "a look at the clock changed the result", a, b)
	}
	cut := &entry{p, res}
	for _, at := range spread(int64(res.turns[0].looks), maxLooks) {
		f.tasks = append(f.tasks, func(ctx context.Context) error { return f.timeEnds(ctx, cut, int(at)) })
	}
	return nil
}

// storeFails lets the commit fail; judge says what has to come of it.
func (f *fuzzer) storeFails(ctx context.Context, e *entry, fault storeFault) error {
	p := e.plan.with(func(p *plan) { p.store = fault })
	res, err := f.exec(ctx, p)
	if err != nil || fault != storeConflictsOnce {
		return err
	}
	if res.verdict.Decision != e.res.verdict.Decision {
		f.report(verdictOn{ClassUnstable, ClassUnstable + "|conflict", "after a conflict in the store the verdict is another one"}, "", &repro{base: p})
	}
	return nil
}
