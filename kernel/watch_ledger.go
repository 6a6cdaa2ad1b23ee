package kernel

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// waitingLedger counts lease calls as time that the turn waits, and refuses them to a
// turn that was left behind.
type waitingLedger struct {
	ledger hostcalls.LeaseLedger
	scope  *turnScope
}

type leaseCall = func(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error)

func (w waitingLedger) call(ctx context.Context, f leaseCall, a phases.Actor,
	request jsontext.Value) (jsontext.Value, error) {
	done, ok := w.scope.wait()
	if !ok {
		return nil, errLeft
	}
	defer done()
	return f(ctx, a, request)
}

func (w waitingLedger) Request(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Request, a, r)
}

func (w waitingLedger) Check(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Check, a, r)
}

func (w waitingLedger) Mint(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Mint, a, r)
}

func (w waitingLedger) Revoke(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Revoke, a, r)
}

var _ hostcalls.LeaseLedger = waitingLedger{}
