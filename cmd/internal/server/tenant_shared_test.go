package server_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
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

func (o others) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	it, err := o.Approval(ctx, foreignItem)
	if q.Before != "" && it.ID >= q.Before {
		return nil, err
	}
	return []approvals.Item{it}, err
}

func (others) Decide(context.Context, string, approvals.Decision) (approvals.Item, bool, error) {
	return approvals.Item{ID: foreignItem, State: approvals.Approved}, false, nil
}

func (others) Leases(_ context.Context, q leases.Query) ([]leases.View, error) {
	if q.After != "" {
		return nil, nil
	}
	return []leases.View{{ID: "open"}, {ID: "own", Holder: leases.Holder{Credential: "uid 4242"}},
		{ID: "foreign", Holder: leases.Holder{Credential: "uid 4243"}}}, nil
}

func (others) Propose(context.Context, approvals.Proposal, string) (approvals.Item, bool, error) {
	return approvals.Item{ID: foreignItem, State: approvals.Denied,
		By:       approvals.Requester{Session: "of alice", Credential: "uid 4243"},
		Decision: &approvals.Decision{By: "her reviewer", Reason: "her reason"}}, false, nil
}

// foreignLatches are of another user's kernel: one of a session, and one that holds all of a runtime.
func foreignLatches() []kernel.Latch {
	return []kernel.Latch{
		{Runtime: "custom", Session: "of alice", Reason: "her reason", ID: foreignItem, Invocation: "her call"},
		{Runtime: "custom", Reason: "her reason", ID: foreignItem, Invocation: "her call", DecidedBy: "her hook"},
	}
}

func (o others) Latches(ctx context.Context) ([]kernel.Latch, error) {
	own, err := o.Host.Latches(ctx)
	return append(own, foreignLatches()...), err
}

func (o others) Status(ctx context.Context) (wire.Status, error) {
	st, err := o.Host.Status(ctx)
	st.Latches = append(st.Latches, kernel.LatchesOnWire(foreignLatches())...)
	return st, err
}

func (others) ClearLatch(context.Context, wire.Session, *approvals.Order) error { return nil }

// Latches that kernels share are seen and cleared by the user whose kernel made them. One that holds all of a runtime
// is listed for all, without what another user did.
func TestTenantsSeeTheirOwnOfSharedLatches(t *testing.T) {
	const uid = 4242
	from := uid
	d, path := asTenant(t, uid, &from,
		withBelay(func(o *belay.Options) { o.Store = amongOthers{memory.New()} }),
		withHost(func(h server.Host) server.Host { return others{h} }))
	overPath(t, path, "POST", "/adapters/claude-code?event=SubagentStart", `{"session_id":"s-garbled","a":1,"a":2}`, "")
	for _, list := range []string{"/v1/latches", "/v1/status"} {
		got := overPath(t, path, "GET", list, "", "")
		if got.status != 200 || !strings.Contains(got.body, "s-garbled") ||
			!strings.Contains(got.body, `"session":"","reason":"another user of the shared store latched it`) {
			t.Errorf("%s: %d %.2000s", list, got.status, got.body)
		}
		root := overPath(t, path, "GET", list, "", d.token(t, client.RoleAdmin))
		for _, secret := range []string{"of alice", "her reason", "her call", "her hook", foreignItem} {
			if strings.Contains(got.body, secret) || !strings.Contains(root.body, secret) {
				t.Errorf("%s, %q: %.2000s, to root %.2000s", list, secret, got.body, root.body)
			}
		}
	}
	draft, err := queue.NewOrder(queue.VerbLatchClear, "s", struct{}{}, leases.At(leases.SystemClock{}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	order, err := queue.EncodeOrder(&draft)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		runtime, session, token string
		status                  int
	}{
		{"claude-code", "s-garbled", "", 200},
		{"custom", "of alice", "", 404},
		{"custom", "", "", 404},
		{"custom", "of alice", d.token(t, client.RoleAdmin), 200},
	} {
		body := fmt.Sprintf(`{"runtime":%q,"session":%q,"statement":%s}`, c.runtime, c.session, order)
		if got := overPath(t, path, "POST", "/v1/latches/clear", body, c.token); got.status != c.status {
			t.Errorf("clear %s %s: %d %s", c.runtime, c.session, got.status, got.body)
		}
	}
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

// A proposal that another user has made before is refused, and nothing is told of it. The tenant's own is told.
func TestTenantsAreNotToldOfProposalsOfOthers(t *testing.T) {
	const uid, proposal = 4242, `{"name":"h","module":"AGFzbQEAAAA=","reason":"so"}`
	from := uid
	_, config := reviewer(t)
	shared := func(wrap func(server.Host) server.Host) string {
		_, path := asTenant(t, uid, &from, withConfig(config), withHost(wrap),
			withBelay(func(o *belay.Options) { o.Store = amongOthers{memory.New()} }))
		return path
	}
	path := shared(func(h server.Host) server.Host { return others{h} })
	got := overPath(t, path, "POST", "/v1/proposals", proposal, "")
	if got.status != 409 || !strings.Contains(got.body, "another user") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, secret := range []string{foreignItem, "alice", "4243", "her rea", "her rev"} {
		if strings.Contains(got.body, secret) {
			t.Errorf("%q is told: %s", secret, got.body)
		}
	}
	path = shared(func(h server.Host) server.Host { return firstAsked{h} })
	overPath(t, path, "POST", "/v1/invoke", asking("git push"), "")
	if got = overPath(t, path, "POST", "/v1/proposals", proposal, ""); got.status != 200 ||
		!strings.Contains(got.body, "uid 4242") {
		t.Errorf("its own: %d %s", got.status, got.body)
	}
}

// firstAsked is a host that takes each proposal for the one that was made first.
type firstAsked struct{ server.Host }

func (f firstAsked) Propose(ctx context.Context, _ approvals.Proposal, _ string) (approvals.Item, bool, error) {
	list, err := f.Approvals(ctx, approvals.Query{})
	if err != nil || len(list) != 1 {
		return approvals.Item{}, false, fmt.Errorf("%d items, %w", len(list), err)
	}
	return list[0], false, nil
}

// crowd is a host in whose store a tenant's own items and leases stand behind many of another user.
type crowd struct {
	server.Host
	pages *int
}

const crowdSize = 2500

func (c crowd) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	*c.pages++
	own, err := c.Host.Approvals(ctx, q)
	if err != nil {
		return nil, err
	}
	var all []approvals.Item
	for n := range crowdSize { // newest first, and newer than those of the host
		if id := fmt.Sprintf("f%07d", crowdSize-n); q.Before == "" || id < q.Before {
			all = append(all, approvals.Item{ID: id, State: approvals.Pending})
		}
	}
	all = append(all, own...)
	return all[:min(len(all), q.EffectiveLimit())], nil
}

func (c crowd) Leases(_ context.Context, q leases.Query) ([]leases.View, error) {
	*c.pages++
	var all []leases.View
	for n := range crowdSize + 3 {
		v := leases.View{ID: fmt.Sprintf("l%07d", n), Holder: leases.Holder{Credential: "uid 4243"}}
		if n >= crowdSize {
			v.Holder.Credential = "uid 4242"
		}
		if v.ID > q.After {
			all = append(all, v)
		}
	}
	return all[:min(len(all), q.EffectiveLimit())], nil
}

// A tenant's own items and leases are listed, however many of others stand before them, and no more than asked for.
func TestTenantsListsAreNotFilledByOthers(t *testing.T) {
	const uid = 4242
	from, pages := uid, 0
	_, config := reviewer(t)
	_, path := asTenant(t, uid, &from, withConfig(config),
		withBelay(func(o *belay.Options) { o.Store = amongOthers{memory.New()} }),
		withHost(func(h server.Host) server.Host { return crowd{h, &pages} }))
	for n := range 3 {
		got := overPath(t, path, "POST", "/v1/invoke", asking(fmt.Sprint("git push ", n)), "")
		if !strings.Contains(got.body, `"decision":"ask"`) {
			t.Fatalf("%d %.300s", got.status, got.body)
		}
	}
	for _, c := range []struct {
		list, query      string
		own, most, least int
	}{
		{"approvals", "", 3, 6, 3},
		{"approvals", "?limit=2", 2, 6, 3},
		{"approvals", "?limit=1000", 3, 6, 3},
		{"leases", "", 3, 6, 3},
		{"leases", "?limit=2", 2, 6, 3},
	} {
		pages = 0
		got := overPath(t, path, "GET", "/v1/"+c.list+c.query, "", "")
		var out map[string][]jsontext.Value
		if err := json.Unmarshal([]byte(got.body), &out); err != nil || got.status != 200 {
			t.Fatalf("%s%s: %d %.300s", c.list, c.query, got.status, got.body)
		}
		if n := len(out[c.list]); n != c.own || pages > c.most || pages < c.least {
			t.Errorf("%s%s: %d of its own in %d looks: %.300s", c.list, c.query, n, pages, got.body)
		}
	}
}
