package belay

import (
	"context"
	"errors"
	"strings"

	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Status says whether belay can do its work.
type Status struct {
	Dir      string         `json:"dir"`
	Store    string         `json:"store"`                 // the state directory's name in the statements of reviewers
	Revision string         `json:"revision"`              // of configuration and trust policy in use, as in verdicts
	Engine   string         `json:"engine"`                // compiler or interpreter
	Compile  string         `json:"compile"`               // CompileApart or CompileHere
	LastSeq  int64          `json:"last_seq"`              // number of the newest event
	Gone     int64          `json:"compacted,omitzero"`    // events 1 to this number have no contents any more
	GoneBy   int64          `json:"compacted_by,omitzero"` // the event that announces that
	Healthy  bool           `json:"healthy"`               // false: every action is blocked
	Health   Health         `json:"health"`                // the same in three steps
	Problems []string       `json:"problems"`              // why it is not healthy
	Warnings []string       `json:"warnings"`              // why it is degraded
	Sinks    []SinkStatus   `json:"sinks"`
	Latches  []kernel.Latch `json:"latches"`
	Unheld   int            `json:"unheld,omitzero"` // see kernel.Unheld
	// LeftBehind names the hooks that ignored their deadline and still run: they block until that has ended.
	LeftBehind []string `json:"left_behind,omitzero"`

	// Unsigned counts the revisions of belay.yaml and trust.yaml that came into force
	// without a reviewer's signature.
	Unsigned kernel.UnsignedRevisions `json:"unsigned_revisions,omitzero"`
}

// Where modules that do not come with belay are compiled.
const (
	CompileApart = "apart" // in a process with limits of time and memory: see Options.Compiler
	CompileHere  = "here"  // in this process, by estimate alone
)

// Health is how well belay can do its work.
type Health string

const (
	HealthOK       Health = "ok"
	HealthDegraded Health = "degraded" // actions are decided; a sink that is not durable fails
	HealthFailing  Health = "failing"  // every action is blocked
)

// Status tries the store and every sink, also for writing, and lists what is wrong.
// When they work again after a failure, that is put on record here at the latest.
// The error is kernel.ErrUnavailable: not even that could be found out, and what is
// known of the status stands beside it.
func (b *Belay) Status(ctx context.Context) (Status, error) {
	b.mu.Lock()
	s := Status{Dir: b.dir, Store: b.live.StoreID(), Revision: b.revision(), Engine: "interpreter", Healthy: true, Health: HealthOK, Problems: []string{}, Warnings: []string{}, Latches: []kernel.Latch{}}
	bad := b.bad
	b.mu.Unlock()
	if s.Compile = CompileHere; b.loader.Isolated() {
		s.Compile = CompileApart
	}
	if sandbox.Compiles() {
		s.Engine = "compiler"
	} else if sandbox.HasCompiler() {
		s.Warnings = append(s.Warnings, "hooks run on the interpreter, about 40 times slower: memory may not be made executable here")
	}
	problem := func(text string) {
		s.Healthy, s.Health = false, HealthFailing
		s.Problems = append(s.Problems, text)
	}
	if bad != nil {
		problem(bad.Error())
	}
	s.Sinks = b.sinkStates(ctx)
	for _, k := range s.Sinks {
		switch {
		case k.OK:
		case k.Trouble == string(sink.RolledBack):
			problem("rollback: " + k.Problem + ": everything is blocked until `belay recover`")
		case k.Kind == "store":
			problem("the store cannot write: " + k.Problem)
		case k.Kind == SinkRecordings && k.Durable:
			problem("full inputs cannot be kept in " + k.Path + ": " + k.Problem)
		case k.Kind == SinkRecordings:
			s.Warnings = append(s.Warnings, "full inputs cannot be kept in "+k.Path+": "+k.Problem)
		case k.Durable:
			problem("the durable sink " + k.Path + " cannot be written: " + k.Problem)
		default:
			s.Warnings = append(s.Warnings, "the sink "+k.Path+" cannot be written: "+k.Problem)
		}
	}
	if mark := b.live.HighWater(ctx); mark != nil && mark.Problem != "" && !mark.Behind {
		s.Warnings = append(s.Warnings, "belay.db has no high-water mark: "+mark.Problem+". One that is restored or removed would not be noticed")
	}
	if s.Healthy && bad == nil {
		if err := b.kernel.Recover(ctx); err != nil {
			problem("what was blocked without a record cannot be recorded: " + err.Error())
		}
	}
	if h := b.kernel.Health(); !h.OK && s.Healthy {
		problem(h.Reason)
	}
	if s.LeftBehind = b.LeftBehind(); len(s.LeftBehind) > 0 {
		s.Warnings = append(s.Warnings, "hooks ignored their deadline and still run; they block until they have ended: "+strings.Join(s.LeftBehind, ", "))
	}
	if s.Healthy && len(s.Warnings) > 0 {
		s.Health = HealthDegraded
	}
	newest, err := b.Events(ctx, kernel.EventQuery{Newest: true, Limit: 1})
	if err != nil {
		return s, err
	}
	if len(newest) > 0 {
		s.LastSeq = newest[0].Seq
	}
	if s.Gone, s.GoneBy, err = b.live.Compacted(ctx); err != nil {
		return s, err
	}
	latches, err := b.Latches(ctx)
	if err != nil && !errors.Is(err, kernel.ErrTampered) { // which is among the problems
		return s, err
	}
	s.Latches = append(s.Latches, latches...)
	if s.Unheld, err = b.kernel.Unheld(ctx); err != nil {
		return s, err
	}
	s.Unsigned, err = b.revisions.Unsigned(ctx)
	return s, err
}

// BindingStatus says how a binding stands.
type BindingStatus struct {
	Name         string         `json:"name"`
	Module       string         `json:"module"`
	Digest       string         `json:"digest,omitzero"`
	Version      string         `json:"version,omitzero"`
	Tier         phases.Tier    `json:"tier,omitzero"`
	Signer       string         `json:"signer,omitzero"`
	Mode         phases.Mode    `json:"mode"`
	Priority     int            `json:"priority"`
	Phases       []phases.Phase `json:"phases"`
	Mutates      []phases.Phase `json:"mutates,omitzero"`
	Capabilities []string       `json:"capabilities"` // that it really holds
	Disabled     bool           `json:"disabled,omitzero"`
	Problem      string         `json:"problem,omitzero"` // why it blocks its phases
}

// Bindings lists what is bound in the order in which hooks are asked, disabled
// ones last. After opening with NoHooks it says what is known without compiling.
func (b *Belay) Bindings() []BindingStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	modules := map[string]string{}
	for _, h := range b.file.Hooks {
		modules[h.Name] = h.Module
	}
	out := []BindingStatus{}
	if b.o.NoHooks {
		out = append(out, b.examined()...)
	} else {
		for _, h := range b.kernel.Hooks() {
			s := BindingStatus{Name: h.Name, Module: modules[h.Name], Digest: h.Digest, Version: h.Version, Tier: h.Tier, Signer: h.Signer, Mode: h.Mode,
				Priority: h.Priority, Phases: h.Phases, Mutates: h.Mutates, Capabilities: h.Held, Problem: h.Failure}
			if h.Failure != "" && h.Detail != "" {
				s.Problem += " (" + h.Detail + ")"
			}
			out = append(out, s)
		}
	}
	for _, h := range b.file.Hooks {
		if h.Disabled {
			out = append(out, BindingStatus{Name: h.Name, Module: h.Module, Digest: h.Digest, Mode: orEnforce(h.Mode), Priority: h.Priority, Phases: h.Phases, Disabled: true})
		}
	}
	return out
}

func orEnforce(m phases.Mode) phases.Mode {
	if m == "" {
		return phases.Enforce
	}
	return m
}

// examined looks at every binding without compiling it. Preconditions: b.mu is held.
func (b *Belay) examined() []BindingStatus {
	hooks, err := b.loader.Examine(context.Background(), b.file.Enabled())
	if err != nil {
		return []BindingStatus{{Name: "?", Problem: err.Error()}}
	}
	var out []BindingStatus
	for _, h := range hooks {
		out = append(out, BindingStatus{Name: h.Name, Digest: h.Digest, Version: h.Version, Tier: h.Tier, Signer: h.Signer, Mode: h.Mode,
			Priority: h.Priority, Phases: h.Phases, Mutates: h.Mutates, Capabilities: h.Held, Problem: h.Failure})
	}
	return out
}
