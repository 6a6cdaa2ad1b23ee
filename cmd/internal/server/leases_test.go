package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

const leaseConfig = `version: belay/v1
hooks: []
require_lease:
  - {tools: [write], capability: "tool:write"}
`

func writing(agent string) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s-1", Agent: agent,
		Action: jsontext.Value(`{"tool":"write","args":{"file_path":"/srv/a","content":"x"}}`)}
}

func terms(id string, uses int64) client.LeaseMint {
	return client.LeaseMint{
		Request: leases.Request{ID: id, Capability: "tool:write", Scope: &leases.Scope{Paths: phases.Scope{"/srv/**"}},
			TTLS: 60, MaxUses: uses},
		Holder: &leases.Holder{Runtime: "custom", Session: "s-1", Agent: "coder"},
	}
}

func TestLeasesOverTheDaemon(t *testing.T) {
	d := startDaemon(t, withConfig(leaseConfig), withListener)
	c := dial(t, d.dir)
	if v, err := c.Invoke(t.Context(), writing("coder")); err != nil || v.Decision != phases.Block ||
		!strings.Contains(v.Reason, "needs a lease") {
		t.Fatalf("%+v, %v", v, err)
	}
	m, err := c.MintLease(t.Context(), terms("s-1/a", 2))
	if err != nil || m.Lease == nil || !strings.HasPrefix(m.Lease.Token, "blt_") {
		t.Fatalf("%+v, %v", m, err)
	}
	list, err := c.Leases(t.Context(), client.LeaseQuery{Session: "s-1", State: leases.Active, Prefix: "s-1"})
	if err != nil || len(list) != 1 || list[0].ID != "s-1/a" || list[0].Token != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	if v, err := c.Invoke(t.Context(), writing("coder")); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%+v, %v", v, err)
	}
	// A program that runs tools outside asks, and takes the last use.
	check := func(agent, token string, claim bool) bool {
		t.Helper()
		got, err := c.CheckLease(t.Context(), writing(agent),
			client.LeaseCheck{Capability: "tool:write", Token: token, Claim: claim})
		if err != nil || got.Active != (got.Lease != nil) {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.Active
	}
	for _, no := range [][2]string{{"other", ""}, {"other", m.Lease.Token}, {"coder", "blt_AAAA"}} {
		if check(no[0], no[1], true) {
			t.Errorf("%q passes", no)
		}
	}
	if !check("coder", m.Lease.Token, false) || !check("coder", "", true) || check("coder", m.Lease.Token, true) {
		t.Error("one use, and no more")
	}
	if _, err := c.MintLease(t.Context(), terms("s-1/b", 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.RevokeLease(t.Context(), client.LeaseRevoke{Prefix: "s-1"}); err != nil {
		t.Fatal(err)
	}
	if check("coder", "", false) {
		t.Error("a lease that was taken back passes")
	}
	var refused *client.Error
	if err := c.RevokeLease(t.Context(), client.LeaseRevoke{ID: "unknown"}); !errors.As(err, &refused) ||
		refused.Code != wire.CodeNotFound {
		t.Errorf("an unknown id: %v", err)
	}
	events, err := c.Events(t.Context(), wire.Query{Type: phases.EventLease})
	var got []string
	for _, e := range events {
		got = append(got, e.Decision)
	}
	if err != nil || strings.Join(got, " ") != "minted claimed claimed minted revoked" ||
		events[0].User != "token review" {
		t.Errorf("%q by %s, %v", got, events[0].User, err)
	}
}

func TestLeaseRoutesRefuse(t *testing.T) {
	d := startDaemon(t, withConfig(leaseConfig), withListener)
	review, invoke := bearer(d.token(t, client.RoleReview)), bearer(d.token(t, client.RoleInvoke))
	mint := `{"capability":"tool:write","scope":{},"ttl_s":60,"holder":{"session":"s"}}`
	inv := `{"phase":"pre_tool","action":{"tool":"write","args":{}}}`
	for _, c := range []struct {
		name, method, path, body string
		header                   map[string]string
		status                   int
		code                     string
	}{
		{"an agent lists", "GET", "/v1/leases", "", invoke, 403, wire.CodeRole},
		{"an agent mints", "POST", "/v1/leases", mint, invoke, 403, wire.CodeRole},
		{"an agent revokes", "POST", "/v1/leases/revoke", `{"prefix":"s"}`, invoke, 403, wire.CodeRole},
		{"a reviewer checks", "POST", "/v1/leases/check", `{}`, review, 403, wire.CodeRole},
		{"mint without a token", "POST", "/v1/leases", mint, nil, 401, wire.CodeToken},
		{"no holder", "POST", "/v1/leases", `{"capability":"tool:write","scope":{},"ttl_s":60}`, review, 400,
			wire.CodeRequest},
		{"unknown member", "POST", "/v1/leases", `{"cap":1}`, review, 400, wire.CodeRequest},
		{"duplicate member", "POST", "/v1/leases", strings.Replace(mint, `"ttl_s":60`, `"ttl_s":60,"ttl_s":61`, 1), review,
			400, wire.CodeRequest},
		{"negative ttl", "POST", "/v1/leases", strings.Replace(mint, "60", "-60", 1), review, 400, wire.CodeRequest},
		{"too long", "POST", "/v1/leases", strings.Replace(mint, "60", "2592001", 1), review, 409, wire.CodeConflict},
		{"unknown parent", "POST", "/v1/leases", strings.Replace(mint, "{", `{"parent":"p",`, 1), review, 404,
			wire.CodeNotFound},
		{"unknown approval", "POST", "/v1/leases", `{"approval":"01890a5d-ac96-774b-bcce-b302099a8057"}`, review, 404,
			wire.CodeNotFound},
		{"approval and terms", "POST", "/v1/leases", `{"approval":"x","ttl_s":1}`, review, 400, wire.CodeRequest},
		{"bad parameter", "GET", "/v1/leases?nope=1", "", review, 400, wire.CodeRequest},
		{"bad state", "GET", "/v1/leases?state=open", "", review, 400, wire.CodeRequest},
		{"bad limit", "GET", "/v1/leases?limit=0", "", review, 400, wire.CodeRequest},
		{"revoke nothing", "POST", "/v1/leases/revoke", `{}`, review, 400, wire.CodeRequest},
		{"revoke an odd id", "POST", "/v1/leases/revoke", `{"prefix":"../x"}`, review, 400, wire.CodeRequest},
		{"check without an invocation", "POST", "/v1/leases/check", `{"capability":"tool:write"}`, invoke, 400,
			wire.CodeInvocation},
		{"check an odd invocation", "POST", "/v1/leases/check", `{"capability":"tool:write","invocation":{"phase":"x"}}`,
			invoke, 400, wire.CodeInvocation},
		{"check every capability", "POST", "/v1/leases/check", `{"capability":"*","invocation":` + inv + `}`, invoke, 400,
			wire.CodeRequest},
	} {
		r, body := d.do(t, call{tcp: true, method: c.method, path: c.path, body: c.body, header: c.header})
		if r.StatusCode != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", c.name, r.StatusCode, body, c.status, c.code)
		}
	}
}

// Where there are reviewers, no token lends: it takes a signature.
func TestMintOverTheDaemonTakesAReviewer(t *testing.T) {
	key, config := reviewer(t)
	d := startDaemon(t, withConfig(config))
	c := dial(t, d.dir)
	m, err := c.MintLease(t.Context(), terms("s-1/a", 1))
	if err != nil || m.Lease != nil || m.Approval == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := c.MintLease(t.Context(), client.LeaseMint{Approval: m.Approval}); err == nil {
		t.Fatal("minted before anybody has signed")
	}
	it, err := c.Approval(t.Context(), m.Approval, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), m.Approval, signed(t, it, approvals.Approve, key)); err != nil {
		t.Fatal(err)
	}
	got, err := c.MintLease(t.Context(), client.LeaseMint{Approval: m.Approval})
	if err != nil || got.Lease == nil || got.Lease.Issuer.Person != "dev" || got.Lease.ID != "s-1/a" {
		t.Fatalf("%+v, %v", got, err)
	}
}
