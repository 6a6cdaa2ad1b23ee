package leases

import "time"

// View shows a lease at one moment.
type View struct {
	ID         string    `json:"id"`
	State      State     `json:"state"`
	Capability string    `json:"capability"`
	Scope      Scope     `json:"scope"`
	Holder     Holder    `json:"holder"`
	NotBefore  time.Time `json:"not_before"`
	ExpiresAt  time.Time `json:"expires_at"`
	UsesLeft   int64     `json:"uses_left"`
	Parent     string    `json:"parent,omitzero"`
	Issuer     Issuer    `json:"issuer"`
	Token      string    `json:"token,omitzero"` // only where the lease has just been made
}

// ViewOf shows a lease at a moment. token is "" unless the lease has just been made.
func ViewOf(l *Lease, at Instant, token string) *View {
	return &View{ID: l.ID, State: l.StateAt(at), Capability: l.Capability, Scope: l.Scope, Holder: l.Holder,
		NotBefore: l.NotBefore,
		ExpiresAt: l.ExpiresAt, UsesLeft: l.MaxUses - l.Uses, Parent: l.Parent, Issuer: l.Issuer, Token: token}
}
