package kernel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// turnResult is one turn that has run but does not count yet.
type turnResult struct {
	input   []byte
	action  []byte
	seed    [32]byte
	trace   *hostcalls.Trace // when the invocation is recorded
	budget  int64            // fuel that it was given
	said    []string         // notes of the hook's own session
	outcome Outcome
	fault   *phases.Fault
	trust   bool
	start   time.Time     // zero when its input could not even be built
	nested  time.Duration // that hooks took which ran on its behalf
	lent    []staged      // what it did with leases
}

// took is what the turn counts against the chain's time.
func (r *turnResult) took() time.Duration { return r.outcome.Duration - r.outcome.Waited + r.nested }

func (c *chain) turn(ctx context.Context, b *binding, pass phases.Pass, left time.Duration) turnResult {
	return c.turnWith(ctx, b, pass, left, c.words.Metadata())
}

func (c *chain) turnWith(ctx context.Context, b *binding, pass phases.Pass, left time.Duration,
	md phases.Metadata) turnResult {
	return c.call(ctx, b, pass, left, c.words.View(), md)
}

// call runs one turn. It reads the chain's constants only: it may run ahead.
func (c *chain) call(ctx context.Context, b *binding, pass phases.Pass, left time.Duration, view phases.Invocation,
	md phases.Metadata) (r turnResult) {
	defer func() {
		if p := recover(); p != nil { // nobody else could when it runs ahead
			r = turnResult{fault: phases.NewFault(phases.KindTrap, "the hook could not be run", fmt.Errorf("panic: %v", p))}
		}
	}()
	doc, err := phases.Document(view, md)
	if err != nil {
		return turnResult{fault: phases.NewFault(phases.KindProtocol, "the input of a hook could not be built", err)}
	}
	return c.callOn(ctx, b, pass, left, view, doc, hostcalls.Limits{})
}

func (c *chain) callOn(ctx context.Context, b *binding, pass phases.Pass, left time.Duration, view phases.Invocation,
	doc []byte, limits hostcalls.Limits) (r turnResult) {
	r.input, r.start = doc, time.Now()
	if b.fault != nil {
		r.fault, r.trust = b.fault, b.trust
		return r
	}
	if r.fault = c.i.k.left.fault(b.leftKey()); r.fault != nil {
		return r
	}
	if left <= 0 {
		r.fault = phases.NewFault(phases.KindDeadline, "the hooks before it have used up the chain's time", nil)
		return r
	}
	fuel := b.fuel
	if c.i.purse.nested() {
		if n, ok := c.i.purse.fuel(); ok {
			fuel = min(fuel, n)
		}
		if fuel <= 0 {
			r.fault = phases.NewFault(phases.KindFuel, "the hooks before it have used up the fuel of the hook that asked", nil)
			return r
		}
	}
	observe := b.mode == phases.Observe
	scope := &turnScope{k: c.i.k, snap: c.i.snap, depth: c.i.depth(), secrets: c.i.redactor, began: r.start, time: left}
	calls := &turnCalls{i: c.i, b: b, pass: pass, view: view, scope: scope}
	turn := Turn{
		Fuel: fuel, Timeout: min(b.timeout, left), Ceiling: min(CeilingFactor*b.timeout, left),
		Session: hostcalls.SessionConfig{
			Phase: view.Phase, Pass: pass, Input: doc, Action: view.Action, Config: b.spec.Config,
			Actor: b.actor(view.Phase), Granted: b.granted, Limits: limits,
			Time: c.i.inv.Time, Seed: c.i.turnSeed(b.spec.Name, pass), Home: c.i.k.o.Home, CWD: view.CWD, Scopes: view.Scopes,
			Observe: observe, State: &stateReader{store: c.i.k.o.Store, namespace: namespace(b)},
			HTTP: calls, Files: c.i.k.o.Files,
		},
	}
	if c.i.k.o.Untimed > 0 {
		turn.Timeout, turn.Ceiling = -1, 0
	}
	if toolsAvailable(c.i.k.o.Tools) {
		turn.Session.Tools = calls
	}
	var ledger *turnLedger
	if !b.ahead { // one that may run ahead has no such calls, and would read what others are about to change
		ledger = c.ledger(b, &view)
		turn.Session.Leases = waitingLedger{ledger, scope}
	}
	if c.i.tape.on() {
		r.budget, r.action, r.seed, r.trace = fuel, view.Action, turn.Session.Seed, new(hostcalls.Trace)
		turn.Session = turn.Session.Record(r.trace)
	}
	defer func() {
		if p := recover(); p != nil {
			r.fault = phases.NewFault(phases.KindTrap, "the hook could not be run", fmt.Errorf("panic: %v", p))
		}
		if r.outcome.Duration == 0 {
			r.outcome.Duration = time.Since(r.start)
		}
		r.nested = scope.taken()
	}()
	out, err, gone := c.watched(ctx, b, turn, scope)
	if gone { // what it has in hand is not ours any more
		r.outcome, r.fault, r.budget, r.trace = out, phases.FaultOf(err), 0, nil
		return r
	}
	r.said = out.Notes
	r.outcome = out.owned()
	r.outcome.Notes = append(slices.Clone(r.outcome.Notes), calls.notes...)
	if ledger != nil {
		r.lent = ledger.done
		r.outcome.Notes = append(slices.Clone(r.outcome.Notes), ledger.notes...)
	}
	if err != nil {
		if r.fault = phases.FaultOf(err); r.fault == nil {
			r.fault = phases.NewFault(phases.KindTrap, "the hook could not be run", err)
		}
	} else if own := r.outcome.Duration - r.outcome.Waited; turn.Ceiling > 0 && own > turn.Ceiling {
		r.fault = phases.NewFault(phases.KindDeadline, "the hook answered after its time was over", nil)
	}
	return r
}

// depth is how deep the invocation is nested: 0 for an event of a runtime.
func (i *invocation) depth() int {
	if !i.purse.nested() {
		return 0
	}
	return i.purse.scope.depth + 1
}

// turnSeed gives every turn a stream of its own, so that what one hook draws does
// not depend on who ran before it.
func (i *invocation) turnSeed(name string, pass phases.Pass) [32]byte {
	h := sha256.New()
	h.Write([]byte("belay turn\x00"))
	h.Write(i.seed[:])
	h.Write([]byte(string(pass) + "\x00" + name))
	return [32]byte(h.Sum(nil))
}

func namespace(b *binding) string {
	ns := cmp.Or(b.spec.State, b.spec.Name)
	if b.mode == phases.Observe {
		return "observe:" + ns // a shadow: what it writes is never read by enforcing hooks
	}
	return ns
}

// count adds a turn to the chain, its report, its event and its state.
func (c *chain) count(b *binding, pass phases.Pass, r turnResult) {
	left := c.budget(pass)
	switch {
	case r.fault != nil || c.i.k.o.Untimed > 0:
	case *left <= 0:
		// It ran ahead in time that the hooks before it have used up.
		r = turnResult{input: r.input, start: r.start,
			fault: phases.NewFault(phases.KindDeadline, "the hooks before it have used up the chain's time", nil)}
	case r.took() > *left:
		r.fault = phases.NewFault(phases.KindDeadline, "the hook answered after the chain's time was used up", nil)
	}
	*left -= r.took()
	c.i.purse.spend(r.took(), r.outcome.Fuel)
	if r.fault == nil {
		r.fault = c.i.secretName(&r.outcome)
	}
	t := phases.Turn{By: b.actor(c.i.inv.Phase), Pass: pass, Effects: r.outcome.Effects, Fault: r.fault,
		FailText: r.outcome.FailText}
	before := c.words.View().Action
	res, open := c.add(b, t, r.trust)
	c.cut(b, before, &r.outcome)
	var notes []string
	if b.loaded != nil {
		notes = append(notes, b.loaded.Notes...)
	}
	notes = append(append(notes, r.outcome.Notes...), res.Notes...)
	if open {
		notes = append(notes, "UNSAFE: the hook failed and counts as one without an opinion")
		c.notes = append(c.notes, "UNSAFE: "+b.spec.Name+" failed and did not block")
	}
	for _, w := range r.outcome.Wishes {
		notes = append(notes, "observed only: would have called "+w.Call)
	}
	rep := c.report(b, pass, r, res, notes)
	c.reports = append(c.reports, rep)
	c.i.seen.hookDone(r.start, &c.reports[len(c.reports)-1])
	c.i.tape.turn(b, pass, &r, &rep)
	c.turns = append(c.turns, auditTurn(b, rep, r))
	if rep.Decision == phases.HookError {
		if pass != phases.PassObserve && !open {
			c.fault = r.fault
			if c.fault == nil { // the turn itself succeeded, its effects were refused
				c.fault = phases.NewFault(res.Kind, res.Reason, nil)
			}
		}
		return
	}
	c.acted[b.spec.Name] = true
	c.takeState(b, &r.outcome)
	c.takeLeases(b, r.lent)
}

// cut has the record cover what the turn took out of the action: all of it where the
// binding redacts, else what the hook redacted by name.
func (c *chain) cut(b *binding, before jsontext.Value, o *Outcome) {
	after := c.words.View().Action
	if bytes.Equal(before, after) {
		return
	}
	var below []string
	if !b.redacts {
		for _, e := range o.Effects {
			if e.Kind == phases.EffectRedact {
				below = append(below, e.Path)
			}
		}
		if below == nil {
			return
		}
	}
	builder := c.i.audit()
	if err := builder.Cut(c.i.input, before, after, below); err != nil {
		f := phases.NewFault(phases.KindAudit, "what a hook took out of the action could not be redacted", err)
		c.words.Fail(b.spec.Name, f)
		c.fault = f
	}
}

func (c *chain) report(b *binding, pass phases.Pass, r turnResult, res phases.TurnResult,
	notes []string) phases.HookReport {
	rep := phases.HookReport{
		Hook: b.spec.Name, Digest: b.digest, Tier: b.tier, Mode: b.mode, Pass: pass, Decision: res.Decision,
		Reason:  res.Reason,
		Effects: phases.CleanEffects(r.outcome.Effects), Fuel: r.outcome.Fuel, MemoryPeak: r.outcome.MemoryPeak,
		Hostcalls: r.outcome.Hostcalls, DurationUS: r.outcome.Duration.Microseconds(), Notes: notes,
	}
	if b.loaded != nil {
		rep.Version = b.loaded.Version
	}
	if res.Decision == phases.HookError {
		rep.Kind = res.Kind
		rep.Effects = nil // none of them counts
	}
	if rep.Effects == nil {
		rep.Effects = []phases.Effect{}
	}
	return rep
}

func auditTurn(b *binding, rep phases.HookReport, r turnResult) audit.Turn {
	t := audit.Turn{Report: rep, Input: r.input, Detail: r.outcome.Detail}
	if b.loaded != nil {
		t.Signer = b.loaded.Signer
	}
	if t.Detail == "" && r.fault != nil && r.fault.Cause != nil {
		t.Detail = r.fault.Cause.Error()
	}
	for _, l := range r.outcome.Logs {
		t.Logs = append(t.Logs, logLevel(l.Level)+": "+l.Text)
	}
	if n := r.outcome.LogsDropped; n > 0 {
		t.Logs = append(t.Logs, fmt.Sprintf("(%d entries were cut or dropped)", n))
	}
	return t
}

func logLevel(l int) string {
	names := [...]string{"debug", "info", "warn", "error"}
	return names[min(max(l, 0), len(names)-1)]
}

// add counts the turn, unless it failed and failures are let pass: then the
// chain stays as it was.
func (c *chain) add(b *binding, t phases.Turn, trust bool) (res phases.TurnResult, open bool) {
	if !c.i.k.o.UnsafeFailOpen || trust || b.mode == phases.Observe {
		return c.words.Add(t), false
	}
	before := *c.words
	res = c.words.Add(t)
	if res.Decision != phases.HookError || !mayPass(res.Kind) {
		return res, false
	}
	*c.words = before
	res.Stop = before.Stopped()
	return res, true
}

// mayPass says which failures UnsafeFailOpen lets pass: those of a hook itself.
func mayPass(k phases.Kind) bool {
	return k != phases.KindAudit && k != phases.KindStore && k != phases.KindRollback && k != phases.KindHang
}

func faultOf(err error, kind phases.Kind, text string) *phases.Fault {
	if f, ok := err.(interface{ Fault() *phases.Fault }); ok {
		return f.Fault()
	}
	if f := phases.FaultOf(err); f != nil {
		return f
	}
	return phases.NewFault(kind, text, err)
}
