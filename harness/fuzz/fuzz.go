package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// Defaults and limits.
const (
	DefaultRuns = 20_000
	maxCorpus   = 2048 // inputs that are kept
	maxFindings = 64   // different ones
	maxConfigs  = 8
)

// Classes of errors, for errors.Is.
var (
	ErrHook  = errors.New("the hook cannot be loaded")
	ErrInput = errors.New("there is nothing to begin with")
)

// Options say what is fuzzed. Bench and Module are needed.
type Options struct {
	Bench  *belay.Bench
	Module []byte
	Name   string      // of the binding; "" means the manifest's, else "hook"
	Tier   phases.Tier // as which it runs; "" means trusted, so that it has all that it asks for

	Seed uint64
	Runs int           // 0: until Time is over, else DefaultRuns
	Time time.Duration // of the wall clock; 0: until Runs are made. How far one gets in a time differs from run to run.

	// Inputs are invocations to begin with, in wire form, with a configuration each;
	// those of phases that the hook does not serve are left out.
	Inputs  []Input
	Configs []jsontext.Value // more configurations; one that the manifest refuses is ErrHook

	// Interpreter loads the hook on the interpreter; nil: engines are not compared.
	Interpreter *belay.Bench

	// Progress is told now and then, on the caller's goroutine; nil: nobody is.
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

// entry is an input that did something new.
type entry struct {
	plan *plan
	res  *result
}

// fuzzer is one run. It is used by one goroutine.
type fuzzer struct {
	o       Options
	desc    *belay.Description
	s       *subject
	other   *subject // on the interpreter; nil: none
	rng     *rand.Rand
	m       *mutator
	corpus  []*entry
	seen    map[string]bool
	tasks   []func(context.Context) error
	found   map[string]*Finding
	order   []*Finding
	stats   map[phases.Phase]*PhaseStats
	counts  map[Count]int
	swept   map[phases.Phase]int
	padded  map[phases.Phase]int
	large   int  // inputs that are kept and large
	made    bool // the last configuration was made from the schema
	refused int
	started time.Time
	told    time.Time
}

// Run fuzzes a hook. The result holds what was found until then also when ctx ends.
// Errors are ErrHook and ErrInput.
func Run(ctx context.Context, o Options) (*Result, error) {
	f, err := newFuzzer(ctx, o)
	if err != nil {
		return nil, err
	}
	defer f.close()
	inner := context.WithoutCancel(ctx) // a run that has begun ends by itself
	if err := f.begin(inner); err != nil {
		return nil, err
	}
	for step := 0; !f.over(ctx); step++ {
		if err := f.step(inner, step); err != nil {
			return nil, err
		}
		f.tell()
	}
	f.again(inner)
	return f.result(inner)
}

func newFuzzer(ctx context.Context, o Options) (*fuzzer, error) {
	desc, err := o.Bench.Describe(o.Module)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHook, err)
	}
	if o.Name == "" {
		if o.Name = desc.Manifest.Name; o.Name == "" {
			o.Name = "hook"
		}
	}
	if o.Tier == "" {
		o.Tier = phases.Trusted
	}
	if o.Runs <= 0 && o.Time <= 0 {
		o.Runs = DefaultRuns
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x62656c6179))
	f := &fuzzer{
		o: o, desc: desc, rng: rng, m: newMutator(rng, o.Module), seen: map[string]bool{}, found: map[string]*Finding{},
		stats: map[phases.Phase]*PhaseStats{}, counts: map[Count]int{}, swept: map[phases.Phase]int{}, padded: map[phases.Phase]int{}, started: time.Now(), told: time.Now(),
	}
	configs, err := f.configs(ctx)
	if err != nil {
		return nil, err
	}
	subjectOn := func(b *belay.Bench) *subject {
		return &subject{bench: b, module: o.Module, name: o.Name, tier: o.Tier, configs: configs, rigs: map[rigKey]*rig{}}
	}
	f.s = subjectOn(o.Bench)
	if o.Interpreter != nil {
		f.other = subjectOn(o.Interpreter)
	}
	return f, nil
}

func (f *fuzzer) close() {
	f.s.close()
	if f.other != nil {
		f.other.close()
	}
}

// configs collects the configurations that the hook takes.
func (f *fuzzer) configs(ctx context.Context) ([]jsontext.Value, error) {
	var out []jsontext.Value
	seen := map[string]bool{}
	var first error // with which a configuration was refused
	try := func(c jsontext.Value) {
		if seen[string(c)] || len(out) >= maxConfigs {
			return
		}
		seen[string(c)] = true
		_, err := f.o.Bench.Load(ctx, belay.BenchHook{Name: f.o.Name, Module: f.o.Module, Tier: f.o.Tier, Config: c})
		switch {
		case err == nil:
			out = append(out, c)
		default:
			first = err
		}
	}
	try(nil)
	for _, c := range f.o.Configs { // somebody asked for these
		if try(c); !slices.ContainsFunc(out, func(o jsontext.Value) bool { return string(o) == string(c) }) {
			if first == nil {
				first = errors.New("too many configurations")
			}
			return nil, fmt.Errorf("%w: %w", ErrHook, first)
		}
	}
	for _, e := range f.desc.Manifest.Examples {
		try(e.Config)
	}
	for _, in := range f.o.Inputs {
		try(in.Config)
	}
	if s := f.desc.Manifest.ConfigSchema; s != nil && len(out) < 2 {
		if schema, err := parse(s); err == nil {
			n := len(out)
			try(fromSchema(schema, 0).bytes())
			f.made = len(out) > n
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrHook, first)
	}
	return out, nil
}

// begin runs the inputs that there are.
func (f *fuzzer) begin(ctx context.Context) error {
	type first struct {
		wire   []byte
		config jsontext.Value
	}
	var list []first
	for _, in := range f.o.Inputs {
		list = append(list, first{in.Invocation, in.Config})
	}
	for _, p := range f.desc.Phases {
		for _, s := range seeds(p, f.desc.Manifest.Match) {
			list = append(list, first{wire: []byte(s)})
		}
	}
	if len(f.desc.Phases) == 1 && f.desc.Phases[0] == phases.Audit { // it sees the record of every other phase, too
		for _, p := range []phases.Phase{phases.PreTool, phases.PostTool, phases.PrePlan} {
			for _, s := range seeds(p, f.desc.Manifest.Match) {
				list = append(list, first{wire: []byte(s)})
			}
		}
	}
	f.checkMade(ctx)
	for _, in := range list {
		p := (&plan{}).withInput(in.wire)
		if p == nil || !f.served(p.inv.Phase) {
			continue
		}
		if p = named(p); p == nil {
			continue
		}
		for c := range f.s.configs {
			if in.config != nil && string(f.s.configs[c]) != string(in.config) || f.over(ctx) {
				continue
			}
			if err := f.input(ctx, p.with(func(p *plan) { p.config = c })); err != nil {
				return err
			}
		}
	}
	if len(f.corpus) == 0 && len(f.order) == 0 {
		return fmt.Errorf("%w: the hook serves %v, and no input is for it", ErrInput, f.desc.Phases)
	}
	return nil
}

// checkMade drops a configuration that was made up and that the hook itself does not
// understand: schemas do not say everything, and no operator has asked for it.
func (f *fuzzer) checkMade(ctx context.Context) {
	if !f.made {
		return
	}
	last := len(f.s.configs) - 1
	for _, phase := range f.desc.Phases {
		for _, s := range seeds(phase, f.desc.Manifest.Match) {
			p := (&plan{config: last}).withInput([]byte(s))
			if p == nil {
				continue
			}
			if res, err := f.s.exec(ctx, p); err != nil || res.failed() != nil || res.blockedByFailure() {
				f.s.configs = f.s.configs[:last]
				return
			}
		}
	}
}

// named gives an input the id and the time that every other one has: what it comes
// to must not depend on either.
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

func (f *fuzzer) over(ctx context.Context) bool {
	if ctx.Err() != nil || len(f.order) >= maxFindings {
		return true
	}
	if f.o.Runs > 0 && f.s.runs >= f.o.Runs {
		return true
	}
	return f.o.Time > 0 && time.Since(f.started) >= f.o.Time
}

// step is one task for an input that did something new, or a new input. There are
// two tasks for each new input.
func (f *fuzzer) step(ctx context.Context, n int) error {
	if len(f.tasks) > 0 && (n%3 != 0 || len(f.corpus) == 0) {
		task := f.tasks[0]
		f.tasks = f.tasks[1:]
		return task(ctx)
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
	base := f.corpus[i].plan
	doc, err := document(base)
	if err != nil {
		return err
	}
	if f.rng.IntN(16) == 0 {
		return f.frontDoor(ctx, base, f.m.damage(doc.bytes()))
	}
	f.m.mutate(doc)
	wire := doc.bytes()
	p := base.withInput(wire)
	if p == nil {
		return f.frontDoor(ctx, base, wire)
	}
	switch f.rng.IntN(8) {
	case 0:
		p.config = f.rng.IntN(len(f.s.configs))
	case 1:
		p.ports = 1 + f.rng.Uint64N(1<<20)
	case 2:
		p.carried = f.carried()
	case 3:
		p.ports, p.carried = 0, nil
	}
	return f.input(ctx, p)
}

// carried is metadata that an earlier hook may have left.
func (f *fuzzer) carried() phases.Metadata {
	key := pick(f.rng, []string{"class", "stage", "approved", "count"})
	if len(f.m.words) > 0 && f.rng.IntN(2) == 0 {
		key = pick(f.rng, f.m.words)
	}
	md := phases.Metadata{key: {Value: f.m.value().bytes(), Hook: "before", Tier: phases.Sandboxed}}
	if md.Validate() != nil {
		return nil
	}
	return md
}

// input runs a valid input with whole budgets, and keeps it when it does something new.
func (f *fuzzer) input(ctx context.Context, p *plan) error {
	res, err := f.exec(ctx, p)
	if err != nil {
		return err
	}
	f.note(p, res)
	if sign := signature(p, res); !f.seen[sign] && len(f.corpus) < maxCorpus {
		f.seen[sign] = true
		if len(p.wire) > largeInput {
			if f.large++; f.large > largeKept {
				return nil
			}
		}
		e := &entry{p, res}
		f.corpus = append(f.corpus, e)
		f.plan(e)
	}
	return nil
}

// exec runs a plan and judges what came of it.
func (f *fuzzer) exec(ctx context.Context, p *plan) (*result, error) {
	res, err := f.s.exec(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHook, err)
	}
	f.counts[Count{Decision: res.verdict.Decision, Kind: kindOf(res)}]++
	for _, bad := range judge(p, res) {
		f.report(bad, "", &repro{base: p, holds: f.sameKey(p, bad.key)})
	}
	return res, nil
}

// kindOf leaves out the kind where a hook decided.
func kindOf(r *result) phases.Kind {
	if r.blockedByFailure() {
		return r.verdict.Kind
	}
	return ""
}

// sameKey holds when the same thing is wrong again.
func (f *fuzzer) sameKey(p *plan, key string) func(base, _ *result) bool {
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
	n := &Finding{Class: bad.class, Severity: severityOf(bad.class), Phase: r.base.inv.Phase, Text: phases.SafeLine(bad.text, 300), How: how, Seen: 1, Run: f.s.runs, key: bad.key, repro: r}
	f.found[bad.key] = n
	f.order = append(f.order, n)
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

// frontDoor takes an input in that may not decode.
func (f *fuzzer) frontDoor(ctx context.Context, base *plan, raw []byte) error {
	inv, err, panicked := decode(raw)
	bad := func(class, key, format string, args ...any) {
		f.report(verdictOn{class, class + "|" + key, fmt.Sprintf(format, args...)}, "input "+phases.SafeLine(string(raw[:min(len(raw), 160)]), 200), &repro{base: base})
	}
	if panicked != "" {
		f.s.runs++
		bad(ClassPanic, "decode", "decoding panicked: %s", panicked)
		return nil
	}
	if err == nil { // damage that did none
		p := base.with(func(p *plan) { p.wire, p.inv = raw, inv })
		wire, err := phases.EncodeInvocation(inv)
		again, err2 := phases.DecodeInvocation(wire)
		if err != nil || err2 != nil || string(again.Action) != string(inv.Action) || !f.served(inv.Phase) {
			f.s.runs++
			if f.served(inv.Phase) {
				bad(ClassFrontDoor, "round trip", "an input decodes and cannot be written and read again")
			}
			return nil
		}
		return f.input(ctx, p)
	}
	f.refused++
	var place *phases.DecodeError
	if !errors.As(err, &place) {
		bad(ClassFrontDoor, "class", "an input was refused without its place: %v", err)
	}
	res, err := f.s.refuse(ctx, base, raw, err)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHook, err)
	}
	f.counts[Count{Decision: res.verdict.Decision, Kind: kindOf(res)}]++
	if res.verdict.Decision != phases.Block || res.err == nil {
		bad(ClassFrontDoor, "refuse", "an input that does not decode is decided %s", res.verdict.Decision)
	}
	if why := unrecorded(res); why != "" {
		bad(ClassUnrecorded, "refuse "+why, "an input that does not decode: %s", why)
	}
	return nil
}

func decode(raw []byte) (inv phases.Invocation, err error, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	inv, err = phases.DecodeInvocation(raw)
	return inv, err, ""
}

func (f *fuzzer) tell() {
	if f.o.Progress == nil || time.Since(f.told) < 200*time.Millisecond {
		return
	}
	f.told = time.Now()
	f.o.Progress(Progress{Runs: f.s.runs, Inputs: len(f.corpus), Findings: len(f.order), Elapsed: time.Since(f.started)})
}
