package guard

import (
	"context"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Plan decides what came in for the agent, before any planning. Verdict.Reply, where hooks
// give one, is the answer to it, and the model is not asked. The error is an *Error.
func (g *Guard) Plan(ctx context.Context, in phases.PrePlanAction) (Allowed[phases.PrePlanAction], error) {
	return decide(ctx, g, phases.PrePlan, in, kernel.InvokeOptions{})
}

// Send decides a request to a model, has send carry out the verdict's action, and returns
// what hooks make of the answer. send is called once, or not at all beside an error of
// pre_send. Where hooks reply instead of the model, send is not called, and the reply is
// the answer.
//
// An error that is no *Error is the one of send: nothing was received. With phase
// post_receive the model has answered, and the answer is withheld.
func (g *Guard) Send(ctx context.Context, request phases.PreSendAction,
	send func(context.Context, phases.PreSendAction) (phases.PostReceiveAction, error),
) (Allowed[phases.PostReceiveAction], error) {
	pre, err := decide(ctx, g, phases.PreSend, request, kernel.InvokeOptions{})
	if err != nil {
		return Allowed[phases.PostReceiveAction]{}, err
	}
	var answer phases.PostReceiveAction
	if r := pre.Verdict.Reply; r != nil {
		answer = phases.PostReceiveAction{Kind: "final", Text: r.Text}
	} else if answer, err = send(ctx, pre.Action); err != nil {
		return Allowed[phases.PostReceiveAction]{}, err
	}
	got, err := g.Receive(ctx, answer)
	if err != nil {
		return Allowed[phases.PostReceiveAction]{}, err
	}
	got.Contexts = append(pre.Contexts, got.Contexts...)
	return got, nil
}

// Receive decides what a model answered, for programs that read it in pieces: a chunk, a
// turn or the final answer. The error is an *Error: the answer may not be used.
func (g *Guard) Receive(
	ctx context.Context, answer phases.PostReceiveAction,
) (Allowed[phases.PostReceiveAction], error) {
	return decide(ctx, g, phases.PostReceive, answer, kernel.InvokeOptions{})
}
