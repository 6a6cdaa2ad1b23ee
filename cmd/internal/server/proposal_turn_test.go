package server_test

import (
	"context"
	"testing"
	"time"

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
