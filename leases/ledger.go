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
// means DefaultQuota. It is safe for concurrent use when Store and Clock are.
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

// TokenPrefix begins every token.
const TokenPrefix = "blt_"

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

// Check says what is wrong with a request by itself. The error is ErrInvalid or ErrWider.
func (r *Request) Check(rule Rule) error {
	if r.ID != "" {
		if reason := checkID(r.ID); reason != "" {
			return invalid("id: " + reason)
		}
	}
	if r.Parent != "" {
		if reason := checkID(r.Parent); reason != "" {
			return invalid("parent: " + reason)
		}
	}
	if err := CheckCapability(r.Capability); err != nil {
		return err
	}
	if r.Scope == nil {
		return invalid("scope is missing: {} covers everything")
	}
	if err := r.Scope.Validate(); err != nil {
		return err
	}
	most := rule.MaxTTL
	if most <= 0 {
		most = DefaultMaxTTL
	}
	most = min(most, MaxLifetime)
	switch {
	case r.TTLS < 1 || r.MaxTTLS < 0:
		return invalid("ttl_s is at least 1 second")
	case r.MaxTTLS != 0 && r.MaxTTLS < r.TTLS:
		return wider("ttl_s is more than max_ttl_s")
	case time.Duration(r.TTLS) > most/time.Second || time.Duration(r.MaxTTLS) > most/time.Second:
		return wider("a lease lasts at most " + most.String() + ": a longer one is refused, not shortened")
	case r.MaxUses < 0 || r.MaxUses > MaxUses:
		return invalid("max_uses is between 1 and 1000000000")
	case r.DelayS < 0 || time.Duration(r.DelayS) > MaxLifetime/time.Second:
		return invalid("delay_s is between 0 and 30 days")
	}
	return nil
}

// Mint plans a lease for the holder. A request with a parent attenuates it: in no
// dimension may the child go beyond it. Errors are of this package's classes, or the store's.
func (l *Ledger) Mint(ctx context.Context, r Request, h Holder, by Issuer, rule Rule) (Minted, error) {
	if err := r.Check(rule); err != nil {
		return Minted{}, err
	}
	at, err := l.Now(ctx)
	if err != nil {
		return Minted{}, err
	}
	parent, err := l.parent(ctx, &r)
	if err != nil {
		return Minted{}, err
	}
	var salt [40]byte
	rand.Read(salt[:]) // never fails: the runtime ends the process instead
	if r.ID == "" {
		base := r.Parent
		if base == "" {
			base = Segment(h.Session) + "/" + Segment(h.Agent)
		}
		r.ID = base + "/" + hex.EncodeToString(salt[32:])
		if reason := checkID(r.ID); reason != "" {
			return Minted{}, invalid("id: " + reason)
		}
		if parent, err = l.parent(ctx, &r); err != nil {
			return Minted{}, err
		}
	}
	token := TokenPrefix + base64.RawURLEncoding.EncodeToString(salt[:32])
	ttl := time.Duration(r.TTLS) * time.Second
	delay := time.Duration(r.DelayS) * time.Second
	lease := Lease{
		ID: r.ID, Holder: h, Capability: r.Capability, Scope: r.Scope.Normalize(), MaxTTLS: max(r.MaxTTLS, r.TTLS),
		MaxUses: max(r.MaxUses, 1),
		Issuer:  by, State: Active, Created: at.Wall.UTC().Round(0), Token: l.Hash(token),
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
		quota = DefaultQuota
	}
	if err := l.vacant(ctx, lease.ID); err != nil {
		return Minted{}, err
	}
	held, err := l.Store.Leases(ctx,
		Query{Holder: Holder{Credential: h.Credential}, State: Active, At: at, Limit: MaxLimit})
	if err != nil {
		return Minted{}, err
	}
	if h.Credential != "" && len(held) >= quota {
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
func (l *Ledger) parent(ctx context.Context, r *Request) (*Lease, error) {
	if r.ID == "" {
		return nil, nil
	}
	for _, p := range Prefixes(r.ID) {
		found, err := l.Store.Lease(ctx, p)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if r.Parent == "" {
			r.Parent = p
		}
		if r.Parent != p {
			return nil, invalid("parent: the lease just above the id is another one")
		}
		return found, nil
	}
	if r.Parent != "" {
		if !Below(r.Parent, r.ID) {
			return nil, invalid("id: must lie below the parent's")
		}
		return nil, unknown()
	}
	return nil, nil
}

// attenuate makes l a child of p, or says why it cannot be one. Every lease above
// is looked at again when the Op is carried out.
func attenuate(l, p *Lease, at Instant, until time.Duration) error {
	l.Parent, l.Depth = p.ID, p.Depth+1
	switch {
	case p.State != Active:
		return over("the parent is " + string(p.State))
	case p.Over(at):
		return over("the parent is expired")
	case until > p.Remaining(at):
		return wider("it would outlive the parent")
	}
	// Clocks that were set between the two: what counts is what remains, and a
	// child never outlives its parent on either clock.
	if l.ExpiresAt.After(p.ExpiresAt) && p.sameBoot(at) {
		l.ExpiresAt = p.ExpiresAt
	}
	if l.NotBefore.Before(p.NotBefore) && p.sameBoot(at) {
		l.NotBefore = p.NotBefore
		l.BootFrom = max(l.BootFrom, p.BootFrom)
	}
	if reason := l.ContainedIn(p); reason != "" {
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
		p, err := l.Store.Lease(ctx, lease.Parent)
		if err != nil {
			return Op{}, err
		}
		if p == nil || p.StateAt(at) != Active {
			return Op{}, over("the parent is not active")
		}
		if ttl > p.Remaining(at) {
			return Op{}, wider("it would outlive the parent")
		}
		if until.After(p.ExpiresAt) {
			until = p.ExpiresAt
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

// Get returns a lease that the asker may see. It takes an id or a token. A nil
// asker may see every lease; one that does not exist and one of somebody else
// give the same error, ErrUnknown, after the same work.
func (l *Ledger) Get(ctx context.Context, idOrToken string, asker *Holder) (*Lease, error) {
	var lease *Lease
	var err error
	if strings.HasPrefix(idOrToken, TokenPrefix) {
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
