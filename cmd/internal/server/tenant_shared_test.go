package server_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// amongOthers is a store that other kernels share.
type amongOthers struct{ *memory.Store }

func (amongOthers) Durable() bool { return true }

func (amongOthers) EventElsewhere(context.Context, string) (*phases.Event, error) { return nil, nil }

func (amongOthers) SharedKeys(context.Context) (map[string][]byte, error) {
	out := map[string][]byte{}
	for n, use := range keyring.SharedUses() {
		out[use] = bytes.Repeat([]byte{byte(n)}, statedir.KeySize)
	}
	return out, nil
}

// others is a host whose store has an item and leases of another user's kernel.
type others struct{ server.Host }

const foreignItem = "01a22379-1a3e-7039-a9db-26a4489a133f"

func (others) Approval(context.Context, string) (approvals.Item, error) {
	return approvals.Item{ID: foreignItem, State: approvals.Pending}, nil
}

func (o others) Approvals(ctx context.Context, _ approvals.Query) ([]approvals.Item, error) {
	it, err := o.Approval(ctx, foreignItem)
	return []approvals.Item{it}, err
}

func (others) Decide(context.Context, string, approvals.Decision) (approvals.Item, bool, error) {
	return approvals.Item{ID: foreignItem, State: approvals.Approved}, false, nil
}

func (others) Leases(context.Context, leases.Query) ([]leases.View, error) {
	return []leases.View{{ID: "open"}, {ID: "own", Holder: leases.Holder{Credential: "uid 4242"}},
		{ID: "foreign", Holder: leases.Holder{Credential: "uid 4243"}}}, nil
}

// Where kernels share a store, a user of system mode sees and decides no question of another user's kernel, and sees no
// lease of another user. Root sees all.
func TestTenantsSeeTheirOwnOfASharedStore(t *testing.T) {
	const uid = 4242
	from := uid
	d, path := asTenant(t, uid, &from,
		withBelay(func(o *belay.Options) { o.Store = amongOthers{memory.New()} }),
		withHost(func(h server.Host) server.Host { return others{h} }))
	for _, c := range []struct {
		method, path, body string
		status, withToken  int
		has, not           string
	}{
		{"GET", "/v1/approvals", "", 200, 200, `"approvals":[]`, foreignItem},
		{"GET", "/v1/approvals/" + foreignItem, "", 404, 200, "", ""},
		{"POST", "/v1/approvals/" + foreignItem + "/decide", "{}", 404, 200, "", ""},
		{"GET", "/v1/leases", "", 200, 200, `"own"`, "foreign"},
		{"GET", "/v1/leases", "", 200, 200, `"open"`, "foreign"},
	} {
		got := overPath(t, path, c.method, c.path, c.body, "")
		if got.status != c.status || !strings.Contains(got.body, c.has) || c.not != "" && strings.Contains(got.body, c.not) {
			t.Errorf("%s %s: %d %.300s", c.method, c.path, got.status, got.body)
		}
		role := client.RoleAdmin
		if c.method == "POST" {
			role = client.RoleReview
		}
		got = overPath(t, path, c.method, c.path, c.body, d.token(t, role))
		if got.status != c.withToken || c.not != "" && !strings.Contains(got.body, c.not) {
			t.Errorf("root, %s %s: %d %.300s", c.method, c.path, got.status, got.body)
		}
	}
}
