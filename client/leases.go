package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// LeaseQuery selects leases; zero members select everything.
type LeaseQuery struct {
	Prefix  string // this id, and everything below it
	Runtime string
	Session string
	Agent   string
	State   leases.State
	After   string // only ids greater than this
	Limit   int    // 0 means 100; at most 1000
}

// LeaseMint asks for a lease by hand: its terms, or the id of an approval that says
// them and that a reviewer has signed.
type LeaseMint struct {
	leases.Request
	Holder   *leases.Holder `json:"holder,omitzero"`
	Approval string         `json:"approval,omitzero"`
}

// LeaseMinted is the lease with its token, or, where there are reviewers, the
// approval that one of them has to sign first.
type LeaseMinted struct {
	Lease    *leases.View `json:"lease,omitzero"`
	Approval string       `json:"approval,omitzero"`
	Expires  time.Time    `json:"expires,omitzero"` // of the approval
}

// LeaseRevoke takes a lease back with everything below it, or with prefix everything
// at or below an id.
type LeaseRevoke struct {
	ID     string `json:"id,omitzero"`
	Prefix string `json:"prefix,omitzero"`
}

// LeaseCheck asks whether a lease covers an action that is about to run. The holder is
// the invocation's runtime, session and agent, with the caller's own credential.
type LeaseCheck struct {
	Capability string         `json:"capability"`
	Token      string         `json:"token,omitzero"` // "" means whichever of the holder's leases covers it
	Invocation jsontext.Value `json:"invocation"`     // in the wire form of POST /v1/invoke
	Claim      bool           `json:"claim,omitzero"` // takes one use, and records that
}

// LeaseChecked is the answer: no lease means no.
type LeaseChecked struct {
	Active bool         `json:"active"`
	Lease  *leases.View `json:"lease,omitzero"`
}

// Leases lists leases by id. It takes RoleReview or RoleAdmin.
func (c *Client) Leases(ctx context.Context, q LeaseQuery) ([]leases.View, error) {
	p := filters{}
	p.text("prefix", q.Prefix)
	p.text("runtime", q.Runtime)
	p.text("session", q.Session)
	p.text("agent", q.Agent)
	p.text("state", string(q.State))
	p.text("after", q.After)
	p.number("limit", int64(q.Limit))
	var l List
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/leases", query: url.Values(p), roles: readers}, &l)
	return l.Leases, err
}

// MintLease makes a lease, or asks a reviewer for it. It takes RoleReview or RoleAdmin.
func (c *Client) MintLease(ctx context.Context, m LeaseMint) (LeaseMinted, error) {
	var out LeaseMinted
	body, err := json.Marshal(m)
	if err == nil {
		err = c.call(ctx, request{method: http.MethodPost, path: "/v1/leases", body: body, roles: readers}, &out)
	}
	return out, err
}

// RevokeLease takes leases back. It takes RoleReview or RoleAdmin.
func (c *Client) RevokeLease(ctx context.Context, r LeaseRevoke) error {
	body, err := json.Marshal(r)
	if err == nil {
		err = c.call(ctx, request{method: http.MethodPost, path: "/v1/leases/revoke", body: body, roles: readers},
			new(LeaseRevoke))
	}
	return err
}

// CheckLease asks whether a lease covers an action, for who runs it. Without a clear
// yes the action may not run.
func (c *Client) CheckLease(ctx context.Context, inv phases.Invocation, q LeaseCheck) (LeaseChecked, error) {
	var out LeaseChecked
	var err error
	if q.Invocation, err = phases.EncodeInvocation(inv); err != nil {
		return out, err
	}
	body, err := json.Marshal(q)
	if err == nil {
		err = c.call(ctx, request{method: http.MethodPost, path: "/v1/leases/check", body: body, roles: []Role{RoleInvoke}},
			&out)
	}
	if err != nil || out.Lease == nil {
		return LeaseChecked{}, err
	}
	return out, nil
}
