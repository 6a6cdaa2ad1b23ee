package phases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Turn is what one hook did when it was called once.
type Turn struct {
	By       Actor
	Pass     Pass
	Effects  []Effect
	Fault    *Fault // set: the turn failed and its effects do not count
	FailText string // what the hook gave to fail, shown after the fault's own text
}

// TurnResult tells what a turn amounted to.
type TurnResult struct {
	Decision  HookDecision // empty when Discarded
	Reason    string       // of a block, an ask, a grant or a failure; safe to show
	Kind      Kind         // policy for a block or an ask, the failure's kind for an error
	Stop      bool         // the chain has ended: call no further enforcing hook
	Changed   bool         // the action or the scopes differ from before
	Discarded bool         // the chain had ended before: nothing of the turn counts
	Notes     []string
}

// Chain combines the turns of one invocation in the order in which they count.
// It is a state machine without I/O: the kernel asks it what the next hook sees
// (View, Metadata), runs the hook, and adds the turn. Not safe for concurrent use.
type Chain struct {
	inv      Invocation // as it came in, normalised
	state    chainState
	revision int
	stopped  bool
	decision Decision
	reason   string
	kind     Kind
	by       string
	asks     []AskRef
	reply    *Reply
	retries  []Retry
	grant    *Grant
	notes    []string
	contexts []string
	things   []Artifact

	buffers    *Buffers
	facts      *facts  // of the action as it stands
	document   *Strict // as Document returns it; nil: not built yet
	apart      *Strict // as DocumentApart does where it differs
	bagChecked bool    // the metadata that the chain began with is valid
}

// chainState is what a turn changes as a transaction.
type chainState struct {
	action   jsontext.Value
	scopes   Scopes
	metadata Metadata
}

// AskRef is one hook's wish that a person decides.
type AskRef struct {
	Hook         string
	Digest       string
	ConfigDigest string
	Reason       string
	Document     jsontext.Value // what the hook gave to request_approval, or nil
}

// NewChain starts a chain. The invocation's scopes are cut to the ceiling, its tool
// name normalised (see Normalize). metadata is the run's bag and is not changed. The
// error is a *DecodeError for the invocation or of class ErrScope for the ceiling.
func NewChain(inv Invocation, metadata Metadata, ceiling Scopes) (*Chain, error) {
	return NewCheckedChain(Checked{}, inv, metadata, ceiling)
}

// NewCheckedChain is NewChain for an invocation that has been checked: its action and metadata, where they are the ones
// of checked, are not checked again.
func NewCheckedChain(checked Checked, inv Invocation, metadata Metadata, ceiling Scopes) (*Chain, error) {
	inv, err := normalize(checked, inv)
	if err != nil {
		return nil, err
	}
	if err := inv.validateAfter(checked); err != nil {
		return nil, err
	}
	if err := ceiling.Validate(); err != nil {
		return nil, err
	}
	first := &struct { // most chains end with the action that they began with
		chain Chain
		facts facts
	}{}
	first.facts.checked = checked
	first.chain = Chain{
		inv:      inv,
		state:    chainState{action: inv.Action, scopes: inv.Scopes.Intersect(ceiling), metadata: metadata},
		decision: Allow,
		facts:    &first.facts,
	}
	return &first.chain, nil
}

// UseBuffers has the chain compute digests in memory that is used again.
func (c *Chain) UseBuffers(b *Buffers) { c.buffers = b }

// View returns the invocation as the next hook sees it: the action as changed
// and the scopes as clamped so far.
func (c *Chain) View() Invocation {
	inv := c.inv
	inv.Action, inv.Scopes = c.state.action, c.state.scopes
	return inv
}

// Metadata returns the run's bag as annotated so far.
func (c *Chain) Metadata() Metadata { return maps.Clone(c.state.metadata) }

// Revision counts the turns that changed the action or its scopes. A mutator
// whose turn was followed by a higher revision than it left behind has not
// judged what will run, and is called again in the validate pass.
func (c *Chain) Revision() int { return c.revision }

// Stopped reports whether the chain has ended: a hook blocked or failed.
func (c *Chain) Stopped() bool { return c.stopped }

// Asking returns the hooks that want a person to decide, in order.
func (c *Chain) Asking() []AskRef { return slices.Clone(c.asks) }

// Retries returns all wishes for a retry in order; the verdict carries the first.
func (c *Chain) Retries() []Retry { return slices.Clone(c.retries) }

// Add counts one turn. Effects of a turn are a transaction: all of them are
// applied, or, when one is refused or the turn failed, none, and the chain ends
// in a block of the failure's kind. A block ends it too: the first reason stays,
// and of what the hook asked for after it only annotations and redactions are
// kept, for the record. Turns after the end are discarded. A turn of an observing
// binding is checked alike, but changes nothing and ends nothing.
func (c *Chain) Add(turn Turn) TurnResult {
	if turn.By.observes() || turn.Pass == PassObserve {
		return c.observe(turn)
	}
	if c.stopped {
		return TurnResult{Stop: true, Discarded: true, Notes: []string{"discarded: the chain had ended"}}
	}
	if turn.Fault != nil {
		return c.fail(turn, turn.Fault, turn.FailText)
	}
	p := &pending{chain: c, turn: turn, state: c.state}
	if f := p.run(); f != nil {
		return c.fail(turn, f, "")
	}
	return c.commit(turn, p)
}

// Fail ends the chain in a block that no hook decided, such as a store that is
// down or a required hook that did not run. by is a binding's name or "belay".
func (c *Chain) Fail(by string, f *Fault) TurnResult {
	if c.stopped {
		return TurnResult{Stop: true, Discarded: true}
	}
	return c.fail(Turn{By: Actor{Hook: by}}, f, "")
}

// fail ends the chain: a hook that failed has not agreed.
func (c *Chain) fail(t Turn, f *Fault, text string) TurnResult {
	reason := SafeText(f.Text, MaxReasonBytes)
	if text = SafeText(text, maxFailBytes); text != "" {
		reason = SafeText(reason+": "+text, MaxReasonBytes)
	}
	kind := f.Kind
	if kind == "" || kind == KindPolicy {
		kind = KindProtocol // a failure never passes for a decision
	}
	c.block(t.By.Hook, reason, kind)
	return TurnResult{Decision: HookError, Reason: reason, Kind: kind, Stop: true}
}

func (c *Chain) block(by, reason string, kind Kind) {
	if by == "" {
		by = kernelName
	}
	c.stopped, c.decision, c.by, c.reason, c.kind = true, Block, by, reason, kind
}

// kernelName stands in DecidedBy when no hook decided.
const kernelName = "belay"

// commit takes over what a turn that succeeded asked for.
func (c *Chain) commit(turn Turn, pending *pending) TurnResult {
	result := TurnResult{Decision: HookNone, Notes: pending.notes}
	result.Changed = !Same(c.state.action, pending.state.action) || !c.state.scopes.Equal(pending.state.scopes)
	if result.Changed || pending.added {
		result.Decision = HookTransform
	}
	before := c.state
	c.state = pending.state
	c.changed(before, pending.annotated)
	if result.Changed {
		c.revision++
		if c.grant != nil { // the granted action is not the one that would run
			c.notes = append(c.notes, "the grant of "+SafeLine(c.grant.Hook, MaxIDBytes)+" dropped: the action changed after it")
			c.grant = nil
		}
	}
	c.contexts = append(c.contexts, pending.contexts...)
	c.things = append(c.things, pending.artifacts...)
	c.retries = append(c.retries, pending.retries...)
	c.notes = append(c.notes, pending.notes...)
	if c.reply == nil {
		c.reply = pending.reply
	}
	if pending.grant != nil {
		result.Decision, result.Reason = HookGrant, pending.grant.Reason
		if c.grant == nil {
			c.grant = pending.grant
		}
	}
	if pending.ask != nil {
		result.Decision, result.Reason, result.Kind = HookAsk, pending.ask.Reason, KindPolicy
		if c.decision == Allow {
			c.decision, c.by, c.reason, c.kind = Ask, turn.By.Hook, pending.ask.Reason, KindPolicy
		}
		c.asks = append(c.asks, *pending.ask)
	}
	if pending.blocked {
		result.Decision, result.Reason, result.Kind, result.Stop = HookBlock, pending.reason, KindPolicy, true
		c.block(turn.By.Hook, pending.reason, KindPolicy)
	}
	return result
}

// observe reports what a turn would have done.
func (c *Chain) observe(t Turn) TurnResult {
	if t.Fault != nil {
		return TurnResult{Decision: HookError, Reason: SafeText(t.Fault.Text, MaxReasonBytes), Kind: t.Fault.Kind,
			Stop: c.stopped}
	}
	shadow := *c
	shadow.stopped, shadow.decision, shadow.asks, shadow.notes = false, Allow, nil, nil
	shadow.contexts, shadow.things, shadow.retries = nil, nil, nil
	t.By.Mode, t.Pass = Enforce, PassMutate
	if c.inv.Phase == Audit {
		t.Pass = PassAudit
	}
	r := shadow.Add(t)
	r.Stop = c.stopped
	return r
}

// pending is a turn on its way.
type pending struct {
	chain     *Chain
	turn      Turn
	state     chainState
	added     bool // something was added to the verdict
	annotated bool // something was added to the metadata
	blocked   bool
	reason    string
	ask       *AskRef
	grant     *Grant
	reply     *Reply
	retries   []Retry
	contexts  []string
	artifacts []Artifact
	notes     []string
}

// run applies all effects, or returns why none of them counts.
func (p *pending) run() *Fault {
	count, size := 0, 0
	for _, effect := range p.turn.Effects {
		if effect.Kind != EffectBlock {
			count++
			size += effectSize(effect)
		}
		if count > maxEffects || size > maxEffectsBytes {
			return NewFault(KindOutput, "a hook asked for too much in one turn",
				effectError(ErrTooLarge, effect, "effects beyond the limit"))
		}
		if p.blocked && effect.Kind != EffectAnnotate && effect.Kind != EffectRedact {
			p.notes = append(p.notes, fmt.Sprintf("%s after block dropped", SafeLine(string(effect.Kind), 32)))
			continue
		}
		if err := p.apply(effect); err != nil {
			return faultOf(err)
		}
	}
	return nil
}

func faultOf(err error) *Fault {
	if f, ok := err.(interface{ Fault() *Fault }); ok {
		return f.Fault()
	}
	return NewFault(KindOutput, refusedText, err)
}

func (p *pending) apply(effect Effect) error {
	c, turn := p.chain, p.turn
	action, err := ApplyEffect(c.inv.Phase, turn.Pass, p.state.action, turn.By, effect)
	if err != nil {
		return err
	}
	p.state.action = action
	switch effect.Kind {
	case EffectBlock:
		p.blocked, p.reason = true, SafeText(effect.Text, MaxReasonBytes)
	case EffectAsk:
		if p.ask == nil {
			p.ask = &AskRef{
				Hook: turn.By.Hook, Digest: turn.By.Digest, ConfigDigest: turn.By.ConfigDigest,
				Reason: SafeText(effect.Text, MaxReasonBytes), Document: effect.Value,
			}
		}
	case EffectClamp:
		scopes := p.state.scopes.Intersect(*effect.Scopes)
		if turn.Pass == PassValidate && !scopes.Equal(p.state.scopes) {
			return effectError(errUnstable, effect, "the scopes were already judged in another form")
		}
		p.state.scopes = scopes
	case EffectAnnotate:
		if p.state.metadata, err = annotate(p.state.metadata, turn.By, effect); err != nil {
			return err
		}
		p.added, p.annotated = true, true
	case EffectContext:
		p.contexts, p.added = append(p.contexts, labelled(turn.By, effect.Text)), true
	case EffectRetry:
		r, err := decodeRetry(turn.By, effect)
		if err != nil {
			return err
		}
		p.retries, p.added = append(p.retries, r), true
	case EffectReply:
		r, err := decodeReply(turn.By, effect)
		if err != nil {
			return err
		}
		if p.reply == nil {
			p.reply = &r
		}
		p.added = true
	case EffectArtifact:
		a, err := decodeArtifact(turn.By, effect)
		if err != nil {
			return err
		}
		p.artifacts, p.added = append(p.artifacts, a), true
	case EffectGrant:
		if p.grant == nil {
			p.grant = &Grant{Reason: SafeText(effect.Text, MaxReasonBytes), Hook: turn.By.Hook}
		}
	}
	return nil
}

// Result returns the verdict so far. ID, phase, decision and everything that
// turns add up to are set; approvals, masks, policy, enforcement, hook reports
// and events are the kernel's to fill in. A block carries no reply, retry or
// grant and an ask no grant: a caller must not act on a leftover of a chain that said no.
func (c *Chain) Result() Verdict {
	verdict := Verdict{
		ID: c.inv.ID, Phase: c.inv.Phase, Decision: c.decision, Reason: c.reason, Kind: c.kind, DecidedBy: c.by,
		Action: c.state.action, Changed: Diff(c.inv.Action, c.state.action), Scopes: c.state.scopes,
		Metadata: maps.Clone(c.state.metadata), Contexts: slices.Clone(c.contexts), Artifacts: slices.Clone(c.things),
		Masked: []string{}, Hooks: []HookReport{}, Notes: slices.Clone(c.notes),
	}
	if verdict.Metadata == nil {
		verdict.Metadata = Metadata{}
	}
	if verdict.Contexts == nil {
		verdict.Contexts = []string{}
	}
	if verdict.Artifacts == nil {
		verdict.Artifacts = []Artifact{}
	}
	var dropped []string
	if c.reply != nil {
		if verdict.Decision == Block {
			dropped = append(dropped, "reply")
		} else {
			verdict.Reply = c.reply
		}
	}
	if len(c.retries) > 0 {
		if verdict.Decision == Block {
			dropped = append(dropped, "retry")
		} else {
			r := c.retries[0]
			verdict.Retry = &r
		}
	}
	if c.grant != nil {
		if verdict.Decision != Allow {
			dropped = append(dropped, "grant")
		} else {
			verdict.Grant = c.grant
		}
	}
	if len(dropped) > 0 {
		verdict.Notes = append(verdict.Notes,
			fmt.Sprintf("%s dropped: the decision is %s", strings.Join(dropped, ", "), verdict.Decision))
	}
	digest, err := c.digest()
	if err != nil { // no digest, no binding of a verdict to what runs
		verdict.Decision, verdict.Kind, verdict.DecidedBy = Block, KindProtocol, kernelName
		verdict.Reason = "the action has no canonical form"
		verdict.Reply, verdict.Retry, verdict.Grant = nil, nil, nil
	}
	verdict.ActionDigest = digest
	return verdict
}
