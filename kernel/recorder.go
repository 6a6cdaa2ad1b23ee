package kernel

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Recorder is given everything that invocations were decided from, complete and not redacted, so
// that they can be run again. It decides nothing: it changes no verdict and no event, and when
// it panics, the kernel only logs that. It is called where a caller waits for an answer, so that
// it must not wait for anything itself. Safe for concurrent use.
//
// A Recording holds secrets: it belongs into no log, and not into the state directory.
type Recorder interface {
	// Wants says whether the invocation is to be recorded. It is asked once, before
	// anything is decided; nothing is spent on an invocation that is not wanted.
	Wants(inv *phases.Invocation) bool

	// Recorded is given an invocation whose event has been written, before the
	// verdict is released. Invocations that were refused before any hook could be
	// asked do not come here. Nothing in it may be changed.
	Recorded(r *Recording)
}

// Recording is one invocation with everything that it was decided from.
type Recording struct {
	Invocation phases.Invocation // with its id and time
	Options    InvokeOptions     // without Seed
	Seed       [32]byte
	Chain      *RecordedChain // the configuration; the same for all invocations under it
	Run        RunState       // metadata and retries carried along the run, as they were read
	Latch      *Latch         // of the session, as it was read
	Turns      []RecordedTurn // that counted, in the order in which they did

	// Reach is what the tool can touch that the invocation stands for; nil for one that
	// a runtime asked about. The kernel itself holds such a call to its scopes.
	Reach *phases.Scopes

	// Chained is what the hooks came to, before anything that is not theirs: how it
	// is enforced, what audit redacted, what the store said. Its Hooks are empty.
	Chained phases.Verdict

	// Verdict is the released one. It must not be changed.
	Verdict *phases.Verdict
}

// RecordedChain is a configuration with everything in it loaded.
type RecordedChain struct {
	Revision       string
	Ceiling        phases.Scopes
	ChainBudget    time.Duration
	Require        []Require
	Home           string
	UnsafeFailOpen bool
	Bindings       []RecordedBinding // in the order of the configuration
}

// RecordedBinding is one hook as it was in force.
type RecordedBinding struct {
	Name     string
	Digest   string
	Version  string
	Tier     phases.Tier
	Signer   string
	Mode     phases.Mode
	Priority int
	Phases   []phases.Phase // nil: every phase (a hook that could not be loaded)
	Mutates  []phases.Phase
	Imports  []string
	Held     []string // capabilities
	Allowed  []string // by the operator; nil: all that it declares
	Match    tiers.Match
	Config   []byte // JSON; nil: none
	State    string // namespace; "" means Name
	Apart    bool   // what it annotates is kept apart
	Fuel     int64
	Timeout  time.Duration
	Budget   tiers.Budget // what the operator gave
	Notes    []string

	// Failure is why it could not be loaded; nil when it was. Trust: the failure
	// is about trust.
	Failure *phases.Fault
	Trust   bool
}

// RecordedTurn is one call of one hook.
type RecordedTurn struct {
	Binding string
	Pass    phases.Pass
	Input   []byte // the document that it saw
	Action  []byte // the action alone
	Seed    [32]byte
	Budget  int64            // fuel that it was given
	Trace   *hostcalls.Trace // nil when the hook did not run
	Outcome Outcome          // Duration apart, the same whenever it is run again
	Fault   *phases.Fault    // why it failed by itself; nil when it did not
	Report  phases.HookReport
}

// recording collects one invocation. The zero value records nothing.
type recording struct {
	by    Recorder
	log   *slog.Logger
	turns []RecordedTurn
}

// startRecording asks whether the invocation is wanted.
func (k *Kernel) startRecording(inv *phases.Invocation) (r recording) {
	if k.options.Recorder == nil {
		return r
	}
	r.log = k.options.Logger
	defer r.guard()
	if k.options.Recorder.Wants(inv) {
		r.by = k.options.Recorder
	}
	return r
}

func (r *recording) on() bool { return r.by != nil }

// restart drops the turns of the attempt before.
func (r *recording) restart() { r.turns = nil }

func (r *recording) guard() {
	if p := recover(); p != nil {
		r.by = nil
		r.log.Error("panic in a recorder", slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	}
}

// turn takes a turn that counts.
func (r *recording) turn(b *binding, pass phases.Pass, t *turnResult, rep *phases.HookReport) {
	if !r.on() {
		return
	}
	rec := RecordedTurn{
		Binding: b.spec.Name, Pass: pass, Input: t.input, Action: t.action, Seed: t.seed, Budget: t.budget, Trace: t.trace,
		Outcome: t.outcome, Fault: t.fault, Report: *rep,
	}
	rec.Outcome.Notes = t.ownNotes // what the kernel says of its calls comes again with them
	r.turns = append(r.turns, rec)
}

// done hands over the invocation.
func (r *recording) done(i *invocation, run RunState, latch *Latch, chained phases.Verdict, v *phases.Verdict) {
	if !r.on() {
		return
	}
	defer r.guard()
	o := i.options
	o.Seed, o.Credential, o.HookClock = nil, "", nil // the clock is the time of the invocation
	kept := released(*v)                             // the caller may write into its own
	var reach *phases.Scopes
	if i.call != nil {
		reach = &i.call.reach
	}
	r.by.Recorded(&Recording{
		Invocation: i.inv, Options: o, Seed: i.seed, Chain: i.snap.recorded(i.kernel), Run: run, Latch: latch,
		Turns: r.turns, Reach: reach, Chained: chained, Verdict: &kept,
	})
}

// chainedVerdict copies the hooks' verdict, so that later steps do not change it.
func chainedVerdict(v *phases.Verdict) phases.Verdict {
	c := *v
	c.Hooks, c.Notes, c.Changed = nil, slices.Clone(v.Notes), slices.Clone(v.Changed)
	c.Metadata = cloneMetadata(v.Metadata)
	return c
}

func cloneMetadata(m phases.Metadata) phases.Metadata {
	out := make(phases.Metadata, len(m))
	for k, e := range m {
		out[k] = e
	}
	return out
}

// recorded describes the snapshot, once.
func (s *snapshot) recorded(k *Kernel) *RecordedChain {
	s.describe.Do(func() {
		c := &RecordedChain{
			Revision: s.revision, Ceiling: s.ceiling, ChainBudget: s.budget, Home: k.options.Home,
			UnsafeFailOpen: k.options.UnsafeFailOpen,
			Require:        s.required,
		}
		c.Bindings = make([]RecordedBinding, len(s.bindings))
		for _, b := range s.bindings {
			c.Bindings[b.index] = b.recorded()
		}
		s.described = c
	})
	return s.described
}

func (b *binding) recorded() RecordedBinding {
	binding := RecordedBinding{
		Name: b.spec.Name, Digest: b.digest, Tier: b.tier, Mode: b.mode, Priority: b.spec.Priority, Phases: b.phases,
		Config: b.spec.Config, State: b.spec.State, Apart: b.spec.Apart, Allowed: b.spec.Allowed, Fuel: b.fuel,
		Timeout: b.timeout,
		Budget:  b.spec.Budget, Failure: b.fault, Trust: b.trust,
	}
	if b.spec.Match != nil {
		binding.Match = *b.spec.Match
	}
	if l := b.loaded; l != nil {
		binding.Version, binding.Signer, binding.Mutates, binding.Imports, binding.Held, binding.Notes = l.Version, l.Signer,
			l.Mutates, l.Imports,
			l.Capabilities, l.Notes
		if b.spec.Match == nil {
			binding.Match = l.Match
		}
	}
	return binding
}
