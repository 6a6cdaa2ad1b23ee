package fuzz

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// hostTime is the time of the kernel's clock: nothing here depends on it.
func hostTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

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
	rigs    map[rigKey]*planRig
}

type rigKey struct {
	config int
	memory int64
}

// planRig is a kernel with the hook in it. It is given one plan after the other.
type planRig struct {
	*rig.Rig
	hook   kernel.Hook // the module
	ledger *ledger
	plan   *plan
	res    *result
}

func (s *subject) close() {
	for _, r := range s.rigs {
		_ = r.Close() // nothing is kept in it
	}
}

// rig returns the kernel for a plan. The error is the one with which the hook could
// not be loaded. A kernel remembers that its store has failed: such a plan has one of
// its own, which done closes.
func (s *subject) rig(ctx context.Context, p *plan) (planRig *planRig, done func(), err error) {
	if p.store != storeWorks {
		if planRig, err = s.open(ctx, p); err != nil {
			return nil, nil, err
		}
		return planRig, func() { _ = planRig.Close() }, nil // nothing is kept in it
	}
	key := rigKey{p.config, p.memory}
	if planRig = s.rigs[key]; planRig == nil {
		if planRig, err = s.open(ctx, p); err != nil {
			return nil, nil, err
		}
		s.rigs[key] = planRig
	}
	return planRig, func() {}, nil
}

func (s *subject) open(ctx context.Context, p *plan) (*planRig, error) {
	r := &planRig{ledger: &ledger{}}
	spec := kernel.BindingSpec{Name: s.name, Config: s.configs[p.config]}
	spec.Budget.MemoryMiB = p.memory
	var err error
	r.Rig, err = rig.Open(ctx, rig.Options{
		Config: &kernel.Config{Revision: "fuzz", Bindings: []kernel.BindingSpec{spec}},
		Loader: rig.LoaderFunc(s.load), Store: rig.NewVolatile(r.carried, noLatch, r.commit), ID: seedID, Time: hostTime(),
		Ceiling: s.ceiling,
		Wrap: func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook {
			r.hook = l.Hook
			return r
		},
	})
	if err != nil {
		return nil, err
	}
	for _, h := range r.Hooks() {
		if h.Problem != "" {
			_ = r.Close()
			return nil, fmt.Errorf("%s: %s", h.Name, h.Problem)
		}
	}
	return r, nil
}

// load loads the target with the budget of a plan.
func (s *subject) load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	return s.bench.Load(ctx, loader.BenchHook{Name: spec.Name, Module: s.module, Tier: s.tier, Config: spec.Config,
		MemoryMiB: spec.Budget.MemoryMiB})
}

// exec runs a plan.
func (s *subject) exec(ctx context.Context, p *plan) (*result, error) {
	if s.tap != nil {
		s.tap(p)
	}
	return s.run(ctx, p, false)
}

// record runs a plan and records it.
func (s *subject) record(ctx context.Context, p *plan) (*result, error) { return s.run(ctx, p, true) }

func (s *subject) run(ctx context.Context, plan *plan, record bool) (res *result, err error) {
	planRig, done, err := s.rig(ctx, plan)
	if err != nil {
		return nil, err
	}
	defer done()
	res = &result{}
	planRig.plan, planRig.res = plan, res
	planRig.ledger.begin()
	func() {
		defer func() {
			if v := recover(); v != nil {
				res.panicked = fmt.Sprint(v)
			}
		}()
		res.verdict, res.err = planRig.Decide(ctx,
			rig.Case{Invocation: plan.inv, Options: kernel.InvokeOptions{HoldsScopes: true}, Record: record})
	}()
	if err := planRig.Overran(); err != nil {
		return nil, err
	}
	res.events = planRig.ledger.last
	if taken := planRig.Recorded(); taken != nil {
		chain := recording.ChainOf(taken.Chain)
		digest, err := chain.Digest()
		if err != nil {
			return nil, err
		}
		run, err := recording.RunOf(taken, digest)
		if err != nil {
			return nil, err
		}
		for i := range run.Turns {
			if plan.fuel > 0 {
				run.Turns[i].Budget = plan.fuel
			}
			for _, j := range plan.inject {
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
	r.ledger.begin()
	res.verdict, res.err = r.Refuse(ctx,
		kernel.Refusal{Raw: raw, Fault: phases.NewFault(phases.KindProtocol, "the invocation is not valid", cause)})
	res.events = r.ledger.last
	return res, nil
}

// Run implements kernel.Hook: it stands between the kernel and the module.
func (r *planRig) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
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
		fail: out.FailText, detail: out.Detail, unsure: slices.ContainsFunc(out.Logs, unsureLog),
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

// unsureLog reports whether a line is how a hook says that it asks because it cannot tell.
func unsureLog(l hostcalls.LogEntry) bool { return strings.HasPrefix(l.Text, phases.CannotTellLog) }

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

// ledger holds the batch of the last commit, and how often the plan at hand was committed.
type ledger struct {
	tries int
	last  []phases.Event
}

func (l *ledger) begin() { l.tries, l.last = 0, nil }

// carried is the state of the run that the plan has.
func (r *planRig) carried() kernel.RunState {
	if r.plan == nil || len(r.plan.carried) == 0 {
		return kernel.RunState{}
	}
	return kernel.RunState{Version: 1, Metadata: r.plan.carried}
}

func noLatch(wire.Session) *kernel.Latch { return nil }

// commit fails when the plan says so.
func (r *planRig) commit(batch kernel.Batch) error {
	fault := storeWorks
	if r.plan != nil {
		fault = r.plan.store
	}
	r.ledger.tries++
	switch {
	case fault == storeDown:
		return kernel.ErrUnavailable
	case fault == storeConflicts && r.ledger.tries <= kernelTries,
		fault == storeConflictsOnce && r.ledger.tries == 1:
		return kernel.ErrConflict
	}
	r.ledger.last = batch.Events
	return nil
}
