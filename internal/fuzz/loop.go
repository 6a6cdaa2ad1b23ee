package fuzz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// entry is an input that did something new.
type entry struct {
	plan *plan
	res  *result
}

// fuzzer is one run. It is used by one goroutine, and has others make its runs.
type fuzzer struct {
	o       Options
	desc    *loader.Description
	hook    *target
	crew    *crew
	rng     *rand.Rand
	m       *mutator
	corpus  []*entry
	seen    map[string]bool
	tasks   []*job
	found   map[string]*Finding
	order   []*Finding
	stats   map[phases.Phase]*PhaseStats
	counts  map[Count]int
	swept   map[phases.Phase]int
	padded  map[phases.Phase]int
	large   int  // inputs of the corpus that are large
	made    bool // the last configuration was made from the schema
	runs    int
	some    atomic.Bool // something is found
	refused int
	steps   int
	started time.Time
	told    time.Time
}

// Run fuzzes a hook. When ctx ends, the result holds the findings until then, not shrunk,
// and says so. Errors are ErrHook and ErrInput.
func Run(ctx context.Context, o Options) (*Result, error) {
	f, err := newFuzzer(ctx, o)
	if err != nil {
		return nil, err
	}
	return f.run(ctx)
}

func (f *fuzzer) run(ctx context.Context) (*Result, error) {
	// A run that has begun ends by itself, or with the time that was given.
	inner, cancel := f.limit(context.WithoutCancel(ctx))
	defer cancel()
	f.checkMade(inner)
	f.crew = newCrew(inner, f.o.Workers, f.hand)
	defer f.crew.close()
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	ended := f.ended(ctx)
	over := func(running int) bool { return ended() || len(f.order) >= maxFindings || f.spent(running) }
	if err := f.pipe(f.next, over, ended); err != nil {
		return nil, err
	}
	if err := f.rerun(ctx); err != nil {
		return nil, err
	}
	return f.result(ctx)
}

func newFuzzer(ctx context.Context, options Options) (*fuzzer, error) {
	started := time.Now()
	desc, err := options.Bench.Describe(options.Module)
	if err != nil {
		return nil, hookError(err)
	}
	if options.Name == "" {
		if options.Name = desc.Manifest.Name; options.Name == "" {
			options.Name = "hook"
		}
	}
	if options.Tier == "" {
		options.Tier = phases.Trusted
	}
	if options.Runs <= 0 && options.Time <= 0 {
		options.Runs = DefaultRuns
	}
	rng := rand.New(rand.NewPCG(options.Seed, 0x62656c6179))
	f := &fuzzer{
		o: options, desc: desc, rng: rng, m: newMutator(rng, options.Module), seen: map[string]bool{},
		found: map[string]*Finding{},
		stats: map[phases.Phase]*PhaseStats{}, counts: map[Count]int{}, swept: map[phases.Phase]int{},
		padded: map[phases.Phase]int{}, started: started, told: started,
	}
	configs, err := f.configs(ctx)
	if err != nil {
		return nil, err
	}
	f.hook = &target{module: options.Module, name: options.Name, tier: options.Tier, configs: configs}
	return f, nil
}

// hookError is the fault of the hook, without the sentence that agents get.
func hookError(err error) error {
	var f *phases.Fault
	if errors.As(err, &f) && f.Kind == phases.KindLoad && f.Cause != nil {
		err = f.Cause
	}
	return fmt.Errorf("%w: %w", ErrHook, err)
}

// subject returns the hook with kernels of its own.
func (f *fuzzer) subject(b *loader.Bench) *subject {
	return &subject{bench: b, ceiling: cmp.Or(f.o.Ceiling, kernel.ToolCeiling), target: f.hook,
		rigs: map[rigKey]*planRig{}}
}

func (f *fuzzer) hand() *hand {
	h := &hand{compiled: f.subject(f.o.Bench)}
	if f.o.Interpreter != nil {
		h.interpreted = f.subject(f.o.Interpreter)
	}
	return h
}

// begin runs the inputs that there are.
func (f *fuzzer) begin(ctx context.Context) error {
	type first struct {
		wire   []byte
		config jsontext.Value
	}
	var all []first
	for _, in := range f.o.Inputs {
		all = append(all, first{in.Invocation, in.Config})
	}
	for _, p := range f.desc.Phases {
		for _, s := range seeds(p, f.desc.Manifest.Match) {
			all = append(all, first{wire: []byte(s)})
		}
	}
	if len(f.desc.Phases) == 1 && f.desc.Phases[0] == phases.Audit { // it sees the record of every other phase, too
		for _, p := range []phases.Phase{phases.PreTool, phases.PostTool, phases.PrePlan} {
			for _, s := range seeds(p, f.desc.Manifest.Match) {
				all = append(all, first{wire: []byte(s)})
			}
		}
	}
	var jobs []*job
	for _, in := range all {
		p := (&plan{}).withInput(in.wire)
		if p == nil || !f.served(p.inv.Phase) {
			continue
		}
		if p = named(p); p == nil {
			continue
		}
		for c := range f.hook.configs {
			if in.config == nil || string(f.hook.configs[c]) == string(in.config) {
				jobs = append(jobs, &job{make: changed(p, func(p *plan) { p.config = c }), look: f.admit})
			}
		}
	}
	ended := f.ended(ctx)
	over := func(running int) bool { return ended() || f.spent(running) }
	if err := f.pipe(list(jobs), over, ended); err != nil {
		return err
	}
	if len(f.corpus) == 0 && len(f.order) == 0 && !ended() {
		return fmt.Errorf("%w: the hook serves %v, and no input is for it", ErrInput, f.desc.Phases)
	}
	return nil
}

// named gives an input the id and the time that every other one has: its result must not
// depend on either.
func named(p *plan) *plan {
	doc, err := document(p)
	if err != nil {
		return nil
	}
	doc.set("id", str(seedID))
	doc.set("time", str(seedTime))
	return p.withInput(doc.bytes())
}

// served reports whether the hook is asked about inputs of a phase.
func (f *fuzzer) served(p phases.Phase) bool {
	for _, s := range f.desc.Phases {
		if s == p || s == phases.Audit {
			return true
		}
	}
	return false
}

// next is one task for an input that did something new, or a new input. There are
// two tasks for each new input.
func (f *fuzzer) next() *job {
	f.steps++
	if len(f.tasks) > 0 && (f.steps%3 != 0 || len(f.corpus) == 0) {
		task := f.tasks[0]
		f.tasks = f.tasks[1:]
		return task
	}
	if len(f.corpus) == 0 {
		return nil
	}
	// New ones have more to tell.
	i := f.rng.IntN(len(f.corpus))
	if f.rng.IntN(2) == 0 {
		i = max(i, f.rng.IntN(len(f.corpus)))
	}
	for range 3 { // large ones cost as much as many small ones
		if len(f.corpus[i].plan.wire) <= bigInput {
			break
		}
		i = f.rng.IntN(len(f.corpus))
	}
	base, seed := f.corpus[i].plan, f.rng.Uint64()
	return &job{make: func() attempt { return f.fresh(base, seed) }, look: f.admit}
}

// admit adds a valid input to the corpus if it did something new with complete budgets.
func (f *fuzzer) admit(p *plan, res *result) error {
	f.note(p, res)
	sign := signature(p, res)
	if f.seen[sign] || len(f.corpus) >= maxCorpus {
		return nil
	}
	f.seen[sign] = true
	if len(p.wire) > largeInput {
		if f.large++; f.large > largeKept {
			return nil
		}
	}
	e := &entry{p, res}
	f.corpus = append(f.corpus, e)
	f.plan(e)
	return nil
}

// kindOf leaves out the kind where a hook decided.
func kindOf(r *result) phases.Kind {
	if r.blockedByFailure() {
		return r.verdict.Kind
	}
	return ""
}

// sameKey holds when the same thing is wrong again.
func sameKey(p *plan, key string) func(base, _ *result) bool {
	return func(base, _ *result) bool {
		for _, bad := range judge(p, base) {
			if bad.key == key {
				return true
			}
		}
		return false
	}
}

// report takes a finding, once.
func (f *fuzzer) report(bad verdictOn, how string, r *repro) {
	if old := f.found[bad.key]; old != nil {
		old.Seen++
		return
	}
	if len(f.order) >= maxFindings {
		return
	}
	n := &Finding{Class: bad.class, Severity: severityOf(bad.class), Phase: r.base.inv.Phase,
		Text: phases.SafeLine(bad.text, 300), How: how, Seen: 1, Run: f.runs, key: bad.key, repro: r}
	f.found[bad.key] = n
	f.order = append(f.order, n)
	f.some.Store(true)
}

func (f *fuzzer) note(p *plan, res *result) {
	st := f.stats[p.inv.Phase]
	if st == nil {
		st = &PhaseStats{Phase: p.inv.Phase}
		f.stats[p.inv.Phase] = st
	}
	st.Runs++
	for i := range res.turns {
		t := &res.turns[i]
		st.Fuel, st.Memory, st.Calls = max(st.Fuel, t.fuel), max(st.Memory, t.peak), max(st.Calls, t.calls)
	}
}

func (f *fuzzer) tell() {
	if f.o.Progress == nil || time.Since(f.told) < 200*time.Millisecond {
		return
	}
	f.told = time.Now()
	f.o.Progress(Progress{Runs: f.runs, Inputs: len(f.corpus), Findings: len(f.order), Elapsed: time.Since(f.started)})
}
