package kernel

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// chain is one attempt at an invocation. It is used by one goroutine; only
// ahead (the running ahead of validators) starts others, which touch nothing but
// their own result.
type chain struct {
	invocation *invocation
	words      *phases.Chain
	latched    *Latch
	outside    bool // the kernel blocked an action outside of its scopes

	left     time.Duration // what the enforcing hooks may still take
	leftObs  time.Duration // what the observing hooks may still take
	judged   map[*binding]int
	acted    map[string]bool   // bindings whose turn counted, where the operator requires some
	before   []*binding        // that are asked
	carried  map[*binding]bool // those of them that are asked only for what the call carries
	fault    *phases.Fault     // the failure that blocked, if one did
	late     *phases.Fault     // the failure that blocked when the record was made
	reports  []phases.HookReport
	turns    []audit.Turn
	notes    []string
	retries  map[string]int
	retried  bool
	stateNow map[stateKey]bool // keys that this attempt has read
	room     [4]*binding       // for the validators, where they are few

	leaseChanges []leaseChange // what turns that count have done with leases
	stateReads   []StateRead
	stateWrites  []StateWrite
}

type stateKey struct{ namespace, key string }

func (i *invocation) newChain(md phases.Metadata) (*chain, error) {
	ceiling := i.snap.ceiling
	if parent := i.options.ParentScopes; parent != nil {
		if err := parent.Validate(); err != nil {
			return nil, err
		}
		ceiling = ceiling.Intersect(*parent)
	}
	words, err := phases.NewCheckedChain(i.checked, i.inv, md, ceiling)
	if err != nil {
		return nil, err
	}
	words.UseBuffers(&i.kernel.buffers)
	c := &chain{invocation: i, words: words, left: i.snap.budget, leftObs: i.snap.budget}
	if i.kernel.options.UnsafeFailOpen {
		c.notes = append(c.notes, "UNSAFE: fail-open is on, hooks that fail do not block")
	}
	if i.parentBudget.nested() {
		c.left = min(c.left, i.parentBudget.scope.left())
		c.leftObs = c.left
	}
	return c, nil
}

// budget returns the time that a pass may take together. Hooks that run on behalf of another
// hook's turn, of whatever pass, all live on what that turn has left.
func (c *chain) budget(pass phases.Pass) *time.Duration {
	if pass == phases.PassObserve && !c.invocation.parentBudget.nested() {
		return &c.leftObs
	}
	return &c.left
}

// auditBudget returns the time that the audit hooks may take.
func (c *chain) auditBudget() time.Duration {
	if c.invocation.parentBudget.nested() {
		return c.left
	}
	return c.invocation.snap.budget
}

// run takes the invocation through both passes and the observing hooks. In the
// audit phase nothing is decided here: audit hooks see the record.
func (c *chain) run(ctx context.Context) {
	if c.invocation.inv.Phase == phases.Audit {
		return
	}
	c.noteJudged()
	asked := c.asked()
	turns := min(len(asked), usualTurns)
	c.reports, c.turns = make([]phases.HookReport, 0, turns), make([]audit.Turn, 0, turns)
	var mutators []*binding
	for _, b := range asked {
		if b.mode != phases.Observe && b.mutates(c.invocation.inv.Phase) {
			mutators = append(mutators, b)
		}
	}
	for _, b := range mutators {
		if c.words.Stopped() {
			break
		}
		c.count(b, phases.PassMutate, c.turn(ctx, b, phases.PassMutate, c.left))
		if c.judged == nil {
			c.judged = map[*binding]int{}
		}
		c.judged[b] = c.words.Revision()
	}
	if c.words.Revision() > 0 { // what the mutators left may be judged as something else
		asked = c.asked()
	}
	var observers []*binding
	validators := c.room[:0]
	if len(asked) > len(c.room) {
		validators = make([]*binding, 0, len(asked))
	}
	for _, b := range asked {
		if b.mode == phases.Observe {
			observers = append(observers, b)
		} else {
			validators = append(validators, b)
		}
	}
	judges := slices.ContainsFunc(validators, func(b *binding) bool {
		return (b.judges || b.fault != nil) && !b.spec.KeepsDefault
	})
	if !c.words.Stopped() {
		// A mutator has judged what will run unless the action changed after its turn.
		validators = slices.DeleteFunc(validators, func(b *binding) bool {
			return b.mutates(c.invocation.inv.Phase) && (!b.judges || c.judged[b] == c.words.Revision())
		})
		c.validate(ctx, validators)
	}
	if !c.words.Stopped() {
		c.require()
	}
	if !c.words.Stopped() {
		c.decideRest(judges)
	}
	for _, b := range observers {
		c.count(b, phases.PassObserve, c.turn(ctx, b, phases.PassObserve, *c.budget(phases.PassObserve)))
	}
}

// usualTurns is how many turns there is room for from the beginning.
const usualTurns = 16

// asked returns the hooks that are asked about the action as it stands, in the order in which they
// run. A hook that was asked once stays: a change by a mutator takes no judge away. The caller changes
// nothing in the slice.
func (c *chain) asked() []*binding {
	view := c.words.View()
	names := c.words.ToolNames()
	index := c.invocation.snap.index
	list := index.hooks(&view, names)
	if len(c.before) > 0 {
		list = inOrder(slices.Concat(list, c.before))
	}
	c.before, c.carried = list, nil
	if len(names) > 1 {
		c.carried = map[*binding]bool{}
		for _, b := range list {
			c.carried[b] = true
		}
		for _, b := range index.hooks(&view, names[:1]) {
			delete(c.carried, b)
		}
	}
	return list
}

// validate counts the validators in order. They all see the action and the
// metadata as the mutators left them, never each other's annotations, so that
// running some of them ahead changes nothing but the time it takes.
func (c *chain) validate(ctx context.Context, list []*binding) {
	if len(list) == 0 {
		return
	}
	inputs := make([]turnInput, len(list))
	for n, b := range list {
		inputs[n] = inputOf(c.words, b)
	}
	results, cancel := c.ahead(ctx, list, inputs)
	defer cancel()
	for n, b := range list {
		var result turnResult
		if results != nil && results[n] != nil {
			result = <-results[n]
		} else {
			result = c.call(ctx, b, phases.PassValidate, c.left, inputs[n])
		}
		c.count(b, phases.PassValidate, result)
		if c.words.Stopped() {
			return
		}
	}
}

// ahead starts the validators that reach nothing outside of the sandbox, as many
// at once as there are processors. A result is dropped unless its turn comes. The caller
// calls cancel when the chain waits for no more results; when the caller's own context
// ends, every turn still has to give one.
func (c *chain) ahead(caller context.Context, list []*binding, inputs []turnInput) ([]chan turnResult, func()) {
	can := 0
	for _, b := range list {
		if b.mayRunAhead() {
			can++
		}
	}
	if c.invocation.kernel.options.Sequential || c.invocation.parentBudget.nested() || can < 2 ||
		runtime.GOMAXPROCS(0) < 2 {
		return nil, func() {}
	}
	return c.start(caller, list, inputs, can)
}

// start is ahead for the validators that may run ahead, of which there are so many.
func (c *chain) start(
	caller context.Context,
	list []*binding,
	inputs []turnInput,
	can int,
) ([]chan turnResult, func()) {
	ctx, cancel := context.WithCancel(caller)
	results := make([]chan turnResult, len(list))
	left := c.left
	next := make(chan int, can)
	for n, b := range list {
		if b.mayRunAhead() {
			results[n] = make(chan turnResult, 1)
			next <- n
		}
	}
	close(next)
	for range min(runtime.GOMAXPROCS(0), can) {
		go func() {
			for n := range next {
				if ctx.Err() != nil && caller.Err() == nil {
					return // the chain waits for no more results
				}
				results[n] <- c.call(ctx, list[n], phases.PassValidate, left, inputs[n])
			}
		}()
	}
	return results, cancel
}

func (b *binding) mayRunAhead() bool { return b.ahead && b.fault == nil }

// require blocks when a hook that the operator wants to have run did not.
func (c *chain) require() {
	for _, r := range c.invocation.snap.require {
		view := c.words.View()
		if !slices.Contains(r.phases, view.Phase) {
			continue
		}
		if (view.Phase == phases.PreTool || view.Phase == phases.PostTool) &&
			!slices.ContainsFunc(c.words.ToolNames(), r.tools.Match) {
			continue
		}
		for _, name := range r.hooks {
			if !c.acted[name] {
				f := phases.NewFault(phases.KindLoad, "a required hook did not run: "+name, nil)
				c.words.Fail(kernelName, f)
				c.fault = f
				return
			}
		}
	}
}

// verdict returns the verdict of the hooks, and the failure that blocked it, if any.
func (c *chain) verdict(run RunState) (phases.Verdict, error) {
	verdict := c.words.Result()
	verdict.PolicyRevision = c.invocation.snap.revision
	verdict.Notes = append(slices.Clone(c.notes), verdict.Notes...)
	if c.reports != nil {
		verdict.Hooks = c.reports
	}
	if l := c.latched; l != nil {
		blockVerdict(&verdict, l.Kind, l.DecidedBy, l.denial())
		verdict.Enforced = phases.EnforcedLatched
		return verdict, nil
	}
	c.holdScopes(&verdict)
	c.pickRetry(&verdict, run)
	if c.fault != nil && verdict.Decision == phases.Block {
		return verdict, c.fault
	}
	return verdict, nil
}

// holdScopes blocks an action that is outside of its scopes, or of which that cannot be
// told, unless the caller holds it to them. The invocation's own scopes restrict like
// those that a hook narrowed.
func (c *chain) holdScopes(verdict *phases.Verdict) {
	inv := c.invocation.inv
	inv.Scopes = phases.Scopes{} // what runs the action can reach everything, as far as belay knows
	switch {
	case verdict.Decision == phases.Block:
		return
	case c.invocation.call != nil: // the tool of a hook: only the kernel holds it to its scopes
		inv.Scopes = c.invocation.call.reach
	case c.invocation.options.HoldsScopes:
		return
	}
	if err := phases.CheckScopes(inv, verdict.Action, verdict.Scopes); err != nil {
		f := faultOf(err, phases.KindPolicy, "the action is outside of its scopes")
		blockVerdict(verdict, f.Kind, kernelName, f.Text)
		c.outside = true
	}
}

// noteScopes says in the verdict who holds an action to scopes that restrict it, since
// the kernel has taken the caller's word for it.
func (c *chain) noteScopes(verdict *phases.Verdict) {
	switch {
	case c.invocation.options.OnBehalf:
	case c.outside:
		verdict.Notes = append(verdict.Notes,
			"a caller that holds actions to their scopes itself says so (holds_scopes); this one did not")
	case c.invocation.options.HoldsScopes && verdict.Decision != phases.Block && !verdict.Scopes.Contains(phases.Scopes{}):
		verdict.Notes = append(verdict.Notes, "the caller says that it holds the action to its scopes (holds_scopes)")
	}
}

// pickRetry takes the first wish for a retry that the run has not used up.
func (c *chain) pickRetry(verdict *phases.Verdict, run RunState) {
	c.retries = run.Retries
	if verdict.Retry == nil {
		return
	}
	verdict.Retry = nil
	for _, r := range c.words.Retries() {
		if run.Retries[r.Hook] >= r.Max {
			verdict.Notes = append(verdict.Notes, "retry of "+r.Hook+" used up in this run")
			continue
		}
		verdict.Retry = &r
		c.retries = maps.Clone(run.Retries)
		if c.retries == nil {
			c.retries = map[string]int{}
		}
		c.retries[r.Hook]++
		c.retried = true
		return
	}
}
