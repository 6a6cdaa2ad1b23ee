package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// turnCalls carries out what one turn of one hook asks for. It is used by one goroutine.
type turnCalls struct {
	invocation *invocation
	binding    *binding
	pass       phases.Pass
	view       phases.Invocation
	scope      *turnScope
	n          int
	notes      []string // for the hook's event
}

// RunTool implements hostcalls.ToolRunner.
func (t *turnCalls) RunTool(ctx context.Context, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return t.once(ctx, "request_tool_call", request, t.runTool)
}

// DoHTTP implements hostcalls.HTTPDoer.
func (t *turnCalls) DoHTTP(ctx context.Context, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return t.once(ctx, "http_request", request, t.doHTTP)
}

// once makes the call, unless an earlier run of the same invocation has made it.
func (t *turnCalls) once(ctx context.Context, call string, request jsontext.Value,
	do func(context.Context, jsontext.Value) (jsontext.Value, string, error)) (jsontext.Value, error) {
	waited, ok := t.scope.wait()
	if !ok {
		return nil, errLeft
	}
	defer waited()
	key := memoryKey{t.binding.spec.Name, string(t.pass), t.n}
	t.n++
	if m, ok := t.invocation.memory[key]; ok && m.call == call && m.request == string(request) {
		hostcalls.Charge(ctx, m.fuel)
		t.note(m.note + ", made once")
		return m.reply, m.err
	}
	// No call may have charged the context's meter yet: a call is one meter.
	reply, note, err := do(ctx, request)
	t.note(note)
	if t.invocation.memory == nil {
		t.invocation.memory = memory{}
	}
	t.invocation.memory[key] = memoryEntry{call: call, request: string(request), reply: reply, err: err,
		fuel: hostcalls.Charged(ctx), note: note}
	return reply, err
}

func (t *turnCalls) note(s string) {
	t.notes = append(t.notes, phases.SafeLine(s, 512))
}

// audit redacts the record of the turn's calls, with the secrets that the invocation knows.
func (t *turnCalls) audit() *audit.Builder {
	t.invocation.redactor() // it knows what came in from here on
	return t.invocation.audit()
}

// asker names the hook for the record.
func (t *turnCalls) asker() audit.Asker {
	return audit.Asker{Binding: t.binding.spec.Name, Digest: t.binding.digest, Version: t.binding.loaded.Version,
		Signer: t.binding.loaded.Signer,
		Tier:   t.binding.tier}
}

// denied answers the errno with a document that explains it.
func denied(e hostcalls.Errno, doc jsontext.Value) error {
	return &hostcalls.Refusal{Errno: e, Reply: doc}
}

// doHTTP sends a request of the hook. It is gated by the binding's own list of hosts.
func (t *turnCalls) doHTTP(ctx context.Context, request jsontext.Value) (jsontext.Value, string, error) {
	if t.binding.loaded.HTTP == nil {
		return nil, "http_request: no hosts are allowed", hostcalls.Denied
	}
	call, err := t.binding.loaded.HTTP.Prepare(request)
	if err != nil {
		return nil, "http_request: refused: " + err.Error(), err
	}
	action, err := phases.Set(jsontext.Value(`{"tool":"http_request","args":{}}`), "/args", call.Record) // a copy
	if err != nil {
		return nil, "http_request: refused", hostcalls.Invalid
	}
	k := t.invocation.kernel
	inv := t.invocation.inv
	spent := &effort{kernel: k, by: t.asker(), id: k.options.NewID(k.options.Clock.Now()), audit: t.audit(),
		inv: audit.Invocation{Invocation: inv, Tool: "http_request", PolicyRevision: t.invocation.snap.revision}}
	if err := spent.begin(ctx, action); err != nil {
		return nil, "http_request: not sent", err
	}
	from := time.Now()
	res, err := sendUntil(ctx, call.Send)
	outcome, reason := res.Outcome, res.Reason
	if err != nil {
		outcome, reason = OutcomeError, err.Error()
	}
	if serr := spent.recordOutcome(ctx, outcome, reason, res.Reply, res.Summary, time.Since(from)); serr != nil {
		return nil, spent.String() + ": " + outcome, serr
	}
	return res.Reply, spent.String() + ": " + outcome, err
}

// sendUntil returns when ctx ends, also when the sender goes on; an answer that comes
// later is dropped.
func sendUntil(ctx context.Context, f func(context.Context) (HTTPResult, error)) (HTTPResult, error) {
	type answer struct {
		res HTTPResult
		err error
	}
	done := make(chan answer, 1)
	go func() {
		res, err := send(ctx, f)
		done <- answer{res, err}
	}()
	select {
	case a := <-done:
		return a.res, a.err
	case <-ctx.Done():
		return HTTPResult{}, ctx.Err()
	}
}

// send keeps a panic of the sender's code from leaving an intent without outcome.
func send(ctx context.Context, f func(context.Context) (HTTPResult, error)) (res HTTPResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = HTTPResult{}, fmt.Errorf("panic: %v", p)
		}
	}()
	res, err = f(ctx)
	res.Reply, res.Summary = res.Reply.Clone(), res.Summary.Clone()
	if err == nil && !res.Reply.IsValid() {
		err = errors.New("the reply is not JSON")
	}
	return res, err
}

var (
	_ hostcalls.ToolRunner = (*turnCalls)(nil)
	_ hostcalls.HTTPDoer   = (*turnCalls)(nil)
)
