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
	input        []byte
	action       []byte
	seed         [32]byte
	trace        *hostcalls.Trace // when the invocation is recorded
	budget       int64            // fuel that it was given
	ownNotes     []string         // notes of the hook's own session
	outcome      Outcome
	fault        *phases.Fault
	trust        bool
	start        time.Time     // zero when its input could not even be built
	nested       time.Duration // that hooks took which ran on its behalf
	leaseChanges []leaseChange // leases that it made, renewed or revoked
}

// took is the time that the turn counts against the chain's.
func (r *turnResult) took() time.Duration { return r.outcome.Duration - r.outcome.Waited + r.nested }

// turnInput is what a hook is shown of the action.
type turnInput struct {
	view     phases.Invocation
	action   *phases.Strict // of view
	document *phases.Strict
	err      error // why there is no document
}

// inputOf returns what a hook is shown that is asked now. A hook that is kept apart sees what such hooks have
// annotated, and no other hook does.
func inputOf(words *phases.Chain, b *binding) turnInput {
	document := words.Document
	if b.spec.Apart {
		document = words.DocumentApart
	}
	doc, err := document()
	return turnInput{words.View(), words.Action(), doc, err}
}

func (c *chain) turn(ctx context.Context, b *binding, pass phases.Pass, left time.Duration) turnResult {
	return c.call(ctx, b, pass, left, inputOf(c.words, b))
}

// call runs one turn. It reads the chain's constants only: it may run ahead.
func (c *chain) call(ctx context.Context, b *binding, pass phases.Pass, left time.Duration,
	input turnInput) (r turnResult) {
	defer func() {
		if p := recover(); p != nil { // a turn that runs ahead has no other place to recover
			r = turnResult{fault: phases.NewFault(phases.KindTrap, "the hook could not be run", fmt.Errorf("panic: %v", p))}
		}
	}()
	if input.err != nil {
		return turnResult{fault: phases.NewFault(phases.KindProtocol, "the input of a hook could not be built", input.err)}
	}
	return c.callOn(ctx, b, pass, left, input)
}

func (c *chain) callOn(ctx context.Context, binding *binding, pass phases.Pass, left time.Duration,
	input turnInput) (result turnResult) {
	doc := input.document
	result.input, result.start = doc.Bytes(), time.Now()
	if binding.fault != nil {
		result.fault, result.trust = binding.fault, binding.trust
		return result
	}
	if result.fault = c.invocation.kernel.left.fault(binding.leftKey()); result.fault != nil {
		return result
	}
	if left <= 0 {
		result.fault = phases.NewFault(phases.KindDeadline, "the hooks before it have used up the chain's time", nil)
		return result
	}
	fuel := binding.fuel
	if c.invocation.parentBudget.nested() {
		if n, ok := c.invocation.parentBudget.fuelLeft(); ok {
			fuel = min(fuel, n)
		}
		if fuel <= 0 {
			result.fault = phases.NewFault(phases.KindFuel, "the hooks before it have used up the fuel of the hook that asked",
				nil)
			return result
		}
	}
	observe := binding.mode == phases.Observe
	own := &struct { // of the turn, in one piece
		scope turnScope
		calls turnCalls
		state stateReader
	}{}
	own.scope.of(c.invocation, result.start, left)
	own.calls = turnCalls{invocation: c.invocation, binding: binding, pass: pass, view: input.view, scope: &own.scope}
	own.state = stateReader{store: c.invocation.kernel.options.Store, namespace: namespace(binding)}
	scope, calls, view := &own.scope, &own.calls, &own.calls.view
	turn := Turn{
		Fuel: fuel, Timeout: min(binding.timeout, left), Ceiling: min(ceilingFactor*binding.timeout, left),
		Session: hostcalls.SessionConfig{
			Phase: view.Phase, Pass: pass, Input: doc.Bytes(), Action: view.Action, Config: binding.spec.Config,
			Checked: hostcalls.Documents{Input: doc, Action: input.action, Config: binding.document},
			Actor:   binding.actor(view.Phase), Granted: binding.granted,
			Limits: hostcalls.Limits{Input: phases.MaxDocumentBytes},
			Time:   c.invocation.inv.Time, Seed: c.invocation.turnSeed(binding.spec.Name, pass),
			Home: c.invocation.kernel.options.Home,
			CWD:  view.CWD, Scopes: view.Scopes,
			Observe: observe, State: &own.state,
			HTTP: calls, Files: c.invocation.kernel.options.Files,
		},
	}
	if c.invocation.kernel.options.Untimed > 0 {
		turn.Timeout, turn.Ceiling = -1, 0
	}
	if c.invocation.kernel.options.Tools != nil && !c.invocation.snap.noTools {
		turn.Session.Tools = calls
	}
	var ledger *turnLedger
	if !binding.ahead { // one that may run ahead has no such calls, and would read what others are about to change
		ledger = c.ledger(binding, view)
		turn.Session.Leases = waitingLedger{ledger, scope}
	}
	if c.invocation.recorder.on() {
		result.budget, result.action, result.seed, result.trace = fuel, view.Action, turn.Session.Seed, new(hostcalls.Trace)
		turn.Session = turn.Session.Record(result.trace)
	}
	defer func() {
		if p := recover(); p != nil {
			result.fault = phases.NewFault(phases.KindTrap, "the hook could not be run", fmt.Errorf("panic: %v", p))
		}
		if result.outcome.Duration == 0 {
			result.outcome.Duration = time.Since(result.start)
		}
		result.nested = scope.taken()
	}()
	out, err, gone := c.perform(ctx, binding, turn, scope)
	if gone { // the hook may still be running: leave its calls and its ledger alone
		result.outcome, result.fault, result.budget, result.trace = out, phases.FaultOf(err), 0, nil
		return result
	}
	result.ownNotes = out.Notes
	result.outcome = out.owned()
	result.outcome.Notes = append(slices.Clone(result.outcome.Notes), calls.notes...)
	if ledger != nil {
		result.leaseChanges = ledger.done
		result.outcome.Notes = append(slices.Clone(result.outcome.Notes), ledger.notes...)
	}
	if err != nil {
		if result.fault = phases.FaultOf(err); result.fault == nil {
			result.fault = phases.NewFault(phases.KindTrap, "the hook could not be run", err)
		}
	} else if own := result.outcome.Duration - result.outcome.Waited; turn.Ceiling > 0 && own > turn.Ceiling {
		result.fault = phases.NewFault(phases.KindDeadline, "the hook answered after its time was over", nil)
	}
	return result
}

// depth is how deep the invocation is nested: 0 for an event of a runtime.
func (i *invocation) depth() int {
	if !i.parentBudget.nested() {
		return 0
	}
	return i.parentBudget.scope.depth + 1
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
		return "observe:" + ns // a shadow: enforcing hooks never read its state
	}
	return ns
}

// count adds a turn to the chain, its report, its event and its state.
func (c *chain) count(binding *binding, pass phases.Pass, result turnResult) {
	left := c.budget(pass)
	switch {
	case result.fault != nil || c.invocation.kernel.options.Untimed > 0:
	case *left <= 0:
		// It ran ahead in time that the hooks before it have used up.
		result = turnResult{input: result.input, start: result.start,
			fault: phases.NewFault(phases.KindDeadline, "the hooks before it have used up the chain's time", nil)}
	case result.took() > *left:
		result.fault = phases.NewFault(phases.KindDeadline, "the hook answered after the chain's time was used up", nil)
	}
	*left -= result.took()
	c.invocation.parentBudget.spend(result.took(), result.outcome.Fuel)
	if result.fault == nil {
		result.fault = c.invocation.secretName(&result.outcome)
	}
	c.dropGrant(binding, &result.outcome)
	turn := phases.Turn{By: binding.actor(c.invocation.inv.Phase), Pass: pass, Effects: result.outcome.Effects,
		Fault:    result.fault,
		FailText: result.outcome.FailText}
	before := c.words.View().Action
	res, open := c.add(binding, turn, result.trust)
	c.cut(binding, before, &result.outcome)
	var notes []string
	if binding.loaded != nil {
		notes = append(notes, binding.loaded.Notes...)
	}
	notes = append(append(notes, result.outcome.Notes...), res.Notes...)
	if open {
		notes = append(notes, "UNSAFE: the hook failed and counts as one without an opinion")
		c.notes = append(c.notes, "UNSAFE: "+binding.spec.Name+" failed and did not block")
	}
	for _, w := range result.outcome.Wishes {
		notes = append(notes, "observed only: would have called "+w.Call)
	}
	rep := c.report(binding, pass, result, res, notes)
	c.reports = append(c.reports, rep)
	c.invocation.observation.hookDone(result.start, &c.reports[len(c.reports)-1])
	c.invocation.recorder.turn(binding, pass, &result, &rep)
	c.turns = append(c.turns, auditTurn(binding, rep, result))
	if rep.Decision == phases.HookError {
		if pass != phases.PassObserve && !open {
			c.fault = result.fault
			if c.fault == nil { // the turn itself succeeded, its effects were refused
				c.fault = phases.NewFault(res.Kind, res.Reason, nil)
			}
		}
		return
	}
	if len(c.invocation.snap.require) > 0 {
		if c.acted == nil {
			c.acted = map[string]bool{}
		}
		c.acted[binding.spec.Name] = true
	}
	c.takeState(binding, &result.outcome)
	c.takeLeaseChanges(binding, result.leaseChanges)
}

// cut has the record redact what the turn took out of the action: all of it where the
// binding redacts, else what the hook redacted by name.
func (c *chain) cut(binding *binding, before jsontext.Value, o *Outcome) {
	after := c.words.View().Action
	if bytes.Equal(before, after) {
		return
	}
	var below []string
	if !binding.redacts {
		for _, e := range o.Effects {
			if e.Kind == phases.EffectRedact {
				below = append(below, e.Path)
			}
		}
		if below == nil {
			return
		}
	}
	builder := c.invocation.audit()
	if err := builder.Cut(c.invocation.input, before, after, below); err != nil {
		f := phases.NewFault(phases.KindAudit, "what a hook took out of the action could not be redacted", err)
		c.words.Fail(binding.spec.Name, f)
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
	turn := audit.Turn{Report: rep, Input: r.input, Detail: r.outcome.Detail, Apart: b.spec.Apart}
	if b.loaded != nil {
		turn.Signer = b.loaded.Signer
	}
	if turn.Detail == "" && r.fault != nil && r.fault.Cause != nil {
		turn.Detail = r.fault.Cause.Error()
	}
	for _, l := range r.outcome.Logs {
		turn.Logs = append(turn.Logs, logLevel(l.Level)+": "+l.Text)
	}
	if n := r.outcome.LogsDropped; n > 0 {
		turn.Logs = append(turn.Logs, fmt.Sprintf("(%d entries were cut or dropped)", n))
	}
	return turn
}

func logLevel(l int) string {
	names := [...]string{"debug", "info", "warn", "error"}
	return names[min(max(l, 0), len(names)-1)]
}

// add counts the turn, unless it failed and failures are let pass: then the
// chain stays as it was.
func (c *chain) add(b *binding, t phases.Turn, trust bool) (res phases.TurnResult, open bool) {
	if !c.invocation.kernel.options.UnsafeFailOpen || trust || b.mode == phases.Observe {
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
