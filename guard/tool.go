package guard

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Tool decides a tool call, has run carry out the verdict's action, and returns what
// hooks make of the result. run is called once, or not at all beside an error of
// pre_tool. It gets the final call and the scopes that the tool must keep to; the name
// of the tool is normalised, and the caller's own is in NativeTool where they differ.
//
// What run returns becomes JSON: a jsontext.Value as it is, anything else by package json
// (a []byte as base64), at most phases.MaxInputBytes with the call. An error of run is no
// error of Tool: it is a result with IsError, which is the value beside it or else its
// text. Hooks see the result before the caller does. They are told as well, and although
// ctx has ended, when run panics or ends its goroutine, which then goes on.
//
// The error is an *Error. With phase post_tool the tool has run, and what came of it is
// withheld.
func (g *Guard) Tool(ctx context.Context, call phases.PreToolAction,
	run func(context.Context, phases.PreToolAction, phases.Scopes) (any, error),
) (Allowed[phases.PostToolAction], error) {
	if call.Args = call.Args.Clone(); call.Args == nil { // run may write to its own
		call.Args = jsontext.Value("{}")
	}
	call, err := g.named(call)
	if err != nil {
		return Allowed[phases.PostToolAction]{}, err
	}
	holds := g != nil && g.o.HoldsScopes
	pre, err := decide(ctx, g, phases.PreTool, call, kernel.InvokeOptions{HoldsScopes: holds})
	if err != nil {
		return Allowed[phases.PostToolAction]{}, err
	}
	scopes := g.o.Scopes.Intersect(pre.Verdict.Scopes)
	if !holds {
		if err := g.inScope(&pre.Verdict, scopes); err != nil {
			return Allowed[phases.PostToolAction]{}, err
		}
	}
	ran := pre.Action
	post := phases.PostToolAction{Tool: ran.Tool, NativeTool: ran.NativeTool, CallID: ran.CallID, Args: ran.Args.Clone()}
	if ran.MCP != nil {
		mcp := *ran.MCP
		post.MCP = &mcp
	}
	if len(pre.Verdict.Changed) > 0 {
		post.OriginalArgs = call.Args
	}
	var done Allowed[phases.PostToolAction]
	tell := func() {
		done, err = decide(context.WithoutCancel(ctx), g, phases.PostTool, post, kernel.InvokeOptions{})
	}
	carryOut(&post, tell, func() (any, error) { return run(ctx, ran, scopes) })
	if err != nil {
		return Allowed[phases.PostToolAction]{}, err
	}
	done.Contexts = append(pre.Contexts, done.Contexts...)
	return done, nil
}

// named gives a call the name that Options.Tools has for its tool. Names that belay would read as
// another one's are refused: hooks would judge a tool that does not run.
func (g *Guard) named(call phases.PreToolAction) (phases.PreToolAction, error) {
	if g == nil || call.MCP != nil || call.NativeTool != "" {
		return call, nil
	}
	name, ok := g.o.Tools[call.Tool]
	if !ok {
		return call, nil
	}
	if name == "" || !normalised(g.o.Runtime, name) {
		return call, refuse(ErrFailed, phases.PreTool, phases.Verdict{}, "Options.Tools has a name that is not normalised",
			nil)
	}
	call.Tool, call.NativeTool = name, call.Tool
	return call, nil
}

// normalised reports a name that no runtime gives to a tool with another name in belay's words. One
// that does, such as Bash, is taken for a mistake: hooks on exec would not see the call.
func normalised(runtime, name string) bool {
	for _, r := range append(phases.ToolRuntimes(), runtime) {
		if read, _ := phases.NormalizeTool(r, name); read != name {
			return false
		}
	}
	return true
}

// inScope holds the final action to its scopes, whatever the host has let pass.
func (g *Guard) inScope(v *phases.Verdict, scopes phases.Scopes) error {
	inv := g.invocation(v.Phase, v.Action)
	inv.Scopes = phases.Scopes{} // run can reach everything
	if err := phases.CheckScopes(inv, v.Action, scopes); err != nil {
		return refuse(ErrBlocked, v.Phase, *v, "the action is outside of its scopes", err)
	}
	return nil
}

// carryOut runs a tool once, fills in what came of it, and tells that in any case. A
// panic goes on after that, from where it began.
func carryOut(post *phases.PostToolAction, tell func(), run func() (any, error)) {
	began := time.Now()
	post.Result, post.IsError = text("the tool did not return"), true
	defer func() {
		post.DurationMS = float64(time.Since(began).Milliseconds())
		tell()
	}()
	out, failed := run()
	result, err := encode(out, failed)
	if err != nil {
		result, failed = text("the tool's result cannot be encoded"), err
	}
	post.Result, post.IsError = result, failed != nil
}

// encode returns a result as JSON.
func encode(out any, failed error) (jsontext.Value, error) {
	if out == nil && failed != nil {
		return text(failed.Error()), nil
	}
	return json.Marshal(out, json.Deterministic(true))
}

// text returns a JSON string.
func text(s string) jsontext.Value {
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // only for text that is not UTF-8
		return jsontext.Value("null")
	}
	return quoted
}
