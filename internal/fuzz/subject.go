package fuzz

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// endless stands for the chain's time: nothing here depends on a clock.
const endless = 365 * 24 * time.Hour

// kernelTries is how often the kernel runs an invocation whose commit conflicts; the
// refusal that comes then rests on nothing that could.
const kernelTries = 4

// target is the hook under test. It does not change once inputs are run.
type target struct {
	module  []byte
	name    string
	tier    phases.Tier
	configs []jsontext.Value // nil in it: none
	tap     func(*plan)      // is told of every run; nil but in benchmarks
}

// subject is the target on one bench, with kernels of its own. It is used by one
// goroutine.
type subject struct {
	*target
	bench   *loader.Bench
	ceiling time.Duration // of a turn, by the clock
	rigs    map[rigKey]*rig
}

type rigKey struct {
	config int
	memory int64
}

// rig is a kernel with the hook in it.
type rig struct {
	kernel *kernel.Kernel
	hook   kernel.Hook // the module
	store  *ledger
	plan   *plan
	res    *result
	record bool
	taken  *kernel.Recording
}

func (s *subject) close() {
	for _, r := range s.rigs {
		_ = r.kernel.Close() // nothing is kept in it
	}
}

// rig returns the kernel for a plan. The error is the one with which the hook could
// not be loaded. A kernel remembers that its store has failed: such a plan has one of
// its own, which done closes.
func (s *subject) rig(ctx context.Context, p *plan) (r *rig, done func(), err error) {
	if p.store != storeWorks {
		if r, err = s.open(ctx, p); err != nil {
			return nil, nil, err
		}
		return r, func() { _ = r.kernel.Close() }, nil // nothing is kept in it
	}
	key := rigKey{p.config, p.memory}
	if r = s.rigs[key]; r == nil {
		if r, err = s.open(ctx, p); err != nil {
			return nil, nil, err
		}
		s.rigs[key] = r
	}
	return r, func() {}, nil
}

func (s *subject) open(ctx context.Context, p *plan) (*rig, error) {
	r := &rig{store: &ledger{Store: memory.New()}}
	r.store.rig = r
	spec := kernel.BindingSpec{Name: s.name, Config: s.configs[p.config]}
	spec.Budget.MemoryMiB = p.memory
	load := func(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
		l, err := s.bench.Load(ctx,
			loader.BenchHook{Name: spec.Name, Module: s.module, Tier: s.tier, Config: spec.Config,
				MemoryMiB: spec.Budget.MemoryMiB})
		if err != nil {
			return nil, err
		}
		out := *l
		r.hook, out.Hook = l.Hook, r
		return &out, nil
	}
	var err error
	r.kernel, err = kernel.Open(ctx,
		&kernel.Config{Revision: "fuzz", Bindings: []kernel.BindingSpec{spec}, ChainBudget: endless}, kernel.Options{
			Store: r.store, Loader: loaderFunc(load), Redactor: plain{}, Recorder: r, Clock: clock{}, Sequential: true,
			Untimed: s.ceiling,
			NewID:   func(time.Time) string { return seedID },
		})
	if err != nil {
		return nil, err
	}
	for _, h := range r.kernel.Hooks() {
		if h.Problem != "" {
			_ = r.kernel.Close()
			return nil, fmt.Errorf("%s: %s", h.Name, h.Problem)
		}
	}
	return r, nil
}

// exec runs a plan.
func (s *subject) exec(ctx context.Context, p *plan) (*result, error) {
	if s.tap != nil {
		s.tap(p)
	}
	return s.run(ctx, p, false)
}

// record runs a plan and keeps everything that it was decided from.
func (s *subject) record(ctx context.Context, p *plan) (*result, error) { return s.run(ctx, p, true) }

func (s *subject) run(ctx context.Context, p *plan, record bool) (res *result, err error) {
	r, done, err := s.rig(ctx, p)
	if err != nil {
		return nil, err
	}
	defer done()
	res = &result{}
	r.plan, r.res, r.record, r.taken = p, res, record, nil
	r.store.begin()
	func() {
		defer func() {
			if v := recover(); v != nil {
				res.panicked = fmt.Sprint(v)
			}
		}()
		var seed [32]byte
		inv, o := p.inv, kernel.InvokeOptions{Seed: &seed, HoldsScopes: true}
		o.KeepTime(&inv)
		res.verdict, res.err = r.kernel.InvokeWith(ctx, inv, o)
	}()
	if err := r.kernel.Overran(); err != nil {
		return nil, err
	}
	res.events = r.store.last
	if r.taken != nil {
		chain := recording.ChainOf(r.taken.Chain)
		digest, err := chain.Digest()
		if err != nil {
			return nil, err
		}
		run, err := recording.RunOf(r.taken, digest)
		if err != nil {
			return nil, err
		}
		for i := range run.Turns {
			if p.fuel > 0 {
				run.Turns[i].Budget = p.fuel
			}
			for _, j := range p.inject {
				run.Turns[i].Injected = append(run.Turns[i].Injected,
					recording.Injected{Call: j.Call, Errno: int32(j.Errno), Long: j.Long})
			}
		}
		res.chain, res.rec = &chain, &run
	}
	return res, nil
}

// refuse takes an input that does not decode through the kernel's front door.
func (s *subject) refuse(ctx context.Context, p *plan, raw []byte, cause error) (*result, error) {
	r, done, err := s.rig(ctx, p)
	if err != nil {
		return nil, err
	}
	defer done()
	res := &result{}
	r.plan, r.res = p, res
	r.store.begin()
	res.verdict, res.err = r.kernel.Refuse(ctx,
		kernel.Refusal{Raw: raw, Fault: phases.NewFault(phases.KindProtocol, "the invocation is not valid", cause)})
	res.events = r.store.last
	return res, nil
}

// Run implements kernel.Hook: it stands between the kernel and the module.
func (r *rig) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	p := r.plan
	look := &lookContext{Context: ctx, at: p.look}
	seen := &sites{list: p.inject}
	t.Slice = p.slice
	if p.fuel > 0 {
		t.Fuel = p.fuel
	}
	t.Session = outside(p).attach(t.Session)
	t.Session.Inject = seen
	out, err := r.hook.Run(look, t)
	done := turn{
		pass: t.Session.Pass, looks: look.seen, sites: seen.seen, effects: out.Effects, writes: out.StateWrites,
		fuel: out.Fuel, peak: out.MemoryPeak, calls: out.Hostcalls,
		fail: out.FailText, detail: out.Detail,
	}
	if err != nil {
		if done.fault = phases.FaultOf(err); done.fault == nil {
			done.fault = phases.NewFault(phases.KindTrap, "the hook could not be run", err)
		}
	}
	r.res.turns = append(r.res.turns, done)
	out.Duration, out.Waited = 1, 0 // a clock's word counts nowhere
	return out, err
}

// Wants and Recorded implement kernel.Recorder.
func (r *rig) Wants(*phases.Invocation) bool  { return r.record }
func (r *rig) Recorded(rec *kernel.Recording) { r.taken = rec }
func (loaderFunc) String() string             { return "fuzz" }
func (clock) Now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
}
func (plain) Text(s string) (string, error)                           { return s, nil }
func (plain) JSON(v jsontext.Value) (jsontext.Value, []string, error) { return v, nil, nil }

type (
	clock struct{}
	plain struct{}

	loaderFunc func(context.Context, kernel.BindingSpec) (*kernel.Loaded, error)
)

func (f loaderFunc) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	return f(ctx, spec)
}

// sites notes the calls of a turn on their way, and makes the chosen ones fail.
type sites struct {
	list hostcalls.Injections
	seen []site
}

const maxSites = 1 << 12

// Inject implements hostcalls.Injector.
func (s *sites) Inject(n int, c *hostcalls.Call, a *hostcalls.Args) (hostcalls.Result, bool) {
	if len(s.seen) < maxSites {
		s.seen = append(s.seen, site{n, c})
	}
	return s.list.Inject(n, c, a)
}

// ledger is a store that keeps the last batch, and fails when the plan says so.
type ledger struct {
	kernel.Store
	rig   *rig
	tries int
	last  []phases.Event
}

func (l *ledger) begin() { l.tries, l.last = 0, nil }

func (l *ledger) RunState(context.Context, phases.RunKey, time.Time) (kernel.RunState, error) {
	if l.rig.plan == nil || len(l.rig.plan.carried) == 0 {
		return kernel.RunState{}, nil
	}
	return kernel.RunState{Version: 1, Metadata: l.rig.plan.carried}, nil
}

func (l *ledger) Latch(context.Context, kernel.SessionKey) (*kernel.Latch, error) { return nil, nil }

func (l *ledger) Commit(_ context.Context, b kernel.Batch) (kernel.Receipt, error) {
	fault := storeWorks
	if l.rig.plan != nil {
		fault = l.rig.plan.store
	}
	l.tries++
	switch {
	case fault == storeDown:
		return kernel.Receipt{}, kernel.ErrUnavailable
	case fault == storeConflicts && l.tries <= kernelTries, fault == storeConflictsOnce && l.tries == 1:
		return kernel.Receipt{}, kernel.ErrConflict
	}
	l.last = b.Events
	return kernel.Receipt{First: 1, Last: int64(len(b.Events))}, nil
}

func (l *ledger) Prune(context.Context, time.Time) (int, error) { return 0, nil }
