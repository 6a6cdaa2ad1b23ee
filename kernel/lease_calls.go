package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// turnLedger answers the lease calls of one turn. What they change is staged: it
// comes about with the verdict, or not. It is used by one goroutine.
type turnLedger struct {
	chain   *chain
	binding *binding
	view    *phases.Invocation
	desk    *desk
	book    *leases.Ledger
	done    []leaseChange
	notes   []string
}

func (c *chain) ledger(b *binding, view *phases.Invocation) *turnLedger {
	d := &desk{Store: c.invocation.kernel.options.Store, ops: c.ops(b)}
	return &turnLedger{chain: c, binding: b, view: view, desk: d, book: c.invocation.kernel.book(d)}
}

// The documents of the lease calls; docs/ABI.md has them. Unknown members are refused.
type (
	mintDocument struct {
		leases.Request
		Holder *struct { // default: the invocation's own
			Session string `json:"session"`
			Agent   string `json:"agent"`
		} `json:"holder,omitzero"`
		For string `json:"for,omitzero"` // id of a request in the queue that this answers
	}
	renewDocument struct {
		Renew string `json:"renew"`
		TTLS  int64  `json:"ttl_s"`
	}
	revokeDocument struct {
		ID     string `json:"id,omitzero"`
		Prefix string `json:"prefix,omitzero"`
	}
	checkDocument struct {
		ID         string        `json:"id,omitzero"`
		Token      string        `json:"token,omitzero"`
		Capability string        `json:"capability,omitzero"`
		Scope      *leases.Scope `json:"scope,omitzero"`    // with Capability: instead of the action
		Requests   bool          `json:"requests,omitzero"` // what waits for a decision
	}
	requestDocument struct {
		leases.Request
		Reason string `json:"reason"`
	}

	checkReply struct {
		Active   bool           `json:"active"`
		Lease    *leases.View   `json:"lease,omitzero"`
		Requests []leaseRequest `json:"requests,omitzero"`
	}

	// leaseRequest is a request that waits for a decision.
	leaseRequest struct {
		ID      string         `json:"id"`
		Hook    string         `json:"hook"`
		Reason  string         `json:"reason"`
		Lease   leases.Request `json:"lease"`
		Expires time.Time      `json:"expires"`
	}

	pendingReply struct {
		Approval string    `json:"approval"`
		Expires  time.Time `json:"expires"`
	}
)

func strictLease(raw jsontext.Value, into any) error {
	if err := json.Unmarshal(raw, into, json.RejectUnknownMembers(true)); err != nil {
		return &leases.Error{Class: leases.ErrInvalid, Text: "the request is not a valid document: " +
			phases.SafeLine(err.Error(), 256)}
	}
	return nil
}

// refusal turns an error into the answer for a guest; errors of the store end the turn.
func refusal(err error) error {
	var e *leases.Error
	if !errors.As(err, &e) {
		return err
	}
	no := hostcalls.Denied
	switch {
	case errors.Is(e, leases.ErrUnknown):
		no = hostcalls.Absent
	case errors.Is(e, leases.ErrInvalid):
		no = hostcalls.Invalid
	case errors.Is(e, leases.ErrQuota):
		no = hostcalls.Budget
	}
	doc, merr := json.Marshal(map[string]string{"error": phases.SafeLine(e.Text, 512)})
	if merr != nil {
		return no
	}
	return &hostcalls.Refusal{Errno: no, Reply: doc}
}

func reply(v any, err error) (jsontext.Value, error) {
	if err != nil {
		return nil, refusal(err)
	}
	raw, err := json.Marshal(v, json.Deterministic(true))
	return raw, err
}

func (t *turnLedger) stage(s leaseChange) {
	s.by = t.binding
	t.done = append(t.done, s)
	if s.op != nil {
		t.desk.ops = append(t.desk.ops, s.op)
	}
	t.notes = append(t.notes, "lease "+changedID(&s)+": "+s.what)
}

func (t *turnLedger) issuer() leases.Issuer {
	return leases.Issuer{Kind: leases.ByHook, Hook: t.binding.spec.Name, Digest: t.binding.digest,
		Signer:     t.binding.loaded.Signer,
		Invocation: t.chain.invocation.inv.ID}
}

func (t *turnLedger) rule() leases.Rule { return leases.Rule{MaxTTL: t.chain.invocation.snap.maxLease} }

// Mint implements hostcalls.LeaseLedger. The call itself is for trusted hooks only.
func (t *turnLedger) Mint(ctx context.Context, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	if _, ok := phases.Get(request, "/renew"); ok {
		return reply(t.renew(ctx, request))
	}
	return reply(t.mint(ctx, request))
}

func (t *turnLedger) mint(ctx context.Context, request jsontext.Value) (*leases.View, error) {
	var doc mintDocument
	if err := strictLease(request, &doc); err != nil {
		return nil, err
	}
	holder := t.chain.invocation.holder()
	if h := doc.Holder; h != nil {
		if err := checkNames(h.Session, h.Agent); err != nil {
			return nil, err
		}
		holder.Session, holder.Agent = h.Session, h.Agent
	}
	change := leaseChange{what: "minted", issuer: t.issuer()}
	if doc.For != "" {
		it, asked, err := t.asked(ctx, doc.For, &holder)
		if err != nil {
			return nil, err
		}
		if err := within(&doc.Request, asked); err != nil {
			return nil, err
		}
		change.question = []approvals.Op{{Change: &approvals.Change{ID: it.ID, From: approvals.Pending,
			To: approvals.Superseded,
			At: t.chain.invocation.at}}}
		next := change.question[0].Change.Apply(*it)
		change.events = []phases.Event{t.chain.invocation.kernel.approvalEvent(&next, string(approvals.Superseded),
			t.chain.invocation.at.Wall,
			t.chain.invocation.snap.revision)}
	}
	return t.make(ctx, doc.Request, holder, change)
}

// make stages a new lease and shows it with its token.
func (t *turnLedger) make(ctx context.Context, r leases.Request, holder leases.Holder,
	s leaseChange) (*leases.View, error) {
	m, err := t.book.Mint(ctx, r, holder, s.issuer, t.rule())
	if err != nil {
		return nil, err
	}
	op := m.Op
	s.op, s.lease = &op, op.Lease
	t.stage(s)
	return leases.ViewOf(&op.Lease, op.At, m.Token), nil
}

func checkNames(session, agent string) error {
	inv := phases.Invocation{Session: session, Agent: agent, Phase: phases.Audit, Action: jsontext.Value(`{"kind":"x"}`)}
	if err := inv.Validate(); err != nil {
		return &leases.Error{Class: leases.ErrInvalid, Text: "holder: " + err.Error()}
	}
	return nil
}

func (t *turnLedger) renew(ctx context.Context, request jsontext.Value) (*leases.View, error) {
	var doc renewDocument
	if err := strictLease(request, &doc); err != nil {
		return nil, err
	}
	l, err := t.own(ctx, doc.Renew)
	if err != nil {
		return nil, err
	}
	op, err := t.book.Renew(ctx, l,
		time.Duration(min(max(doc.TTLS, 0), int64(leases.MaxLifetime/time.Second)+1))*time.Second)
	if err != nil {
		return nil, err
	}
	l.ExpiresAt, l.Boot, l.BootUntil = op.Until, op.Boot, op.BootUntil
	t.stage(leaseChange{op: &op, what: "renewed", lease: *l, issuer: t.issuer()})
	return leases.ViewOf(l, op.At, ""), nil
}

// own returns a lease of the invocation's runtime and credential: what a trusted
// hook may change. Session and agent may be others.
func (t *turnLedger) own(ctx context.Context, id string) (*leases.Lease, error) {
	l, err := t.book.Get(ctx, id, nil)
	who := t.chain.invocation.holder()
	if err == nil &&
		(l.Holder.Runtime != who.Runtime || l.Holder.Credential != "" && l.Holder.Credential != who.Credential) {
		return t.book.Get(ctx, "-", &who) // the answer for what does not exist
	}
	return l, err
}

// Revoke implements hostcalls.LeaseLedger.
func (t *turnLedger) Revoke(ctx context.Context, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	var doc revokeDocument
	if err := strictLease(request, &doc); err != nil {
		return nil, refusal(err)
	}
	if (doc.ID == "") == (doc.Prefix == "") {
		return nil, refusal(&leases.Error{Class: leases.ErrInvalid, Text: "either id or prefix"})
	}
	change := leaseChange{what: "revoked", always: true, issuer: t.issuer()}
	id, err := doc.Prefix, error(nil)
	who := t.chain.invocation.holder()
	change.lease = leases.Lease{ID: id, Holder: who}
	if doc.ID != "" {
		l, err := t.own(ctx, doc.ID)
		if err != nil {
			return nil, refusal(err)
		}
		id, change.lease = l.ID, *l
	}
	op, err := t.book.Revoke(ctx, id, doc.Prefix != "")
	if err != nil {
		return nil, refusal(err)
	}
	op.Owner, op.Runtime = who.Credential, who.Runtime
	change.op = &op
	t.stage(change)
	return jsontext.Value(`{"revoked":true}`), nil
}

// Check implements hostcalls.LeaseLedger. It takes nothing.
func (t *turnLedger) Check(ctx context.Context, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	var doc checkDocument
	if err := strictLease(request, &doc); err != nil {
		return nil, refusal(err)
	}
	who := t.chain.invocation.holder()
	at, err := t.book.Now(ctx)
	if err != nil {
		return nil, err
	}
	var out checkReply
	named := ""
	for _, s := range []string{doc.ID, doc.Token} {
		if s != "" {
			if named != "" {
				return nil, refusal(&leases.Error{Class: leases.ErrInvalid, Text: "one of id, token, capability and requests"})
			}
			named = s
		}
	}
	switch {
	case doc.Requests && named == "" && doc.Capability == "":
		out.Requests, err = t.waiting(ctx)
	case named != "" && doc.Capability == "" && doc.Scope == nil && !doc.Requests:
		var l *leases.Lease
		if l, err = t.book.Get(ctx, named, &who); err == nil {
			held, herr := t.usable(ctx, who, at, l.ID)
			out, err = checkReply{Active: held, Lease: leases.ViewOf(l, at, "")}, herr
		}
	case doc.Capability != "" && named == "" && !doc.Requests:
		if err = leases.CheckCapability(doc.Capability); err == nil && doc.Scope != nil {
			err = doc.Scope.Validate()
		}
		var l *leases.Lease
		if err == nil {
			l, err = t.covering(ctx, who, at, &doc)
		}
		if l != nil {
			out = checkReply{Active: true, Lease: leases.ViewOf(l, at, "")}
		}
	default:
		err = &leases.Error{Class: leases.ErrInvalid, Text: "one of id, token, capability and requests"}
	}
	return reply(out, err)
}

func (t *turnLedger) usable(ctx context.Context, who leases.Holder, at leases.Instant, id string) (bool, error) {
	list, err := t.desk.HeldLeases(ctx, who, at)
	for n := range list {
		if list[n].ID == id {
			return true, err
		}
	}
	return false, err
}

func (t *turnLedger) covering(ctx context.Context, who leases.Holder, at leases.Instant,
	doc *checkDocument) (*leases.Lease, error) {
	if doc.Scope == nil {
		return t.chain.invocation.kernel.findLease(ctx, t.book, who, at, doc.Capability, t.view)
	}
	list, err := t.desk.HeldLeases(ctx, who, at)
	for n := range list {
		if l := &list[n]; l.CoversCapability(doc.Capability) && l.Scope.Contains(*doc.Scope) {
			return l, err
		}
	}
	return nil, err
}

var _ hostcalls.LeaseLedger = (*turnLedger)(nil)
