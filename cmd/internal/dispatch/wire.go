package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// ErrInvocation says that the input is no invocation. The refusal is recorded,
// unless the verdict beside the error has no Event.
var ErrInvocation = errors.New("the invocation is not valid")

// Wire decodes an invocation in the wire form, with what its caller says beside it
// (phases.Request), and has it decided. Hooks are told what lies in the files that its commands would
// run. The verdict is
// always complete. With ErrInvocation (and the *phases.DecodeError that says
// where) the verdict is the block that was recorded for it; every other failure
// is a verdict like any other, without an error.
func Wire(ctx context.Context, host Host, src []byte) (v phases.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			cause := fmt.Errorf("panic: %v", p)
			v, err = refuse(ctx, host,
				kernel.Refusal{Raw: src, Fault: phases.NewFault(phases.KindProtocol, "belay failed", cause)}), nil
		}
	}()
	req, err := phases.DecodeRequest(src)
	if err != nil {
		f := phases.NewFault(phases.KindProtocol, ErrInvocation.Error(), err)
		return refuse(ctx, host, kernel.Refusal{Invocation: named(src), Raw: src, Fault: f, Unread: true}),
			fmt.Errorf("%w: %w", ErrInvocation, err)
	}
	tellRuns(ctx, &req.Invocation)
	v, err = host.InvokeWith(ctx, req.Invocation,
		kernel.InvokeOptions{HoldsScopes: req.HoldsScopes, ParentScopes: req.ParentScopes})
	v = complete(v, req.Invocation, err)
	if req.HoldsScopes {
		noteHeld(&v)
	}
	return v, nil
}

// named returns what names an invocation that is not valid, as far as it is JSON: an
// event that has happened already latches the session that it names.
func named(src []byte) phases.Invocation {
	raw := jsontext.Value(src)
	if len(src) > phases.MaxInputBytes || !raw.IsValid() {
		return phases.Invocation{}
	}
	text := func(ptr string) string {
		s, _ := phases.GetString(raw, ptr)
		return s
	}
	return phases.Invocation{
		Phase: phases.Phase(text("/phase")), ID: text("/id"), Runtime: text("/runtime"), Session: text("/session"),
		Agent: text("/agent"), Run: text("/run"), User: text("/user"),
	}
}

// Refuse records that what came in was not even looked at, and answers the block.
func Refuse(ctx context.Context, host Host, src []byte, f *phases.Fault) phases.Verdict {
	return refuse(ctx, host, kernel.Refusal{Raw: src, Fault: f})
}

// refuse is Host.Refuse for a host that may be failing altogether.
func refuse(ctx context.Context, host Host, r kernel.Refusal) (v phases.Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = block(r.Invocation, r.Fault)
		}
	}()
	v, err := host.Refuse(ctx, r)
	return complete(v, r.Invocation, err)
}

// complete returns a verdict with a decision: an error, or a missing decision,
// becomes a block.
func complete(v phases.Verdict, inv phases.Invocation, err error) phases.Verdict {
	switch v.Decision {
	case phases.Allow, phases.Ask, phases.Block:
		if err == nil || v.Decision == phases.Block {
			return v
		}
	}
	f := phases.FaultOf(err)
	if f == nil {
		f = phases.NewFault(phases.KindProtocol, "the action could not be decided", err)
	}
	return block(inv, f)
}

func block(inv phases.Invocation, f *phases.Fault) phases.Verdict {
	v := phases.Verdict{
		ID: inv.ID, Phase: inv.Phase, Decision: phases.Block, DecidedBy: "belay", Enforced: phases.EnforcedDirect,
		Reason: "the action could not be decided", Kind: phases.KindProtocol,
		Changed: []string{}, Metadata: phases.Metadata{}, Contexts: []string{}, Artifacts: []phases.Artifact{},
		Masked: []string{}, Hooks: []phases.HookReport{},
	}
	if f != nil {
		v.Reason, v.Kind = phases.SafeText(f.Text, phases.MaxReasonBytes), f.Kind
	}
	return v
}
