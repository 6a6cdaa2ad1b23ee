package dispatch

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Answered is what became of one payload of a runtime.
type Answered struct {
	Answer   adapters.Answer  // for the runtime; valid whatever happened
	Verdicts []phases.Verdict // in order, recorded refusals included
	Err      error            // why there was no decision, for the caller's log; nil when there was
}

// Runtime answers one payload of a runtime from beginning to end. Before it
// returns, it records an undecided payload as a refusal, and latches a session
// that the answer alone does not hold; where that fails the answer is the
// event's block form. It never panics.
func Runtime(ctx context.Context, host Host, ad adapters.Adapter, payload []byte,
	opts adapters.Options) (out Answered) {
	if opts.Files == nil {
		opts.Files = readFiles(ctx)
	}
	if opts.Tail == nil {
		opts.Tail = readTail(ctx)
	}
	defer func() {
		if p := recover(); p != nil {
			f := phases.NewFault(phases.KindProtocol, "belay failed", fmt.Errorf("panic: %v", p))
			out.Answer, out.Err = ad.Failure(payload, opts, f), f
		}
	}()
	out.Answer, out.Err = adapters.Run(ctx, ad, payload, opts,
		func(ctx context.Context, s adapters.Step) (phases.Verdict, error) {
			v := step(ctx, host, s)
			out.Verdicts = append(out.Verdicts, v)
			return v, nil
		})
	if out.Err == nil && out.Answer.Latch == "" {
		return out
	}
	return settle(ctx, host, ad, payload, opts, out)
}

// RefuseRuntime answers an unread payload, such as one that came to a full
// queue: the event's block form, and it records the refusal.
func RefuseRuntime(ctx context.Context, host Host, ad adapters.Adapter, payload []byte, opts adapters.Options,
	f *phases.Fault) Answered {
	return settle(ctx, host, ad, payload, opts, Answered{Answer: ad.Failure(payload, opts, f), Err: f})
}

// settle records what no verdict stands for: a failure, or a block that the
// runtime has no words for, with the latch that then holds the session.
func settle(ctx context.Context, host Host, ad adapters.Adapter, payload []byte, opts adapters.Options,
	out Answered) Answered {
	f := phases.FaultOf(out.Err)
	switch {
	case out.Err == nil:
		f = phases.NewFault(phases.KindProtocol, out.Answer.Latch, nil)
	case f == nil:
		f = phases.NewFault(phases.KindProtocol, "the runtime's payload could not be read", out.Err)
	}
	r := kernel.Refusal{
		Invocation: phases.Invocation{Runtime: ad.Runtime(), Session: out.Answer.Session},
		Raw:        payload, Fault: f, Unblockable: opts.NeedsLatch(out.Answer), Unread: true,
	}
	if out.Err == nil {
		r.Why = phases.LatchDecision
	} else if r.Unblockable {
		r.Of, r.Why = refused(ad, payload, opts)
	}
	v := refuse(ctx, host, r)
	out.Verdicts = append(out.Verdicts, v)
	if v.Event == nil && out.Err == nil {
		// The session is not held by anything: the strongest thing left to say is no.
		out.Err = phases.NewFault(phases.KindStore, "the session could not be latched", nil)
		out.Answer = ad.Failure(payload, opts, out.Err)
	}
	return out
}

// refused returns the invocations of a refused payload, or the kind of latch
// for one that cannot be judged.
func refused(ad adapters.Adapter, payload []byte, opts adapters.Options) ([]phases.Invocation, phases.LatchKind) {
	of, err := adapters.Invocations(ad, payload, opts)
	if err != nil {
		return nil, phases.LatchPayload
	}
	return of, ""
}

// step asks the kernel about one step, with what the runtime can and cannot do.
func step(ctx context.Context, host Host, s adapters.Step) phases.Verdict {
	tellSettings(ctx, &s.Invocation)
	tellRuns(ctx, &s.Invocation)
	v, err := host.InvokeWith(ctx, s.Invocation, kernel.InvokeOptions{
		Unblockable: !s.Blockable,
		Delegated:   s.NativeAsk,
		HoldsScopes: s.CarriesScopes,
		UnseenInput: s.UnseenInput,
		Call:        (*kernel.Call)(s.Call),
		Results:     (*kernel.Results)(s.Results),
	})
	return complete(v, s.Invocation, err) // a failure that blocked is a verdict like any other
}
