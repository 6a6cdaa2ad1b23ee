package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// maxRigs is how many configurations stay open at once in one worker.
const maxRigs = 16

// Options are the modules of a replay, and which differences count.
type Options struct {
	Bench *loader.Bench // loads modules; closed by the caller, after the Replayer
	// Modules are files at hand by their digests, beside those that the bench finds.
	Modules   map[string][]byte
	Mode      Mode       // "": Exact without a Candidate, Decision with one
	Candidate *Candidate // nil: the recorded hooks themselves
	Workers   int        // of All; 0 means as many as there are processors

	// Ceiling is what one turn may take by the clock; 0 means kernel.ToolCeiling. A replay
	// whose turn takes longer is ErrRefused and kernel.ErrOverran, never a difference.
	Ceiling time.Duration
}

// Replayer replays invocations. One Replayer is used by one goroutine; All makes
// as many as it needs.
type Replayer struct {
	o    Options
	rigs map[string]*rigged
	age  []string // digests of chains, least recently used first
}

// rigged is a configuration that is open.
type rigged struct {
	*chainRig
	chain *recording.Chain // as recorded; nil for one that no recording names
}

// New checks the options.
func New(o Options) (*Replayer, error) {
	if o.Mode == "" {
		o.Mode = Exact
		if o.Candidate != nil {
			o.Mode = Decision
		}
	}
	if !o.Mode.Valid() {
		return nil, &Error{Class: ErrRefused, Text: "unknown comparison " + phases.SafeLine(string(o.Mode), 40),
			Hint: "exact, decision or budget"}
	}
	if o.Candidate != nil {
		if err := o.Candidate.check(); err != nil {
			return nil, err
		}
		if o.Mode == Exact && o.Candidate.Policy != "" {
			return nil, &Error{Class: ErrRefused, Text: "another configuration cannot be compared call by call",
				Hint: "Compare decisions: --compare decision."}
		}
	}
	return &Replayer{o: o, rigs: map[string]*rigged{}}, nil
}

// Mode returns the mode in use.
func (r *Replayer) Mode() Mode { return r.o.Mode }

// Close closes the kernels.
func (r *Replayer) Close() error {
	var errs []error
	for _, g := range r.rigs {
		errs = append(errs, g.Close())
	}
	r.rigs = map[string]*rigged{}
	return errors.Join(errs...)
}

// Admit says whether a recording can be replayed in this mode at all.
func (r *Replayer) Admit(h recording.Header) error {
	exact := r.o.Mode != Decision
	switch {
	case h.Redacted && (exact || r.o.Candidate == nil):
		return &Error{Class: ErrRefused, Text: "it was made from stored events: it holds decisions and no calls",
			Hint: "Hold a candidate against it: --hook FILE.wasm or --policy belay.yaml."}
	case exact && h.CostTable != loader.CostTable:
		return &Error{Class: ErrRefused,
			Text: fmt.Sprintf("its fuel was counted by cost table %d, and this belay counts by %d", h.CostTable,
				loader.CostTable), Hint: "Compare decisions: --compare decision."}
	}
	return nil
}

// Replay runs one invocation again. chain is the one that the run names, nil for a
// redacted run. The error says that it could not be run: ErrModule, ErrCandidate or
// ErrRefused.
func (r *Replayer) Replay(ctx context.Context, run *recording.Run, chain *recording.Chain) (*Result, error) {
	inv, err := run.Decode()
	if err != nil {
		return nil, &Error{Class: ErrRefused, Text: "the invocation is not valid: " + err.Error(), Cause: err}
	}
	g, err := r.rig(ctx, run.Chain, chain)
	if err != nil {
		return nil, err
	}
	res := &Result{Invocation: inv, Base: run.Chained}
	t := &turnTable{run: run, inv: inv, res: res, used: make([]bool, len(run.Turns))}
	if t.seed, err = seedOf(run.Seed); err != nil {
		return nil, &Error{Class: ErrRefused, Text: "its seed is not valid", Cause: err}
	}
	g.now = t
	defer func() { g.now = nil }()
	v, verr := g.Decide(ctx, rig.Case{Invocation: inv, Options: run.Options.InvokeOptions(), Seed: t.seed,
		Clock: inv.Time, Record: true})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := g.Overran(); err != nil {
		return nil, r.overran(err)
	}
	if t.got = g.Recorded(); t.got == nil { // it was refused before any hook could be asked
		res.Now = recording.VerdictOf(&v)
		res.differ(WhatDecision, "decision", decisionText(&res.Base), fmt.Sprintf("%s (%v)", decisionText(&res.Now), verr))
		return res, nil
	}
	res.Now = recording.VerdictOf(&t.got.Chained)
	holdTool(t, run.Reach)
	if chain == nil {
		joinRedacted(res, r.o.Candidate)
	}
	switch err := r.auditTurns(ctx, g, t); {
	case errors.Is(err, kernel.ErrOverran):
		return nil, r.overran(err)
	case err != nil:
		return nil, err
	}
	t.sides(chain)
	if g.exact {
		t.missed()
		t.order()
	}
	compareVerdicts(res, &res.Base, &res.Now, g.exact)
	if r.o.Mode == Budget {
		compareBudgets(res)
	}
	return res, nil
}

// overran is the error for a turn that took too long. The open kernels are not used again:
// the turn may still run.
func (r *Replayer) overran(err error) error {
	r.rigs, r.age = map[string]*rigged{}, nil
	return &Error{Class: ErrRefused, Text: err.Error(), Cause: err,
		Hint: "The hook or a call of it hangs, or the machine is far too slow: run it again."}
}

// holdTool holds a tool that a hook asked for to its scopes, as the kernel does beside the
// hooks.
func holdTool(t *turnTable, reach *phases.Scopes) {
	if v := &t.got.Chained; reach != nil && v.Decision != phases.Block {
		inv := t.inv
		inv.Scopes = *reach
		if err := phases.CheckScopes(inv, v.Action, v.Scopes); err != nil {
			t.res.Now = recording.Verdict{
				Decision: phases.Block, Kind: phases.KindPolicy, DecidedBy: "belay", Reason: "the action is outside of its scopes",
				Action: v.Action, Changed: t.res.Now.Changed, Scopes: v.Scopes, Metadata: t.res.Now.Metadata,
				Contexts: t.res.Now.Contexts, Artifacts: t.res.Now.Artifacts, Notes: t.res.Now.Notes,
			}
			var outside interface{ Fault() *phases.Fault }
			if errors.As(err, &outside) {
				t.res.Now.Kind, t.res.Now.Reason = outside.Fault().Kind, outside.Fault().Text
			}
		}
	}
}

// joinRedacted combines the candidate's decision with the recorded one, which is all that a
// redacted run holds of the other hooks.
func joinRedacted(res *Result, c *Candidate) {
	if c == nil || c.Policy != "" {
		return
	}
	replaced := slices.ContainsFunc(c.Hooks, func(h Hook) bool { return h.Name == res.Base.DecidedBy })
	if replaced {
		return
	}
	rank := map[phases.Decision]int{phases.Allow: 0, phases.Ask: 1, phases.Block: 2}
	if rank[res.Base.Decision] >= rank[res.Now.Decision] {
		res.Now = res.Base
	}
}

// auditTurns runs the audit hooks on the records that they were shown. A hook that
// fails there blocks the action.
func (r *Replayer) auditTurns(ctx context.Context, g *rigged, t *turnTable) error {
	if g.chain == nil {
		return nil
	}
	for i := range t.run.Turns {
		rec := &t.run.Turns[i]
		if rec.Pass != phases.PassAudit || !rec.Ran {
			continue
		}
		n := slices.IndexFunc(g.chain.Bindings, func(b recording.Binding) bool { return b.Name == rec.Binding })
		h := g.hooks[rec.Binding]
		if h == nil || n < 0 || !slices.Contains(h.loaded.Phases, phases.Audit) {
			continue // the candidate has no such hook any more
		}
		before := len(t.res.Differences)
		out, err := t.auditTurn(ctx, h, &g.chain.Bindings[n], g.chain.Home, rec, cmp.Or(r.o.Ceiling, kernel.ToolCeiling))
		if errors.Is(err, kernel.ErrOverran) {
			return err
		}
		if g.exact || len(t.res.Differences) > before {
			continue
		}
		at := where(rec.Binding, phases.PassAudit)
		was, is := rec.Fault != nil, err != nil
		switch {
		case was != is:
			t.res.differ(WhatDecision, at, faultText(rec.Fault), errText(err))
		case !is && jsonOf(out.Effects) != jsonOf(rec.Outcome.Effects) && len(out.Effects)+len(rec.Outcome.Effects) > 0:
			t.res.differ(WhatVerdict, at+", what is covered", jsonOf(rec.Outcome.Effects), jsonOf(out.Effects))
		}
	}
	return nil
}

func faultText(f *recording.Fault) string {
	if f == nil {
		return "the record is kept"
	}
	return "blocked: " + f.Text
}

func errText(err error) string {
	if err == nil {
		return "the record is kept"
	}
	if f := phases.FaultOf(err); f != nil {
		return "blocked: " + f.Text
	}
	return "blocked: the hook could not be run"
}

// compareBudgets counts fuel and memory that changed.
func compareBudgets(res *Result) {
	for _, t := range res.Turns {
		if t.Base == nil || t.Now == nil || t.NotCompare {
			continue
		}
		at := where(t.Hook, t.Pass)
		if t.Base.Fuel != t.Now.Fuel {
			res.differ(WhatFuel, at, fmt.Sprint(t.Base.Fuel), fmt.Sprint(t.Now.Fuel))
		}
		if t.Base.MemoryPeak != t.Now.MemoryPeak {
			res.differ(WhatMemory, at, fmt.Sprint(t.Base.MemoryPeak), fmt.Sprint(t.Now.MemoryPeak))
		}
	}
}

// rig returns the kernel for a chain, opened if need be.
func (r *Replayer) rig(ctx context.Context, digest string, chain *recording.Chain) (*rigged, error) {
	if i := slices.Index(r.age, digest); i >= 0 {
		if i != len(r.age)-1 {
			r.age = append(slices.Delete(r.age, i, i+1), digest)
		}
		return r.rigs[digest], nil
	}
	if len(r.age) == maxRigs {
		old := r.age[0]
		r.age = r.age[1:]
		err := r.rigs[old].Close()
		delete(r.rigs, old)
		if err != nil {
			return nil, err
		}
	}
	g, err := r.open(ctx, chain)
	if err != nil {
		return nil, err
	}
	r.rigs[digest], r.age = g, append(r.age, digest)
	return g, nil
}

func (r *Replayer) open(ctx context.Context, chain *recording.Chain) (*rigged, error) {
	c := r.o.Candidate
	exact := r.o.Mode == Exact
	if c != nil && c.Policy != "" {
		return r.openPolicy(ctx, chain)
	}
	named := chain
	if chain == nil { // redacted: nothing but the candidate is known
		if c == nil {
			return nil, &Error{Class: ErrRefused, Text: "a run without a configuration, and no candidate"}
		}
		named = &recording.Chain{Revision: "none"}
	}
	swap, added := map[string]*Hook{}, []*Hook(nil)
	if c != nil {
		swap, added = c.split(named)
	}
	if exact {
		if err := sameDigests(named, swap, added); err != nil {
			return nil, err
		}
	}
	if err := r.atHand(named, swap); err != nil {
		return nil, err
	}
	load := &recordedLoader{bench: r.o.Bench, chain: named, find: r.find, swap: swap}
	g, err := openRig(ctx, rig.Options{Config: configOf(named, swap, added), Loader: load, Home: named.Home,
		UnsafeFailOpen: named.UnsafeFailOpen, Ceiling: r.o.Ceiling}, exact, sameAs(named))
	if err != nil {
		return nil, &Error{Class: ErrCandidate, Text: phases.SafeLine(err.Error(), 300), Cause: err}
	}
	if err := g.loadFailed(named); err != nil {
		_ = g.Close()
		return nil, &Error{Class: ErrCandidate, Text: phases.SafeLine(err.Error(), 600), Cause: err}
	}
	return &rigged{chainRig: g, chain: named}, nil
}

func (r *Replayer) openPolicy(ctx context.Context, chain *recording.Chain) (*rigged, error) {
	cfg, load, err := r.o.Bench.Policy(r.o.Candidate.Policy)
	if err != nil {
		return nil, &Error{Class: ErrCandidate, Text: phases.SafeLine(err.Error(), 300), Cause: err}
	}
	home := ""
	if chain != nil {
		home = chain.Home
	} else {
		chain = &recording.Chain{}
	}
	g, err := openRig(ctx, rig.Options{Config: cfg, Loader: load, Home: home, Ceiling: r.o.Ceiling}, false,
		sameAs(chain))
	if err != nil {
		return nil, &Error{Class: ErrCandidate, Text: phases.SafeLine(err.Error(), 300), Cause: err}
	}
	return &rigged{chainRig: g, chain: chain}, nil
}

// sameAs says whether a hook is the one that was recorded.
func sameAs(chain *recording.Chain) func(name, digest string, config []byte) bool {
	return func(name, digest string, config []byte) bool {
		i := slices.IndexFunc(chain.Bindings, func(b recording.Binding) bool { return b.Name == name })
		return i >= 0 && chain.Bindings[i].Digest == digest && sameJSON(config, jsonValue(chain.Bindings[i].Config))
	}
}

// sameDigests refuses to compare two different modules call by call.
func sameDigests(chain *recording.Chain, swap map[string]*Hook, added []*Hook) error {
	for _, h := range added {
		return &Error{Class: ErrRefused, Text: fmt.Sprintf("no recorded hook is called %q", h.Name),
			Hint: "Compare decisions to add a hook: --compare decision. --hook FILE,name=BINDING says which one it replaces."}
	}
	for _, b := range chain.Bindings {
		h := swap[b.Name]
		if h == nil {
			continue
		}
		if got := phases.ByteDigest(h.Module); got != b.Digest {
			return &Error{Class: ErrRefused,
				Text: fmt.Sprintf("hook %s was recorded as %s, and the file is %s", b.Name, b.Digest, got),
				Hint: "Compare decisions to hold another version against it: --compare decision."}
		}
	}
	return nil
}

// atHand says at once which recorded modules are missing.
func (r *Replayer) atHand(chain *recording.Chain, swap map[string]*Hook) error {
	var missing []string
	for _, b := range chain.Bindings {
		if b.Failure != nil || swap[b.Name] != nil {
			continue
		}
		if _, err := r.find(b.Digest); err != nil {
			missing = append(missing, b.Name+" ("+b.Digest+")")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &Error{Class: ErrModule, Text: strings.Join(missing, ", "),
		Hint: "Give the file with --module FILE.wasm, or a state directory that has it with --state DIR."}
}

func (r *Replayer) find(digest string) ([]byte, error) {
	if m, ok := r.o.Modules[digest]; ok {
		return m, nil
	}
	return r.o.Bench.Find(digest)
}
