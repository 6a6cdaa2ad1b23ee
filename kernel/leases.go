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
	return inv.Phase != phases.PreTool || r.Tools.AllowsTool(inv.Tool())
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

// staged is one change of a lease that a turn wants, with its record. It is carried
// out in the verdict's transaction, or not at all.
type staged struct {
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
	return &leases.Ledger{Store: s, Clock: clocks{k.o.Clock, k.o.Boot}, Key: k.o.LeaseKey}
}

// holder is whose leases count for the invocation.
func (i *invocation) holder() leases.Holder {
	return leases.HolderOf(i.inv, i.requester().Credential)
}

// takeLeases takes over what a turn that succeeded did. Of a mutator that was called
// again, its later word counts.
func (c *chain) takeLeases(b *binding, list []staged) {
	c.lent = slices.DeleteFunc(c.lent, func(s staged) bool { return s.by == b && !s.always })
	c.lent = append(c.lent, list...)
}

// lending is everything that one attempt does with leases.
type lending []staged

// lend finds the leases that the operator requires for the final action and plans to
// take one use of each; without one the verdict becomes a block. It also passes
// leases on to a child agent. With an error, a *phases.Fault, the verdict has
// become a block, too.
func (i *invocation) lend(ctx context.Context, c *chain, v *phases.Verdict) (lending, error) {
	out := lending(c.lent)
	if v.Decision != phases.Allow && v.Enforced != phases.EnforcedDelegated || i.inv.Phase == phases.Audit {
		return out, nil
	}
	if len(i.snap.requireLease) == 0 && i.inv.Phase != phases.Spawn {
		return out, nil // most hosts: not even a look at the clock of the store
	}
	final := i.inv
	final.Action = v.Action
	desk := &desk{Store: i.k.o.Store, ops: c.ops(nil)}
	if v.Decision != phases.Allow { // what hooks make does not come about then
		desk.ops = slices.DeleteFunc(desk.ops, func(op *leases.Op) bool {
			return op.Kind != leases.OpRevoke && op.Kind != leases.OpRevokePrefix
		})
	}
	book := i.k.book(desk)
	at, err := book.Now(ctx)
	if err == nil {
		out, err = i.claims(ctx, out, book, at, &final, v)
	}
	if err == nil && v.Decision == phases.Allow && i.inv.Phase == phases.Spawn {
		out, err = i.passOn(ctx, out, book, &final, v)
	}
	if err != nil {
		f := phases.FaultOf(err)
		if f == nil {
			f = storeFault("the leases could not be read", err)
		}
		blockVerdict(v, f.Kind, kernelName, f.Text)
		i.settle(v)
		return lending(c.lent), f
	}
	return out, nil
}

// claims plans one use of a lease for each rule that the action falls under.
func (i *invocation) claims(ctx context.Context, out lending, book *leases.Ledger, at leases.Instant,
	final *phases.Invocation, v *phases.Verdict) (lending, error) {
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
		l, err := i.k.find(ctx, book, who, at, need, final)
		if err != nil {
			return out, err
		}
		if l == nil {
			blockVerdict(v, phases.KindPolicy, kernelName, lacking(need, final))
			i.settle(v)
			return out, nil
		}
		op := book.Claim(at, l.ID, who)
		out = append(out, staged{op: &op, what: "claimed", lease: *l, issuer: l.Issuer})
		v.Notes = append(v.Notes, "lease "+l.ID+" ("+need+"): one use taken")
	}
	return out, nil
}

// find returns the lease that a holder would use for the action: of those that
// cover it the one that ends first. Nil when there is none.
func (k *Kernel) find(ctx context.Context, book *leases.Ledger, who leases.Holder, at leases.Instant, need string,
	final *phases.Invocation) (*leases.Lease, error) {
	list, err := book.Store.HeldLeases(ctx, who, at)
	if err != nil {
		return nil, err
	}
	follow := k.follower(ctx)
	for n := range list {
		if l := &list[n]; l.CoversCapability(need) && l.Scope.Covers(*final, follow) {
			return l, nil
		}
	}
	return nil, nil
}

// lacking says what is missing and how to get it.
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

// passOn plans children of the leases that a spawn asks to pass, for the child.
func (i *invocation) passOn(ctx context.Context, out lending, book *leases.Ledger, final *phases.Invocation,
	v *phases.Verdict) (lending, error) {
	a, err := phases.DecodeAction(phases.Spawn, final.Action)
	if err != nil {
		return out, phases.NewFault(phases.KindProtocol, "the final action is not valid", err)
	}
	child := a.(*phases.SpawnAction).Child
	who := i.holder()
	heir := who
	heir.Agent = child.Agent
	for _, id := range child.Leases {
		l, err := book.Get(ctx, id, &who)
		var m leases.Minted
		if err == nil {
			at, aerr := book.Now(ctx)
			if aerr != nil {
				return out, aerr
			}
			scope := l.Scope.Narrow(leases.Scope{Hosts: v.Scopes.Net, Tools: v.Scopes.Tools})
			heir.Credential = l.Holder.Credential
			left := int64(l.Remaining(at) / time.Second)
			m, err = book.Mint(ctx, leases.Request{
				Parent: l.ID, Capability: l.Capability, Scope: &scope, TTLS: left, MaxTTLS: left, MaxUses: l.MaxUses - l.Uses,
			}, heir, leases.Issuer{Kind: leases.BySpawn, Invocation: i.inv.ID}, leases.Rule{MaxTTL: leases.MaxLifetime})
		}
		var refused *leases.Error
		if errors.As(err, &refused) {
			blockVerdict(v, phases.KindPolicy, kernelName, "a lease cannot be passed on to the child: "+refused.Text)
			i.settle(v)
			return out, nil
		}
		if err != nil {
			return out, err
		}
		op := m.Op
		out = append(out, staged{op: &op, what: "minted", lease: op.Lease, issuer: op.Lease.Issuer})
		book.Store.(*desk).ops = append(book.Store.(*desk).ops, &op)
		v.Notes = append(v.Notes, "lease "+l.ID+" passed on to agent "+phases.SafeLine(child.Agent, phases.MaxIDBytes)+" as "+
			op.Lease.ID)
	}
	return out, nil
}

// into adds to the batch what counts under the final verdict, and its record.
func (l lending) into(b *Batch, i *invocation, v *phases.Verdict) error {
	allowed := v.Decision == phases.Allow
	for n := range l {
		s := &l[n]
		if !s.always && !allowed && (s.what != "claimed" || v.Enforced != phases.EnforcedDelegated) {
			continue
		}
		e, err := i.k.leaseEvent(s, i.redactor(), i.snap.revision, b.Now)
		if err != nil {
			return err
		}
		for _, op := range s.question {
			if op.Create == nil {
				continue
			}
			if err := i.coverItem(op.Create); err != nil {
				return err
			}
			for n := range s.events {
				if e := &s.events[n]; e.Type == phases.EventApproval && e.Decision == "requested" {
					id := e.ID
					*e = i.k.approvalEvent(op.Create, e.Decision, e.Time, i.snap.revision)
					e.ID = id
				}
			}
		}
		e.Invocation, e.Phase, e.Run = i.inv.ID, i.inv.Phase, i.inv.Run
		if e.Tool, err = i.redactor().Text(phases.SafeLine(i.inv.Tool(), phases.MaxIDBytes)); err != nil {
			return err
		}
		if s.op != nil {
			b.Leases = append(b.Leases, *s.op)
		}
		b.Approvals = append(b.Approvals, s.question...)
		b.Events = append(append(b.Events, e), s.events...)
	}
	return nil
}

// leaseEvent records who lent what to whom. There is no token in it.
func (k *Kernel) leaseEvent(s *staged, r Redactor, revision string, now time.Time) (phases.Event, error) {
	l := &s.lease
	e := phases.Event{
		ID: k.o.NewID(now), Type: phases.EventLease, Time: now, Decision: s.what, PolicyRevision: revision,
		DecidedBy: s.issuer.Kind, Notes: s.notes,
		Runtime: phases.SafeLine(l.Holder.Runtime, phases.MaxRuntimeBytes),
		Session: phases.SafeLine(l.Holder.Session, phases.MaxIDBytes),
		Agent:   phases.SafeLine(l.Holder.Agent, phases.MaxIDBytes),
		User:    phases.SafeLine(s.issuer.Person, phases.MaxIDBytes), Reason: "lease " + cmpID(s), Signer: s.issuer.Signer,
	}
	if s.by != nil {
		e.Binding, e.HookDigest, e.Tier = s.by.spec.Name, s.by.digest, s.by.tier
		if s.by.loaded != nil {
			e.HookVersion, e.Signer = s.by.loaded.Version, s.by.loaded.Signer
		}
	}
	doc := struct {
		What  string         `json:"what"`
		Lease jsontext.Value `json:"lease,omitzero"`
		ID    string         `json:"id,omitzero"`
	}{What: s.what, ID: cmpID(s)}
	if l.Capability != "" {
		raw, err := json.Marshal(l)
		if err != nil {
			return e, err
		}
		covered, masked, err := r.JSON(raw)
		if err != nil {
			return e, err
		}
		doc.Lease = covered
		for _, m := range masked {
			e.Masked = append(e.Masked, "/output/lease"+m)
		}
	}
	raw, err := json.Marshal(doc)
	e.Output = raw
	return e, err
}

func cmpID(s *staged) string {
	if s.lease.ID == "" && s.op != nil {
		return s.op.ID
	}
	return s.lease.ID
}

// ops returns what turns that count have planned, but for what hook b did: a hook
// that is called again begins anew.
func (c *chain) ops(but *binding) []*leases.Op {
	var out []*leases.Op
	for n := range c.lent {
		if s := &c.lent[n]; s.op != nil && (but == nil || s.by != but || s.always) {
			out = append(out, s.op)
		}
	}
	return out
}

// ruleName names an operator's rule in records.
func ruleName(n int) string { return "lease_rules " + strconv.Itoa(n) }
