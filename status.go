package belay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Status tries the store and every sink, also for writing, and lists the problems.
// When they work again after a failure, Status logs that at the latest.
// With kernel.ErrUnavailable not even that could be found out: the status beside the
// error holds only the known part.
func (b *Belay) Status(ctx context.Context) (wire.Status, error) {
	b.conf.mu.Lock()
	s := wire.Status{Dir: b.dir, Store: b.live.StoreID(), Revision: b.conf.revision(), Engine: "interpreter",
		Healthy: true,
		Health:  wire.HealthOK, Problems: []string{}, Warnings: []string{}, Latches: []wire.Latch{}, Rules: b.conf.now.rules}
	bad := b.conf.now.bad
	b.conf.mu.Unlock()
	if b.o.Verifier == nil { // else trust.yaml decides nothing
		s.TrustProblem = b.conf.trust.Problem()
	}
	if s.Compile = wire.CompileHere; b.loader.Isolated() {
		s.Compile = wire.CompileApart
	}
	if sandbox.Compiles() {
		s.Engine = "compiler"
	} else if sandbox.HasCompiler() {
		s.Warnings = append(s.Warnings,
			"hooks run on the interpreter, about 40 times slower: memory may not be made executable here")
	}
	problem := func(text string) {
		s.Healthy, s.Health = false, wire.HealthFailing
		s.Problems = append(s.Problems, text)
	}
	if bad != nil {
		problem(bad.Error())
	}
	s.Sinks = b.storage.State(ctx)
	if kept, ok := b.recorder.Sink(); ok {
		s.Sinks = append(s.Sinks, kept)
	}
	for _, k := range s.Sinks {
		if k.Warning != "" {
			s.Warnings = append(s.Warnings, k.Warning)
		}
		if f := k.Forwarding; f != nil && f.Filled() >= wire.BacklogWarns && f.State != wire.ForwardingFull {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%d %% of the events that may wait to be forwarded do "+
				"(store.postgres.keep); when it is full every action is blocked", f.Filled()))
		}
		switch {
		case k.OK:
		case k.Trouble == string(sink.RolledBack):
			problem("rollback: " + k.Problem + ": everything is blocked until `belay recover`")
		case k.Kind == wire.SinkPostgres && k.Trouble == string(sink.Foreign):
			problem(k.Path + " needs a person, and what needs a lease or an approval is blocked: " + k.Problem)
		case k.Kind == wire.SinkPostgres:
			s.Warnings = append(s.Warnings, k.Path+" is away, and what needs a lease or an approval is blocked: "+k.Problem)
		case k.Kind == "store":
			problem("the store cannot write: " + k.Problem)
		case k.Kind == wire.SinkRecordings && k.Durable:
			problem("full inputs cannot be kept in " + k.Path + ": " + k.Problem)
		case k.Kind == wire.SinkRecordings:
			s.Warnings = append(s.Warnings, "full inputs cannot be kept in "+k.Path+": "+k.Problem)
		case k.Durable:
			problem("the durable sink " + k.Path + " cannot be written: " + k.Problem)
		default:
			s.Warnings = append(s.Warnings, "the sink "+k.Path+" cannot be written: "+k.Problem)
		}
	}
	if mark := b.live.HighWater(ctx); mark != nil && mark.Problem != "" && !mark.Behind {
		s.Warnings = append(s.Warnings, mark.Of()+" has no high-water mark: "+mark.Problem+
			". One that is restored or removed would not be noticed")
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
		s.Warnings = append(s.Warnings, "hooks ignored their deadline and still run; they block until they have ended: "+
			strings.Join(s.LeftBehind, ", "))
	}
	if s.Healthy && len(s.Warnings) > 0 {
		s.Health = wire.HealthDegraded
	}
	newest, err := b.Events(ctx, wire.Query{Newest: true, Limit: 1})
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
	s.Latches = append(s.Latches, kernel.LatchesOnWire(latches)...)
	if s.Unheld, err = b.kernel.Unheld(ctx); err != nil {
		return s, err
	}
	calls, err := b.kernel.Mismatches(ctx)
	s.Changed, s.Unasked, s.Undecided = calls.Changed, calls.Unasked, calls.Undecided
	if err != nil {
		return s, err
	}
	if s.Reconciled, err = b.kernel.Reconciliations(ctx); err != nil {
		return s, err
	}
	if !b.o.InMemory {
		var unread error
		if s.ChangedTools, unread = toolpins.Waits(b.dir); unread != nil {
			s.ToolProblem = unread.Error()
		}
	}
	s.Unsigned, err = b.conf.revisions.Unsigned(ctx)
	return s, err
}

// Bindings lists the bound hooks in the order in which they are asked, disabled
// ones last. After opening with NoHooks it says only as much as is known without compiling.
func (b *Belay) Bindings() []wire.Hook {
	b.conf.mu.Lock()
	defer b.conf.mu.Unlock()
	file := b.conf.now.file
	written := map[string]config.Binding{}
	for _, h := range file.Hooks {
		written[h.Name] = h
	}
	out := []wire.Hook{}
	if b.o.NoHooks {
		out = append(out, b.conf.examined()...)
	} else {
		for _, h := range b.kernel.Hooks() {
			h.Module, h.ConfigFile = written[h.Name].Module, written[h.Name].ConfigFile
			if h.Problem != "" && h.Detail != "" {
				h.Problem += " (" + h.Detail + ")"
			}
			out = append(out, h)
		}
	}
	for _, h := range file.Hooks {
		if h.Disabled {
			out = append(out,
				wire.Hook{Name: h.Name, Module: h.Module, Digest: h.Digest, Mode: orEnforce(h.Mode), Priority: h.Priority,
					Phases: h.Phases, Disabled: true})
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
