package leases

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// Ledger turns requests into Ops. It writes nothing. The zero value of Quota
// means defaultQuota. It is safe for concurrent use when Store and Clock are.
type Ledger struct {
	Store Store
	Clock Clock
	Key   []byte // hashes tokens; 32 bytes
	Quota int
}

// Request asks for a lease. It is the JSON document of mint_lease and of POST
// /v1/leases: see docs/LEASES.md.
type Request struct {
	ID         string `json:"id,omitzero"`     // "" makes one below Parent, or below the holder's session
	Parent     string `json:"parent,omitzero"` // "" means the lease just above ID, if there is one
	Capability string `json:"capability"`
	Scope      *Scope `json:"scope"`
	TTLS       int64  `json:"ttl_s"`              // seconds, at least 1
	MaxTTLS    int64  `json:"max_ttl_s,omitzero"` // default: ttl_s
	MaxUses    int64  `json:"max_uses,omitzero"`  // default: 1
	DelayS     int64  `json:"delay_s,omitzero"`   // seconds until it begins
}

// Rule bounds what a maker of leases may make; the zero value means the defaults.
type Rule struct {
	MaxTTL time.Duration // 0 means DefaultMaxTTL
}

// Minted is a lease that is about to be made, and its token, which exists nowhere else.
type Minted struct {
	Op    Op
	Token string
}

// tokenPrefix begins every token.
const tokenPrefix = "blt_"

// Hash returns the keyed hash under which a token is stored.
func (l *Ledger) Hash(token string) []byte {
	m := hmac.New(sha256.New, l.Key)
	m.Write([]byte("belay lease token\x00"))
	m.Write([]byte(token))
	return m.Sum(nil)
}

// Now reads the clocks, the store's included.
func (l *Ledger) Now(ctx context.Context) (Instant, error) {
	at := At(l.Clock)
	high, err := l.Store.LeaseClock(ctx)
	at.High = high
	return at, err
}

// Check returns an error if the request is not valid by itself: ErrInvalid or ErrWider.
func (req *Request) Check(rule Rule) error {
	if req.ID != "" {
		if reason := checkID(req.ID); reason != "" {
			return invalid("id: " + reason)
		}
	}
	if req.Parent != "" {
		if reason := checkID(req.Parent); reason != "" {
			return invalid("parent: " + reason)
		}
	}
	if err := CheckCapability(req.Capability); err != nil {
		return err
	}
	if req.Scope == nil {
		return invalid("scope is missing: {} covers everything")
	}
	if err := req.Scope.Validate(); err != nil {
		return err
	}
	most := rule.MaxTTL
	if most <= 0 {
		most = DefaultMaxTTL
	}
	most = min(most, MaxLifetime)
	switch {
	case req.TTLS < 1 || req.MaxTTLS < 0:
		return invalid("ttl_s is at least 1 second")
	case req.MaxTTLS != 0 && req.MaxTTLS < req.TTLS:
		return wider("ttl_s is more than max_ttl_s")
	case time.Duration(req.TTLS) > most/time.Second || time.Duration(req.MaxTTLS) > most/time.Second:
		return wider("a lease lasts at most " + most.String() + ": a longer one is refused, not shortened")
	case req.MaxUses < 0 || req.MaxUses > MaxUses:
		return invalid("max_uses is between 1 and 1000000000")
	case req.DelayS < 0 || time.Duration(req.DelayS) > MaxLifetime/time.Second:
		return invalid("delay_s is between 0 and 30 days")
	}
	return nil
}

// Mint plans a lease for the holder. A request with a parent attenuates it: in no
// dimension may the child go beyond it. Errors are of this package's classes, or the store's.
func (l *Ledger) Mint(ctx context.Context, req Request, holder Holder, issuer Issuer, rule Rule) (Minted, error) {
	if err := req.Check(rule); err != nil {
		return Minted{}, err
	}
	at, err := l.Now(ctx)
	if err != nil {
		return Minted{}, err
	}
	parent, err := l.parent(ctx, &req)
	if err != nil {
		return Minted{}, err
	}
	var salt [40]byte
	rand.Read(salt[:]) // never fails: the runtime ends the process instead
	if req.ID == "" {
		base := req.Parent
		if base == "" {
			base = segment(holder.Session) + "/" + segment(holder.Agent)
		}
		req.ID = base + "/" + hex.EncodeToString(salt[32:])
		if reason := checkID(req.ID); reason != "" {
			return Minted{}, invalid("id: " + reason)
		}
		if parent, err = l.parent(ctx, &req); err != nil {
			return Minted{}, err
		}
	}
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(salt[:32])
	ttl := time.Duration(req.TTLS) * time.Second
	delay := time.Duration(req.DelayS) * time.Second
	lease := Lease{
		ID: req.ID, Holder: holder, Capability: req.Capability, Scope: req.Scope.Normalize(),
		MaxTTLS: max(req.MaxTTLS, req.TTLS),
		MaxUses: max(req.MaxUses, 1),
		Issuer:  issuer, State: Active, Created: at.Wall.UTC().Round(0), Token: l.Hash(token),
		Boot: at.Boot, BootFrom: at.Since + delay, BootUntil: at.Since + delay + ttl,
	}
	lease.NotBefore = lease.Created.Add(delay)
	lease.ExpiresAt = lease.NotBefore.Add(ttl)
	if parent != nil {
		if err := attenuate(&lease, parent, at, delay+ttl); err != nil {
			return Minted{}, err
		}
	}
	quota := l.Quota
	if quota <= 0 {
		quota = defaultQuota
	}
	if err := l.vacant(ctx, lease.ID); err != nil {
		return Minted{}, err
	}
	held, err := l.Store.Leases(ctx,
		Query{Holder: Holder{Credential: holder.Credential}, State: Active, At: at, Limit: MaxLimit})
	if err != nil {
		return Minted{}, err
	}
	if holder.Credential != "" && len(held) >= quota {
		return Minted{}, &Error{ErrQuota, "the holder's credential has too many leases: revoke some, or wait until they end"}
	}
	return Minted{Op: Op{Kind: OpMint, At: at, Lease: lease, Quota: quota}, Token: token}, nil
}

// vacant checks that nothing has the id or lies below it.
func (l *Ledger) vacant(ctx context.Context, id string) error {
	list, err := l.Store.Leases(ctx, Query{Prefix: id, Limit: 1})
	if err == nil && len(list) > 0 {
		err = invalid("id: there is a lease with this id or below it")
	}
	return err
}

// parent finds the lease just above the request's id.
func (l *Ledger) parent(ctx context.Context, req *Request) (*Lease, error) {
	if req.ID == "" {
		return nil, nil
	}
	for _, p := range Prefixes(req.ID) {
		found, err := l.Store.Lease(ctx, p)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if req.Parent == "" {
			req.Parent = p
		}
		if req.Parent != p {
			return nil, invalid("parent: the lease just above the id is another one")
		}
		return found, nil
	}
	if req.Parent != "" {
		if !Below(req.Parent, req.ID) {
			return nil, invalid("id: must lie below the parent's")
		}
		return nil, unknown()
	}
	return nil, nil
}

// attenuate makes l a child of p, or says why it cannot be one. Every lease above
// is looked at again when the Op is carried out.
func attenuate(child, parent *Lease, at Instant, until time.Duration) error {
	child.Parent, child.Depth = parent.ID, parent.Depth+1
	switch {
	case parent.State != Active:
		return over("the parent is " + string(parent.State))
	case parent.ended(at):
		return over("the parent is expired")
	case until > parent.Remaining(at):
		return wider("it would outlive the parent")
	}
	// Clocks that were set between the two: what counts is what remains, and a
	// child never outlives its parent on either clock.
	if child.ExpiresAt.After(parent.ExpiresAt) && parent.sameBoot(at) {
		child.ExpiresAt = parent.ExpiresAt
	}
	if child.NotBefore.Before(parent.NotBefore) && parent.sameBoot(at) {
		child.NotBefore = parent.NotBefore
		child.BootFrom = max(child.BootFrom, parent.BootFrom)
	}
	if reason := child.containedIn(parent); reason != "" {
		return wider(reason)
	}
	return nil
}

// Renew plans a new end, ttl from now: never later than max_ttl after the lease's
// beginning, never later than the parent's end.
func (l *Ledger) Renew(ctx context.Context, lease *Lease, ttl time.Duration) (Op, error) {
	at, err := l.Now(ctx)
	if err != nil {
		return Op{}, err
	}
	if s := lease.StateAt(at); s != Active {
		return Op{}, over("the lease is " + string(s))
	}
	until := at.Wall.Add(ttl).UTC().Round(0)
	switch {
	case ttl < time.Second:
		return Op{}, invalid("ttl_s is at least 1 second")
	case ttl > MaxLifetime || l.age(lease, at)+ttl > time.Duration(lease.MaxTTLS)*time.Second:
		return Op{}, wider("the lease would last longer than its max_ttl_s")
	case ttl < lease.Remaining(at):
		return Op{}, invalid("the lease lasts longer already: to end it, revoke it")
	}
	if lease.Parent != "" {
		parent, err := l.Store.Lease(ctx, lease.Parent)
		if err != nil {
			return Op{}, err
		}
		if parent == nil || parent.StateAt(at) != Active {
			return Op{}, over("the parent is not active")
		}
		if ttl > parent.Remaining(at) {
			return Op{}, wider("it would outlive the parent")
		}
		if until.After(parent.ExpiresAt) {
			until = parent.ExpiresAt
		}
	}
	return Op{Kind: OpRenew, At: at, ID: lease.ID, Until: until, Boot: at.Boot, BootUntil: at.Since + ttl}, nil
}

// age is how long ago the lease began.
func (l *Ledger) age(lease *Lease, at Instant) time.Duration {
	if lease.sameBoot(at) && lease.BootFrom > 0 {
		return max(at.Since-lease.BootFrom, 0)
	}
	return max(at.Latest().Sub(lease.NotBefore), 0)
}

// Get returns a lease that the asker may see, by its id or its token. A nil asker may
// see every lease. A lease that does not exist and a lease of another holder give the
// same error, ErrUnknown, after the same work.
func (l *Ledger) Get(ctx context.Context, idOrToken string, asker *Holder) (*Lease, error) {
	var lease *Lease
	var err error
	if strings.HasPrefix(idOrToken, tokenPrefix) {
		lease, err = l.Store.LeaseByToken(ctx, l.Hash(idOrToken))
	} else {
		lease, err = l.Store.Lease(ctx, idOrToken)
	}
	switch {
	case err != nil:
		return nil, err
	case lease == nil || asker != nil && !lease.Holder.Allows(*asker):
		return nil, unknown()
	}
	return lease, nil
}

// Claim plans one use.
func (l *Ledger) Claim(at Instant, id string, by Holder) Op {
	return Op{Kind: OpClaim, At: at, ID: id, By: by}
}

// Revoke plans the end of a lease and of everything below it, or with prefix of
// everything at or below an id, whether there is a lease of that very id or not.
func (l *Ledger) Revoke(ctx context.Context, id string, prefix bool) (Op, error) {
	if reason := checkID(id); reason != "" {
		return Op{}, invalid("id: " + reason)
	}
	at, err := l.Now(ctx)
	if err != nil {
		return Op{}, err
	}
	if prefix {
		return Op{Kind: OpRevokePrefix, At: at, ID: id}, nil
	}
	lease, err := l.Store.Lease(ctx, id)
	if err == nil && lease == nil {
		err = unknown()
	}
	return Op{Kind: OpRevoke, At: at, ID: id}, err
}
