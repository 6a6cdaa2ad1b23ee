package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// RequireLease blocks an action unless its agent holds a lease that covers it; one
// use of the lease is taken in the verdict's transaction.
type RequireLease struct {
	Phases []phases.Phase // nil means pre_tool
	Tools  phases.Scope   // patterns of tools; nil means all. It counts in pre_tool only
	// Capability that the lease must have, such as tool:exec. NS:* stands for NS: and
	// the name of the tool, the model (pre_send) or the child agent (spawn).
	Capability string
}

func (r *RequireLease) matches(inv *phases.Invocation) bool {
	if r.Phases == nil {
		if inv.Phase != phases.PreTool {
			return false
		}
	} else if !slices.Contains(r.Phases, inv.Phase) {
		return false
	}
	return inv.Phase != phases.PreTool || slices.ContainsFunc(inv.ToolNames(), r.Tools.AllowsTool)
}

// needs returns the capability that the action needs.
func (r *RequireLease) needs(inv *phases.Invocation) string {
	ns, all := strings.CutSuffix(r.Capability, ":*")
	if !all {
		return r.Capability
	}
	name := inv.Tool()
	switch inv.Phase {
	case phases.PreSend:
		name, _ = phases.GetString(inv.Action, "/model")
	case phases.Spawn:
		name, _ = phases.GetString(inv.Action, "/child/agent")
	}
	return ns + ":" + name
}

func (s *snapshot) setLeases(cfg *Config) error {
	for i, r := range cfg.RequireLease {
		err := leases.CheckCapability(r.Capability)
		if err == nil {
			err = r.Tools.Validate(phases.ScopeTool)
		}
		if err == nil && (r.Phases != nil && len(r.Phases) == 0 || slices.Contains(r.Phases, phases.Audit)) {
			err = errors.New("phases that can be blocked, at least one")
		}
		if err != nil {
			return fmt.Errorf("%w: require_lease %d: %w", ErrConfig, i, err)
		}
	}
	s.requireLease, s.maxLease = cfg.RequireLease, cfg.MaxLeaseTTL
	for i, r := range cfg.LeaseRules {
		q, err := r.compile(i)
		if err != nil {
			return fmt.Errorf("%w: lease_rules %d: %w", ErrConfig, i, err)
		}
		s.leaseRules = append(s.leaseRules, q)
	}
	return nil
}

// leaseChange is one change of a lease that a turn wants, with its record. It is carried
// out in the verdict's transaction, or not at all.
type leaseChange struct {
	by     *binding   // nil: the kernel itself
	op     *leases.Op // nil: a request for a person
	always bool       // also when the verdict is no allow: taking back, asking
	what   string     // minted, claimed, renewed, revoked, requested, refused
	lease  leases.Lease
	issuer leases.Issuer
	notes  []string

	key      string         // of the request that it answers
	question []approvals.Op // of a request, or of the approval that it uses up
	events   []phases.Event
}

// book returns a ledger over the store.
func (k *Kernel) book(s leases.Store) *leases.Ledger {
	return &leases.Ledger{Store: s, Clock: clocks{k.options.Clock, k.options.Boot}, Key: k.options.LeaseKey}
}

// holder is whose leases count for the invocation.
func (i *invocation) holder() leases.Holder {
	return leases.HolderOf(i.inv, i.requester().Credential)
}

// takeLeaseChanges takes over the changes of a turn that succeeded. Of a mutator that was called
// again, its later word counts.
func (c *chain) takeLeaseChanges(b *binding, list []leaseChange) {
	c.leaseChanges = slices.DeleteFunc(c.leaseChanges, func(s leaseChange) bool { return s.by == b && !s.always })
	c.leaseChanges = append(c.leaseChanges, list...)
}

// leaseChanges are all changes of leases that one attempt makes.
type leaseChanges []leaseChange

// planLeases finds the leases that the operator requires for the final action and plans to
// take one use of each; without one the verdict becomes a block. It also passes
// leases on to a child agent. With an error, a *phases.Fault, the verdict has
// become a block, too.
func (i *invocation) planLeases(ctx context.Context, chain *chain, verdict *phases.Verdict) (leaseChanges, error) {
	out := leaseChanges(chain.leaseChanges)
	if verdict.Decision != phases.Allow && verdict.Enforced != phases.EnforcedDelegated || i.inv.Phase == phases.Audit {
		return out, nil
	}
	final := i.inv
	final.Action = verdict.Action
	applies := func(r RequireLease) bool { return r.matches(&final) }
	if i.inv.Phase != phases.Spawn && !slices.ContainsFunc(i.snap.requireLease, applies) {
		return out, nil // not even a look at the clock of the store: leases may be on another machine, and that away
	}
	desk := &desk{Store: i.kernel.options.Store, ops: chain.ops(nil)}
	if verdict.Decision != phases.Allow { // what hooks make does not come about then
		desk.ops = slices.DeleteFunc(desk.ops, func(op *leases.Op) bool {
			return op.Kind != leases.OpRevoke && op.Kind != leases.OpRevokePrefix
		})
	}
	book := i.kernel.book(desk)
	at, err := book.Now(ctx)
	if err == nil {
		out, err = i.planClaims(ctx, out, book, at, &final, verdict)
	}
	if err == nil && verdict.Decision == phases.Allow && i.inv.Phase == phases.Spawn {
		out, err = i.planPassOn(ctx, out, book, &final, verdict)
	}
	if err != nil {
		f := phases.FaultOf(err)
		if f == nil {
			f = storeFault("the leases could not be read", err)
		}
		blockVerdict(verdict, f.Kind, kernelName, f.Text)
		i.applyEnforcement(verdict)
		return leaseChanges(chain.leaseChanges), f
	}
	return out, nil
}

// planClaims plans one use of a lease for each rule that the action falls under.
func (i *invocation) planClaims(ctx context.Context, out leaseChanges, book *leases.Ledger, at leases.Instant,
	final *phases.Invocation, verdict *phases.Verdict) (leaseChanges, error) {
	who := i.holder()
	done := map[string]bool{}
	for n := range i.snap.requireLease {
		r := &i.snap.requireLease[n]
		if !r.matches(final) {
			continue
		}
		need := r.needs(final)
		if done[need] {
			continue // one lease is enough for one action
		}
		done[need] = true
		lease, err := i.kernel.findLease(ctx, book, who, at, need, final)
		if err != nil {
			return out, err
		}
		if lease == nil {
			blockVerdict(verdict, phases.KindPolicy, kernelName, lacking(need, final))
			i.applyEnforcement(verdict)
			return out, nil
		}
		op := book.Claim(at, lease.ID, who)
		out = append(out, leaseChange{op: &op, what: "claimed", lease: *lease, issuer: lease.Issuer})
		verdict.Notes = append(verdict.Notes, "lease "+lease.ID+" ("+need+"): one use taken")
	}
	return out, nil
}

// findLease returns the lease that a holder would use for the action: of those that
// cover it the one that ends first. Nil when there is none.
func (k *Kernel) findLease(ctx context.Context, book *leases.Ledger, who leases.Holder, at leases.Instant, need string,
	final *phases.Invocation) (*leases.Lease, error) {
	list, err := book.Store.HeldLeases(ctx, who, at)
	if err != nil {
		return nil, err
	}
	resolveLinks := k.linkResolver(ctx)
	for n := range list {
		if lease := &list[n]; lease.CoversCapability(need) && lease.Scope.Covers(*final, resolveLinks) {
			return lease, nil
		}
	}
	return nil, nil
}

// lacking names the missing lease, and the ways to get it.
func lacking(need string, final *phases.Invocation) string {
	s := "this needs a lease: capability " + phases.SafeLine(need, phases.MaxIDBytes)
	if tool := final.Tool(); tool != "" {
		s += ", covering this call of " + phases.SafeLine(tool, phases.MaxIDBytes)
		if phases.Opaque(*final) {
			s += " (scope {} or, for this very call only, args [\"" + leases.ArgsDigest(*final) + "\"])"
		}
	}
	return s + "; no active one is held by this agent in this session. A hook can ask for one (request_lease), or a person lends one: belay lease mint"
}

// planPassOn plans children of the leases that a spawn asks to pass, for the child.
func (i *invocation) planPassOn(ctx context.Context, out leaseChanges, book *leases.Ledger, final *phases.Invocation,
	verdict *phases.Verdict) (leaseChanges, error) {
	a, err := phases.DecodeAction(phases.Spawn, final.Action)
	if err != nil {
		return out, phases.NewFault(phases.KindProtocol, "the final action is not valid", err)
	}
	child := a.(*phases.SpawnAction).Child
	who := i.holder()
	heir := who
	heir.Agent = child.Agent
	for _, id := range child.Leases {
		lease, err := book.Get(ctx, id, &who)
		var minted leases.Minted
		if err == nil {
			at, aerr := book.Now(ctx)
			if aerr != nil {
				return out, aerr
			}
			scope := lease.Scope.Narrow(leases.Scope{Hosts: verdict.Scopes.Net, Tools: verdict.Scopes.Tools})
			heir.Credential = lease.Holder.Credential
			left := int64(lease.Remaining(at) / time.Second)
			minted, err = book.Mint(ctx, leases.Request{
				Parent: lease.ID, Capability: lease.Capability, Scope: &scope, TTLS: left, MaxTTLS: left,
				MaxUses: lease.MaxUses - lease.Uses,
			}, heir, leases.Issuer{Kind: leases.BySpawn, Invocation: i.inv.ID}, leases.Rule{MaxTTL: leases.MaxLifetime})
		}
		var refused *leases.Error
		if errors.As(err, &refused) {
			blockVerdict(verdict, phases.KindPolicy, kernelName, "a lease cannot be passed on to the child: "+refused.Text)
			i.applyEnforcement(verdict)
			return out, nil
		}
		if err != nil {
			return out, err
		}
		op := minted.Op
		out = append(out, leaseChange{op: &op, what: "minted", lease: op.Lease, issuer: op.Lease.Issuer})
		book.Store.(*desk).ops = append(book.Store.(*desk).ops, &op)
		verdict.Notes = append(verdict.Notes, "lease "+lease.ID+" passed on to agent "+
			phases.SafeLine(child.Agent, phases.MaxIDBytes)+" as "+
			op.Lease.ID)
	}
	return out, nil
}

// stage adds the changes that count under the final verdict, and their events, to the batch.
func (l leaseChanges) stage(batch *Batch, i *invocation, verdict *phases.Verdict) error {
	allowed := verdict.Decision == phases.Allow
	for n := range l {
		change := &l[n]
		if !change.always && !allowed && (change.what != "claimed" || verdict.Enforced != phases.EnforcedDelegated) {
			continue
		}
		event, err := i.kernel.leaseEvent(change, i.redactor(), i.snap.revision, batch.Now)
		if err != nil {
			return err
		}
		for _, op := range change.question {
			if op.Create == nil {
				continue
			}
			if err := i.redactItem(op.Create); err != nil {
				return err
			}
			for n := range change.events {
				if event := &change.events[n]; event.Type == phases.EventApproval && event.Decision == "requested" {
					id := event.ID
					*event = i.kernel.approvalEvent(op.Create, event.Decision, event.Time, i.snap.revision)
					event.ID = id
				}
			}
		}
		event.Invocation, event.Phase, event.Run = i.inv.ID, i.inv.Phase, i.inv.Run
		if event.Tool, err = i.redactor().Text(phases.SafeLine(i.inv.Tool(), phases.MaxIDBytes)); err != nil {
			return err
		}
		if change.op != nil {
			batch.Leases = append(batch.Leases, *change.op)
		}
		batch.Approvals = append(batch.Approvals, change.question...)
		batch.Events = append(append(batch.Events, event), change.events...)
	}
	return nil
}

// leaseEvent records lender, holder and lease. It holds no token.
func (k *Kernel) leaseEvent(change *leaseChange, redactor Redactor, revision string,
	now time.Time) (phases.Event, error) {
	lease := &change.lease
	event := phases.Event{
		ID: k.options.NewID(now), Type: phases.EventLease, Time: now, Decision: change.what, PolicyRevision: revision,
		DecidedBy: change.issuer.Kind, Notes: change.notes,
		Runtime: phases.SafeLine(lease.Holder.Runtime, phases.MaxRuntimeBytes),
		Session: phases.SafeLine(lease.Holder.Session, phases.MaxIDBytes),
		Agent:   phases.SafeLine(lease.Holder.Agent, phases.MaxIDBytes),
		User:    phases.SafeLine(change.issuer.Person, phases.MaxIDBytes), Reason: "lease " + changedID(change),
		Signer: change.issuer.Signer,
	}
	if change.by != nil {
		event.Binding, event.HookDigest, event.Tier = change.by.spec.Name, change.by.digest, change.by.tier
		if change.by.loaded != nil {
			event.HookVersion, event.Signer = change.by.loaded.Version, change.by.loaded.Signer
		}
	}
	doc := struct {
		What  string         `json:"what"`
		Lease jsontext.Value `json:"lease,omitzero"`
		ID    string         `json:"id,omitzero"`
	}{What: change.what, ID: changedID(change)}
	if lease.Capability != "" {
		raw, err := json.Marshal(lease)
		if err != nil {
			return event, err
		}
		redacted, masked, err := redactor.JSON(raw)
		if err != nil {
			return event, err
		}
		doc.Lease = redacted
		for _, m := range masked {
			event.Masked = append(event.Masked, "/output/lease"+m)
		}
	}
	raw, err := json.Marshal(doc)
	event.Output = raw
	return event, err
}

func changedID(s *leaseChange) string {
	if s.lease.ID == "" && s.op != nil {
		return s.op.ID
	}
	return s.lease.ID
}

// ops returns the changes that turns that count have planned, apart from those of hook b: a hook
// that is called again begins anew.
func (c *chain) ops(but *binding) []*leases.Op {
	var out []*leases.Op
	for n := range c.leaseChanges {
		if s := &c.leaseChanges[n]; s.op != nil && (but == nil || s.by != but || s.always) {
			out = append(out, s.op)
		}
	}
	return out
}

// ruleName names an operator's rule in records.
func ruleName(n int) string { return "lease_rules " + strconv.Itoa(n) }
