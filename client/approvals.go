package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// ApprovalQuery selects items of the queue; zero members select everything.
type ApprovalQuery struct {
	Kind   approvals.Kind
	State  approvals.State
	Before string // only older ones than this id
	Limit  int    // 0 means 100; at most 1000
}

// Approvals lists the queue, newest first. It takes RoleReview or RoleAdmin.
func (c *Client) Approvals(ctx context.Context, q ApprovalQuery) ([]approvals.Item, error) {
	p := filters{}
	p.text("kind", string(q.Kind))
	p.text("state", string(q.State))
	p.text("before", q.Before)
	p.number("limit", int64(q.Limit))
	var l List
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/approvals", query: url.Values(p), roles: readers}, &l)
	return l.Approvals, err
}

// Approval returns one item. With RoleReview or RoleAdmin it is complete; with
// RoleInvoke only the caller's own are there, with their state and decision.
// When wait is positive, at most a minute, it answers as soon as the item is
// decided, and when wait is over at the latest.
func (c *Client) Approval(ctx context.Context, id string, wait time.Duration) (approvals.Item, error) {
	q := request{method: http.MethodGet, path: "/v1/approvals/" + url.PathEscape(id),
		roles: []Role{RoleReview, RoleAdmin, RoleInvoke}}
	if wait > 0 {
		q.query = url.Values{"wait": {min(wait, daemonapi.MaxWait).Round(time.Millisecond).String()}}
	}
	var it approvals.Item
	err := c.call(ctx, q, &it)
	return it, err
}

// Decide hands in a decision that a reviewer has signed. It takes RoleReview.
func (c *Client) Decide(ctx context.Context, id string, d approvals.Decision) (approvals.Item, error) {
	var it approvals.Item
	body, err := json.Marshal(&d)
	if err != nil {
		return it, err
	}
	err = c.call(ctx, request{method: http.MethodPost, path: "/v1/approvals/" + url.PathEscape(id) + "/decide", body: body,
		roles: []Role{RoleReview}}, &it)
	return it, err
}

// Propose puts a hook into the queue. It takes RoleInvoke.
func (c *Client) Propose(ctx context.Context, p approvals.Proposal) (approvals.Item, error) {
	var it approvals.Item
	body, err := json.Marshal(&p)
	if err != nil {
		return it, err
	}
	err = c.call(ctx, request{method: http.MethodPost, path: "/v1/proposals", body: body, roles: []Role{RoleInvoke}}, &it)
	return it, err
}
