package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

const (
	// defaultToolTimeout and maxToolTimeout bound how long one tool may take.
	defaultToolTimeout = 20 * time.Second
	maxToolTimeout     = 25 * time.Second

	// afterTool is the part of a call's time that is reserved for the chain of post_tool.
	afterTool = 3 * time.Second

	// maxToolResult is the largest result that fits into the action of post_tool beside the arguments.
	maxToolResult = 512 << 10

	// CallerKey is the member of an invocation's metadata in which the kernel says on
	// whose behalf it was made; no caller can set it.
	CallerKey = "belay"
)

// toolRequest is the argument of request_tool_call.
type toolRequest struct {
	Tool      string         `json:"tool"` // the runtime's name or the normalised one
	Args      jsontext.Value `json:"args"` // an object
	TimeoutMS int64          `json:"timeout_ms,omitzero"`
}

// toolReply is the reply of request_tool_call when the tool was run.
type toolReply struct {
	Outcome string         `json:"outcome"` // ok, error, timeout, crashed
	Tool    string         `json:"tool"`
	CallID  string         `json:"call_id"` // of the intent in the record
	IsError bool           `json:"is_error"`
	Result  jsontext.Value `json:"result"`
}

// toolRefusal explains -2 and -6.
type toolRefusal struct {
	Reason    string              `json:"reason"`
	Kind      phases.Kind         `json:"kind,omitzero"`
	DecidedBy string              `json:"decided_by,omitzero"`
	Approval  *phases.ApprovalRef `json:"approval,omitzero"`
}

// requested is the value of CallerKey.
type requested struct {
	Hook       string       `json:"hook"`
	Digest     string       `json:"digest"`
	Tier       phases.Tier  `json:"tier"`
	Phase      phases.Phase `json:"phase"`
	Invocation string       `json:"invocation"`
	Depth      int          `json:"depth"` // 1 for a call of a hook that the runtime's own event ran
}

// decodeToolRequest decodes a document that a guest made. The error is an Errno.
func decodeToolRequest(raw jsontext.Value) (toolRequest, error) {
	var request toolRequest
	if err := json.Unmarshal(raw, &request, json.RejectUnknownMembers(true)); err != nil {
		return request, hostcalls.Invalid
	}
	if request.Args == nil {
		request.Args = jsontext.Value("{}")
	}
	if request.Tool == "" || len(request.Tool) > phases.MaxIDBytes ||
		phases.SafeLine(request.Tool, phases.MaxIDBytes) != request.Tool ||
		request.Args.Kind() != '{' {
		return request, hostcalls.Invalid
	}
	if request.TimeoutMS < 0 || request.TimeoutMS > maxToolTimeout.Milliseconds() {
		return request, hostcalls.Invalid
	}
	return request, nil
}

// toolCall is one tool call of a hook on its way: the chain of pre_tool, the intent,
// the tool, the outcome, the chain of post_tool.
type toolCall struct {
	turn   *turnCalls
	req    toolRequest
	effort effort
	mcp    *phases.MCPTool
	reach  phases.Scopes
}

// runTool answers request_tool_call; note is for the record.
func (t *turnCalls) runTool(ctx context.Context,
	request jsontext.Value) (reply jsontext.Value, note string, err error) {
	req, err := decodeToolRequest(request)
	if err != nil {
		return nil, "request_tool_call: not a valid request", err
	}
	if t.scope.depth >= maxToolDepth {
		return nil, fmt.Sprintf("request_tool_call: more than %d deep", maxToolDepth), hostcalls.Budget
	}
	k := t.invocation.kernel
	c := &toolCall{turn: t, req: req,
		effort: effort{kernel: k, by: t.asker(), id: k.options.NewID(k.options.Clock.Now()), audit: t.audit()}}
	before, err := c.gate(ctx)
	if err != nil {
		return nil, "request_tool_call: " + phases.SafeLine(req.Tool, 128) + ": not run", err
	}
	outcome, res, took, err := c.run(ctx, &before)
	note = c.effort.String() + ": " + outcome
	if err != nil {
		return nil, note, err
	}
	reply, err = c.after(ctx, &before, outcome, res, took)
	return reply, note, err
}

// nested returns an invocation on behalf of the turn.
func (c *toolCall) nested(phase phases.Phase, action any, scopes phases.Scopes) (phases.Invocation, error) {
	raw, err := json.Marshal(action)
	if err != nil {
		return phases.Invocation{}, hostcalls.Invalid
	}
	view := &c.turn.view
	by, err := json.Marshal(requested{Hook: c.effort.by.Binding, Digest: c.effort.by.Digest, Tier: c.effort.by.Tier,
		Phase: view.Phase, Invocation: c.turn.invocation.inv.ID, Depth: c.turn.scope.depth + 1})
	if err != nil {
		return phases.Invocation{}, hostcalls.Invalid
	}
	return phases.Normalize(phases.Invocation{
		Phase: phase, Runtime: view.Runtime, Session: view.Session, Agent: view.Agent, Run: view.Run, User: view.User,
		CWD:    view.CWD,
		Action: raw, Scopes: scopes, Metadata: map[string]jsontext.Value{CallerKey: by}, Traceparent: view.Traceparent,
	})
}

// gate runs the chain of pre_tool. Without an error the tool may run: the verdict
// allows it, and the intent is recorded in the same transaction.
func (c *toolCall) gate(ctx context.Context) (phases.Verdict, error) {
	k := c.turn.invocation.kernel
	inv, err := c.nested(phases.PreTool,
		phases.PreToolAction{Tool: c.req.Tool, CallID: c.effort.id, Args: c.req.Args, MCP: mcpOf(c.req.Tool)},
		c.turn.view.Scopes)
	if err == nil {
		err = inv.Validate()
	}
	if err != nil {
		return phases.Verdict{},
			denied(hostcalls.Invalid, explain(toolRefusal{Reason: "the call is not valid: " + err.Error()}))
	}
	inv.ID = k.options.NewID(k.options.Clock.Now())
	c.mcp = mcpOf(c.req.Tool)
	tool := inv.Tool()
	if r, ok := k.options.Tools.(ToolReach); ok {
		c.reach = r.Reach(tool).Clone()
	}
	c.effort.inv = audit.Invocation{Invocation: inv, Tool: tool, PolicyRevision: c.turn.invocation.snap.revision}
	verdict, err := k.invokeFor(ctx, inv, &c.turn.invocation.options, c)
	if errors.Is(err, ErrUnavailable) {
		return verdict, storeFault("the record could not be written", err)
	}
	switch {
	case verdict.Decision == phases.Allow && err == nil:
		return verdict, nil
	case verdict.Decision == phases.Ask:
		return verdict, denied(hostcalls.Pending,
			explain(toolRefusal{Reason: verdict.Reason, DecidedBy: verdict.DecidedBy, Approval: verdict.Approval}))
	}
	return verdict,
		denied(hostcalls.Denied,
			explain(toolRefusal{Reason: verdict.Reason, Kind: verdict.Kind, DecidedBy: verdict.DecidedBy}))
}

// mcpOf returns server and tool of a name such as mcp__SERVER__TOOL or mcp:SERVER:TOOL.
func mcpOf(tool string) *phases.MCPTool {
	server, name, ok := phases.SplitMCPTool(tool)
	if !ok {
		return nil
	}
	return &phases.MCPTool{Server: server, Tool: name}
}

func explain(r toolRefusal) jsontext.Value {
	raw, err := json.Marshal(&r)
	if err != nil { // texts that are not UTF-8
		return nil
	}
	return raw
}

// invokeFor is invoke for an invocation on behalf of a hook, whose own has the options
// by; c is told when its call may run.
func (k *Kernel) invokeFor(ctx context.Context, inv phases.Invocation, by *InvokeOptions,
	c *toolCall) (verdict phases.Verdict, err error) {
	ctx, observation := k.observe(ctx, inv)
	// Quotas and approvals go by the caller's credential.
	// The kernel itself holds the call to its scopes, by the reach of the tool.
	o := InvokeOptions{OnBehalf: true, Credential: by.Credential, HookClock: by.HookClock, HoldsScopes: true}
	verdict, err = k.invokeOn(ctx, inv, o, observation, c)
	observation.decided(&verdict, err)
	return verdict, err
}

// allowed is called with the record of a pre_tool that lets the call pass, before it
// is committed. The event it returns goes into the same transaction.
func (c *toolCall) allowed(rec *audit.Record, at time.Time) (phases.Event, error) {
	if err := c.effort.noteDown(at); err != nil {
		return phases.Event{}, err
	}
	return c.effort.kernel.audit.IntentOf(&c.effort.inv, c.effort.by, rec, c.effort.id, at), nil
}

// run carries the call out and records its outcome.
func (c *toolCall) run(ctx context.Context,
	before *phases.Verdict) (outcome string, res ToolResult, took time.Duration, err error) {
	timeout := defaultToolTimeout
	if c.req.TimeoutMS > 0 {
		timeout = time.Duration(c.req.TimeoutMS) * time.Millisecond
	}
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(d)-afterTool)
	}
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args, _ := phases.Get(before.Action, "/args")
	view := &c.turn.view
	from := time.Now()
	// Both ways: the executor may write into its arguments, and use its buffers again.
	res, err = execute(call, c.turn.invocation.kernel.options.Tools, ToolCall{
		ID: c.effort.id, Tool: c.effort.inv.Tool, MCP: c.mcp, Args: args.Clone(), Scopes: before.Scopes.Clone(),
		Hook:    c.effort.by.Binding,
		Runtime: view.Runtime, Session: view.Session, Agent: view.Agent, Run: view.Run, User: view.User, CWD: view.CWD,
	})
	took = time.Since(from)
	switch {
	case err == nil && len(res.Result) > maxToolResult:
		err = fmt.Errorf("the result is larger than %d bytes", maxToolResult)
	case err == nil && !res.Result.IsValid():
		err = errors.New("the result is not valid JSON")
	}
	outcome, reason := OutcomeOK, ""
	if err != nil {
		outcome, reason = outcomeOf(err, call), phases.SafeLine(err.Error(), 512)
		raw, _ := jsontext.AppendQuote(nil, reason)
		res = ToolResult{IsError: true, Result: append(append(jsontext.Value(`{"error":`), raw...), '}')}
	}
	if err := c.effort.recordOutcome(ctx, outcome, reason, res.Result, nil, took); err != nil {
		return outcome, res, took, err
	}
	var held *ToolHeld
	switch {
	case errors.As(err, &held) && held.Approval != nil:
		return outcome, res, took, denied(hostcalls.Pending, explain(toolRefusal{Reason: reason, Approval: held.Approval}))
	case held != nil:
		return outcome, res, took, denied(hostcalls.Denied, explain(toolRefusal{Reason: reason}))
	case errors.Is(err, ErrNoTool):
		return outcome, res, took, denied(hostcalls.Absent, explain(toolRefusal{Reason: ErrNoTool.Error()}))
	}
	return outcome, res, took, nil
}

func outcomeOf(err error, call context.Context) string {
	switch {
	case errors.Is(err, ErrToolCrashed):
		return OutcomeCrashed
	case errors.Is(err, ErrToolTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.Is(call.Err(), context.DeadlineExceeded):
		return OutcomeTimeout
	}
	return OutcomeError
}

// execute returns when ctx ends, whatever the executor does; an answer that comes
// later is dropped.
func execute(ctx context.Context, executor ToolExecutor, call ToolCall) (ToolResult, error) {
	if ctx.Err() != nil {
		return ToolResult{}, tooLate(ctx) // nothing begins for a caller that has gone
	}
	type answer struct {
		res ToolResult
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("%w: panic: %v", ErrToolCrashed, p)}
			}
			done <- a
		}()
		a.res, a.err = executor.Call(ctx, call)
		a.res.Result = a.res.Result.Clone()
	}()
	select {
	case a := <-done:
		return a.res, a.err
	case <-ctx.Done():
		return ToolResult{}, tooLate(ctx)
	}
}

func tooLate(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrToolTimeout
	}
	return ctx.Err()
}

// after runs the chain of post_tool and returns the result that the hook may see.
func (c *toolCall) after(ctx context.Context, before *phases.Verdict, outcome string, res ToolResult,
	took time.Duration) (jsontext.Value, error) {
	k := c.turn.invocation.kernel
	args, _ := phases.Get(before.Action, "/args")
	post := phases.PostToolAction{Tool: c.effort.inv.Tool, CallID: c.effort.id, Args: args, Result: res.Result,
		IsError:    res.IsError,
		DurationMS: float64(took.Milliseconds()), MCP: c.mcp}
	if !phases.Same(args, c.req.Args) {
		post.OriginalArgs = c.req.Args
	}
	inv, err := c.nested(phases.PostTool, post, before.Scopes)
	if err == nil {
		err = inv.Validate()
	}
	if err != nil {
		return nil, denied(hostcalls.TooLarge,
			explain(toolRefusal{Reason: "the result cannot be shown to hooks: " + err.Error()}))
	}
	verdict, err := k.invokeFor(ctx, inv, &c.turn.invocation.options, nil)
	if errors.Is(err, ErrUnavailable) {
		return nil, storeFault("the record could not be written", err)
	}
	if verdict.Decision != phases.Allow || err != nil {
		return nil, denied(hostcalls.Denied,
			explain(toolRefusal{Reason: verdict.Reason, Kind: verdict.Kind, DecidedBy: verdict.DecidedBy}))
	}
	final := verdict.Action
	if !c.turn.invocation.snap.raw {
		if final, err = k.redactAction(final); err != nil {
			return nil, phases.NewFault(phases.KindAudit, "the result of a tool could not be redacted", err)
		}
	}
	result, ok := phases.Get(final, "/result")
	if !ok { // a mask of the operator redacts more than the result
		result = jsontext.Value(`"[redacted]"`)
	}
	reply, err := json.Marshal(toolReply{Outcome: outcome, Tool: c.effort.inv.Tool, CallID: c.effort.id,
		IsError: res.IsError, Result: result})
	if err != nil {
		return nil, phases.NewFault(phases.KindProtocol, "the result of a tool could not be encoded", err)
	}
	return reply, nil
}

// redactAction returns the action with secrets redacted, as it stands in the record.
func (k *Kernel) redactAction(action jsontext.Value) (jsontext.Value, error) {
	raw, err := json.Marshal(struct {
		Action jsontext.Value `json:"action"`
	}{action})
	if err != nil {
		return nil, err
	}
	if raw, _, err = k.options.Redactor.JSON(raw); err != nil {
		return nil, err
	}
	out, ok := phases.Get(raw, "/action")
	if !ok {
		return jsontext.Value("{}"), nil
	}
	return out, nil
}
