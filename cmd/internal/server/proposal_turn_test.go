package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// bound is a host that binds each proposed hook, and tells when it is to reload.
type bound struct {
	server.Host
	reloads func()
}

func (b *bound) Propose(context.Context, approvals.Proposal, string) (approvals.Item, bool, error) {
	return approvals.Item{}, true, nil
}

func (b *bound) Reload(ctx context.Context) error {
	b.reloads()
	return b.Host.Reload(ctx)
}

// A proposal is worked on in a turn of its user, from its decoding to the reload that it causes: one user's proposals
// take no more of the machine than that user's questions do.
func TestProposalsHaveTurns(t *testing.T) {
	const uid = 4242
	from := uid
	begun, goOn := make(chan struct{}), make(chan struct{})
	_, path := asTenant(t, uid, &from, withServer(func(o *server.Options) {
		o.Tenant, o.Patience = &server.Tenant{Share: server.NewTurns(0).Share()}, 200*time.Millisecond // one turn
	}), withHost(func(inner server.Host) server.Host {
		return &bound{Host: inner, reloads: func() {
			begun <- struct{}{}
			<-goOn
		}}
	}))
	const proposal = `{"name":"h","module":"AGFzbQEAAAA=","reason":"so"}`
	answer := make(chan answered)
	go func() { answer <- overPath(t, path, "POST", "/v1/proposals", proposal, "") }()
	<-begun
	if got := overPath(t, path, "POST", "/v1/proposals", "no proposal", ""); got.status != 503 {
		t.Errorf("another one meanwhile: %d %s", got.status, got.body)
	}
	close(goOn)
	if got := <-answer; got.status != 200 {
		t.Errorf("the proposal: %d %s", got.status, got.body)
	}
	if got := overPath(t, path, "POST", "/v1/proposals", "no proposal", ""); got.status != 400 {
		t.Errorf("what is no proposal, with a turn: %d %s", got.status, got.body)
	}
	if got := overPath(t, path, "POST", "/v1/invoke", asking("ls"), ""); got.status != 200 {
		t.Errorf("a question afterwards: %d %s", got.status, got.body)
	}
}

// panicking is a host that fails at each proposal, and panickingAdapter one for payloads that it has no answer to.
type panicking struct{ server.Host }

func (panicking) Propose(context.Context, approvals.Proposal, string) (approvals.Item, bool, error) {
	panic("as the test wants it")
}

type panickingAdapter struct{ adapters.Adapter }

func (panickingAdapter) Failure([]byte, adapters.Options, error) adapters.Answer {
	panic("as the test wants it")
}

// What fails in the middle of its work gives its turn back: the next one has it.
func TestAPanicKeepsNoTurn(t *testing.T) {
	for path, payload := range map[string]string{
		"/v1/proposals":                   `{"name":"h","module":"AGFzbQEAAAA=","reason":"so"}`,
		"/adapters/claude-code?unknown=1": claude("s", "PreToolUse"),
	} {
		d := startDaemon(t, withServer(func(o *server.Options) {
			o.Running, o.Patience = 1, 200*time.Millisecond
			o.Runtimes = map[string]adapters.Adapter{claudecode.Runtime: panickingAdapter{claudecode.New()}}
		}), withHost(func(inner server.Host) server.Host { return panicking{inner} }))
		if resp, body := d.do(t, call{method: "POST", path: path, body: payload}); resp.StatusCode != 500 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
		resp, body := d.do(t, call{method: "POST", path: "/v1/invoke", body: asking("ls")})
		if resp.StatusCode != 200 {
			t.Errorf("a question after %s: %d %s", path, resp.StatusCode, body)
		}
	}
}
