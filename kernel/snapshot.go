package kernel

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// ErrConfig is the class of configurations that cannot be taken into use at all.
var ErrConfig = errors.New("kernel: configuration not usable")

// snapshot is one configuration with everything in it loaded. It does not change.
type snapshot struct {
	revision  string
	bindings  []*binding // in the order in which they run
	index     *index     // of bindings
	require   []require
	ceiling   phases.Scopes
	budget    time.Duration
	raw       bool                    // results of tools are not redacted for hooks
	noTools   bool                    // of Config
	judges    func(phases.Phase) bool // likewise
	changed   bool                    // of Config: LatchChangedCalls
	reconcile bool                    // of Config: LatchReconcile
	rest      rest

	requireLease []RequireLease
	leaseRules   []leaseRule
	maxLease     time.Duration

	approvals approvals.Settings
	authority queue.Authority

	// users counts invocations that run with the snapshot, so that modules are
	// closed after the last one. It begins with one for being the current one.
	mu      sync.Mutex
	users   int
	closers []func() error

	required  []Require // as configured
	describe  sync.Once
	described *RecordedChain
}

// binding is one hook, ready to run or known to have failed.
type binding struct {
	spec     BindingSpec
	index    int // in the configuration
	place    int // in the order in which the hooks run
	mode     phases.Mode
	loaded   *Loaded       // nil when fault is set
	fault    *phases.Fault // why it could not be loaded
	trust    bool          // fault is about trust
	tier     phases.Tier
	digest   string
	phases   []phases.Phase // nil: every phase (a hook that could not be loaded)
	tools    *phases.Matcher
	agents   *phases.Matcher
	runtimes []string
	fuel     int64
	timeout  time.Duration
	config   string         // digest of the configuration
	document *phases.Strict // the configuration
	ahead    bool           // imports nothing from the calls group: may run ahead
	watched  bool           // a turn may ignore its deadline
	judges   bool           // can block or ask
	redacts  bool           // the record redacts what its rewrites take out
	granted  hostcalls.Grants
	rewrite  []string
	grants   map[phases.EffectKind]bool
}

type require struct {
	phases []phases.Phase
	tools  *phases.Matcher
	hooks  []string
}

// newSnapshot loads everything that the configuration names. A hook that cannot
// be loaded is kept as one that fails; only a configuration that contradicts
// itself is an error.
func newSnapshot(ctx context.Context, cfg *Config, loader Loader, terminal ed25519.PublicKey) (*snapshot, error) {
	snap := &snapshot{revision: cfg.Revision, ceiling: cfg.Ceiling.Clone(), budget: cfg.ChainBudget,
		raw:     cfg.RawToolResults,
		noTools: cfg.NoTools, changed: cfg.LatchChangedCalls, reconcile: cfg.LatchReconcile,
		judges: cfg.Judges, users: 1, required: cfg.Require}
	snap.approvals = queue.WithDefaults(cfg.Approvals)
	snap.authority = queue.Authority{Reviewers: cfg.Reviewers, Unsigned: cfg.Approvals.Unsigned,
		Terminal: terminal}
	if snap.budget <= 0 {
		snap.budget = defaultChainBudget
	}
	if err := cfg.Ceiling.Validate(); err != nil {
		return nil, fmt.Errorf("%w: scopes: %w", ErrConfig, err)
	}
	names := map[string]bool{}
	for i := range cfg.Bindings {
		spec := cfg.Bindings[i]
		if spec.Name == "" || names[spec.Name] {
			return nil, fmt.Errorf("%w: binding %d: the name %q is empty or taken", ErrConfig, i, spec.Name)
		}
		names[spec.Name] = true
	}
	for _, r := range cfg.Require {
		q := require{phases: r.Phases, hooks: r.Hooks}
		var err error
		if q.tools, err = phases.CompileTools(r.Tools, true); err != nil {
			return nil, fmt.Errorf("%w: require: %w", ErrConfig, err)
		}
		snap.require = append(snap.require, q)
	}
	var err error
	if snap.rest, err = newRest(cfg); err != nil {
		return nil, err
	}
	if err := snap.setLeases(cfg); err != nil {
		return nil, err
	}
	for i := range cfg.Bindings {
		b := load(ctx, cfg.Bindings[i], i, loader)
		snap.bindings = append(snap.bindings, b)
		if b.loaded != nil && b.loaded.Close != nil {
			snap.closers = append(snap.closers, b.loaded.Close)
		}
	}
	slices.SortStableFunc(snap.bindings, func(a, b *binding) int {
		return cmp.Or(cmp.Compare(b.spec.Priority, a.spec.Priority), cmp.Compare(trustedFirst(a), trustedFirst(b)),
			cmp.Compare(a.index, b.index))
	})
	snap.index = newIndex(snap.bindings)
	return snap, nil
}

func trustedFirst(b *binding) int {
	if b.tier == phases.Trusted {
		return 0
	}
	return 1
}

func load(ctx context.Context, spec BindingSpec, index int, loader Loader) *binding {
	b := &binding{spec: spec, index: index, mode: cmp.Or(spec.Mode, phases.Enforce), tier: phases.Sandboxed,
		digest: spec.Digest}
	b.phases = slices.Clone(spec.Phases)
	fail := func(text string, err error) *binding {
		f := phases.FaultOf(err)
		if f == nil || f.Kind == "" || f.Kind == phases.KindPolicy {
			f = phases.NewFault(phases.KindLoad, text, err)
		}
		b.fault, b.trust = f, errors.Is(err, ErrTrust)
		if b.loaded != nil && b.loaded.Close != nil {
			_ = b.loaded.Close() // it never ran
		}
		b.loaded = nil
		return b
	}
	b.setMatch(spec.Match) // also for a hook that fails: it blocks the invocations that it would have seen
	loaded, err := safeLoad(ctx, loader, spec)
	if err != nil {
		return fail("a hook could not be loaded", err)
	}
	b.loaded, b.digest, b.tier = loaded, loaded.Digest, loaded.Tier
	if spec.Priority >= TrustedPriority && loaded.Tier != phases.Trusted {
		return fail(fmt.Sprintf("a hook has a priority of %d or more, which only trusted hooks may have", TrustedPriority),
			ErrTrust)
	}
	if spec.Tier.Rank() > loaded.Tier.Rank() {
		return fail("a hook is bound as "+string(spec.Tier)+" and is not", ErrTrust)
	}
	if len(b.phases) == 0 {
		b.phases = slices.Clone(loaded.Phases)
	}
	for _, p := range b.phases {
		if !slices.Contains(loaded.Phases, p) {
			return fail("a hook is bound to a phase that it does not serve", fmt.Errorf("%s: %s", spec.Name, p))
		}
	}
	if spec.Match == nil {
		b.setMatch(&loaded.Match)
	}
	if b.fault != nil {
		return fail(b.fault.Text, b.fault)
	}
	if spec.Config != nil {
		if b.config, err = phases.Digest(spec.Config); err != nil {
			return fail("a hook's configuration is not valid", err)
		}
		b.document, _ = phases.NewStrict(spec.Config, phases.MaxDocumentBytes) // nil: each turn says what is wrong
	}
	b.fuel = FuelOf(spec.Budget, loaded.Budget)
	b.timeout = defaultHookTimeout
	if ms := cmp.Or(spec.Budget.DeadlineMS, loaded.Budget.DeadlineMS); ms > 0 {
		b.timeout = time.Duration(min(ms, maxHookTimeout.Milliseconds())) * time.Millisecond
	}
	if b.granted, err = hostcalls.ParseGrants(loaded.Capabilities); err != nil {
		return fail("a granted capability is not valid", err)
	}
	b.rewrite, b.grants = phases.GrantsOf(loaded.Capabilities)
	b.judges = slices.Contains(loaded.Imports, "block") || slices.Contains(loaded.Imports, "request_approval")
	b.redacts = slices.Contains(loaded.Imports, "find_secrets")
	if spec.Redacts != nil {
		b.redacts = *spec.Redacts
	}
	b.ahead, b.watched = true, !loaded.EndsItself
	for _, name := range loaded.Imports {
		c, ok := hostcalls.Lookup(name)
		b.ahead = b.ahead && ok && c.Group != hostcalls.GroupCalls
		b.watched = b.watched || !ok || c.Waits
	}
	return b
}

func safeLoad(ctx context.Context, loader Loader, spec BindingSpec) (l *Loaded, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	l, err = loader.Load(ctx, spec)
	if err == nil && (l == nil || l.Hook == nil) {
		err = errors.New("the loader answered nothing")
	}
	return l, err
}

// setMatch compiles the matchers. When one is not valid the hook fails, and
// everything that could not be compiled matches everything.
func (b *binding) setMatch(m *tiers.Match) {
	all, _ := phases.CompileNames("")
	b.tools, b.agents, b.runtimes = all, all, nil
	if m == nil {
		return
	}
	b.runtimes = m.Runtimes
	tools, errTools := phases.CompileTools(m.Tools, m.Any)
	agents, errAgents := phases.CompileNames(m.Agents)
	if err := errors.Join(errTools, errAgents); err != nil {
		b.fault = phases.NewFault(phases.KindLoad, "a hook's matcher is not valid", err)
		return
	}
	b.tools, b.agents = tools, agents
}

// matches reports whether the hook is asked about the invocation, whose tool has the name. A matcher
// on tools counts only where the action is about a tool.
func (b *binding) matches(inv *phases.Invocation, tool string) bool {
	if b.phases != nil && !slices.Contains(b.phases, inv.Phase) {
		return false
	}
	if len(b.runtimes) > 0 && !slices.Contains(b.runtimes, inv.Runtime) {
		return false
	}
	if !b.agents.Match(inv.Agent) {
		return false
	}
	return inv.Phase != phases.PreTool && inv.Phase != phases.PostTool || b.tools.Match(tool)
}

func (b *binding) mutates(p phases.Phase) bool {
	return b.loaded != nil && slices.Contains(b.loaded.Mutates, p)
}

func (b *binding) actor(p phases.Phase) phases.Actor {
	return phases.Actor{
		Hook: b.spec.Name, Digest: b.digest, ConfigDigest: b.config, Tier: b.tier, Mode: b.mode,
		Apart: b.spec.Apart, Mutator: b.mutates(p), Rewrite: b.rewrite, Grants: b.grants,
	}
}

// acquire counts a user; false means that the snapshot is closed already.
func (s *snapshot) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return false
	}
	s.users++
	return true
}

// release gives the snapshot back and closes its modules after the last user.
func (s *snapshot) release() error {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if !last {
		return nil
	}
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// releaseSnapshot releases a snapshot that acquire returned. Its last user closes the hooks of a
// configuration that was replaced.
func (k *Kernel) releaseSnapshot(ctx context.Context, s *snapshot) {
	if err := s.release(); err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "a hook could not be closed", slog.Any("error", err))
	}
}
