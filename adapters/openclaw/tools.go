package openclaw

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// spawnTool is the tool that starts a subagent.
const spawnTool = "sessions_spawn"

// before builds the actions of a call that is about to run: the call itself, and a spawn for
// sessions_spawn.
func (c *call) before() []action {
	native, args := c.event.Name("toolName"), c.event.Container("params", '{')
	if c.event.Err() != nil {
		return nil
	}
	out := []action{{phases.PreTool, toolAction(native, c.event.OptStr("toolCallId"), args).Value()}}
	if name, _ := phases.NormalizeTool(Runtime, native); name == spawnTool {
		raw, err := spawnAction(c.agent, c.depth(), args)
		if err != nil {
			c.event.Fail("params", "the task of a subagent is missing, empty or not a string")
			return nil
		}
		out = append(out, action{phases.Spawn, raw})
	}
	return out
}

// toolAction begins the action of a tool call: names, call id, arguments.
func toolAction(native, callID string, args jsontext.Value) *payload.Object {
	name, _ := phases.NormalizeTool(Runtime, native)
	return new(payload.Object).Str("tool", name).Str("native_tool", native).Opt("call_id", callID).Raw("args", args)
}

// nativeExec reports whether the call starts a command that can stay open.
func nativeExec(action jsontext.Value) bool {
	tool, _ := phases.GetString(action, "/tool")
	return tool == "exec"
}

// after builds the action of a call that has run. Its result is that of the middleware, the message of
// the transcript, or what OpenClaw tells of a call that has ended.
func (c *call) after() *payload.Object {
	args, result := jsontext.Value("{}"), jsontext.Value(nil) // of the transcript OpenClaw tells no arguments
	failed := false
	switch c.name {
	case "agent_tool_result":
		args, result = c.event.Container("args", '{'), c.event.Container("result", '{')
		if v, ok := c.event.Optional("isError"); ok {
			failed = v.Kind() == 't'
		}
	case "tool_result_persist":
		result = c.event.Container("message", '{')
	default:
		args = c.event.Container("params", '{')
		if v, ok := c.event.Optional("result"); ok {
			result = v
		} else {
			result, failed = payload.Quote(c.event.OptStr("error")), true
		}
	}
	native := c.event.OptStr("toolName")
	if native == "" && c.name == "tool_result_persist" {
		native, _ = phases.GetString(result, "/toolName")
	}
	if native == "" {
		c.event.Fail("toolName", "a member is missing, or empty")
	}
	if c.event.Err() != nil {
		return new(payload.Object)
	}
	o := toolAction(native, c.event.OptStr("toolCallId"), args).Raw("result", result)
	if failed {
		o.Boolean("is_error", true)
	}
	return o
}

// told is what OpenClaw tells twice of one call. It names a call by toolCallId before and after it. No
// result is awaited: a call that is cancelled has none.
func (c *call) told(step int) *adapters.Call {
	if c.name != "before_tool_call" && c.name != "agent_tool_result" {
		return nil
	}
	id := c.event.OptStr("toolCallId")
	if id == "" {
		return nil
	}
	if step > 0 {
		return &adapters.Call{ID: id, Args: c.event.Required("params"), Prompt: "/task"}
	}
	return &adapters.Call{ID: id}
}

// depth is how deep a subagent of this session would be: OpenClaw puts one segment for each into the
// key of a session.
func (c *call) depth() int { return strings.Count(c.ctx.OptStr("sessionKey"), ":subagent:") + 1 }

var errSpawn = errors.New("openclaw: the arguments of sessions_spawn have no task")

// spawnAction reads the arguments of sessions_spawn.
func spawnAction(agent string, depth int, args jsontext.Value) (jsontext.Value, error) {
	p := payload.Of("before_tool_call", args)
	kind, task, model := p.OptStr("agentId"), p.OptStr("task"), p.OptStr("model")
	if p.Err() != nil {
		return nil, p.Err()
	}
	if strings.TrimSpace(task) == "" {
		return nil, errSpawn
	}
	if kind == "" {
		kind = agent // a subagent is one more session of its requester's agent
	}
	child := new(payload.Object).Str("agent", kind).Str("prompt", task).Opt("model", model)
	return new(payload.Object).Str("parent", agent).Raw("child", child.Value()).
		Raw("depth", []byte(strconv.Itoa(depth))).Value(), nil
}

func spawnStep(spawn adapters.Step, args jsontext.Value) (adapters.Step, error) {
	depth := 1
	if v, ok := phases.Get(spawn.Invocation.Action, "/depth"); ok {
		if n, err := strconv.Atoi(string(v)); err == nil {
			depth = n
		}
	}
	raw, err := spawnAction(spawn.Invocation.Agent, depth, args)
	if err != nil {
		return adapters.Step{}, err
	}
	return payload.Respawn(spawn, raw, args), nil
}
