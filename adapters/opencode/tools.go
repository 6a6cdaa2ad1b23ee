package opencode

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// taskTool is the tool that starts a subagent.
const taskTool = "task"

// tool builds the actions of a call: before it the call itself, and a spawn for task; after it the
// call with its result, which is the whole output of the hook point.
func (c *call) tool() []action {
	native, callID := c.input.Name("tool"), c.input.OptStr("callID")
	from := c.output
	if c.event == "tool.execute.after" {
		from = c.input
	}
	args := from.Container("args", '{')
	result := c.p.Required("output")
	if c.input.Err() != nil || c.output.Err() != nil || c.p.Err() != nil {
		return nil
	}
	o := toolAction(native, callID, args)
	if c.event == "tool.execute.after" {
		if result.Kind() != '{' {
			c.p.Fail("output", "a member is not an object")
			return nil
		}
		return []action{{phases.PostTool, o.Raw("result", result).Value()}}
	}
	out := []action{{phases.PreTool, o.Value()}}
	if native == taskTool {
		raw, err := spawnAction(c.agent, args)
		if err != nil {
			c.output.Fail("args", "the prompt of a subagent is missing, empty or not a string")
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

// told is what OpenCode tells twice of one call. It names a call by callID before and after it, and
// changes nothing of it between the two. A call that fails has no tool.execute.after, so that no
// result is awaited.
func (c *call) told(step int) *adapters.Call {
	if c.event != "tool.execute.before" && c.event != "tool.execute.after" {
		return nil
	}
	id := c.input.OptStr("callID")
	if id == "" {
		return nil
	}
	if step > 0 {
		return &adapters.Call{ID: id, Args: c.output.Required("args"), Prompt: "/prompt"}
	}
	return &adapters.Call{ID: id}
}

// permission is a call that waits for a permission. OpenCode tells what it asks about, not the call's
// own arguments: metadata has the command or the file, and patterns what the permission would cover.
func (c *call) permission() *payload.Object {
	about := c.input
	if c.event == "permission.asked" {
		if _, data := c.busEvent(); c.input.Err() == nil {
			about = payload.Of(c.event, data)
		}
	}
	native := about.OptStr("permission")
	if native == "" {
		native = about.Name("type") // the form of permission.ask
	}
	callID := about.OptStr("callID")
	if v, ok := about.Optional("tool"); ok {
		callID, _ = phases.GetString(v, "/callID")
	}
	args := jsontext.Value("{}")
	if v, ok := about.Optional("metadata"); ok {
		if args = v; v.Kind() != '{' {
			about.Fail("metadata", "a member is not an object")
		}
	}
	for _, name := range []string{"patterns", "pattern"} {
		v, ok := about.Optional(name)
		if _, has := phases.Get(args, "/"+name); !ok || has || about.Err() != nil {
			continue
		}
		args, _ = phases.Set(args, "/"+name, v)
	}
	if c.input.Err() == nil {
		c.input.Refuse(about.Err())
	}
	return toolAction(native, callID, args)
}

var errSpawn = errors.New("opencode: the arguments of task have no prompt")

// spawnAction reads the arguments of task. OpenCode does not tell how deep a subagent is, only that
// the caller is one: 2 stands for two or more.
func spawnAction(agent string, args jsontext.Value) (jsontext.Value, error) {
	p := payload.Of("tool.execute.before", args)
	kind, prompt := p.OptStr("subagent_type"), p.OptStr("prompt")
	if p.Err() != nil {
		return nil, p.Err()
	}
	if prompt == "" {
		return nil, errSpawn
	}
	if kind == "" {
		kind = "general" // the name of OpenCode's own subagent
	}
	level := "1"
	if agent != mainAgent {
		level = "2"
	}
	child := new(payload.Object).Str("agent", kind).Str("prompt", prompt)
	return new(payload.Object).Str("parent", agent).Raw("child", child.Value()).Raw("depth", []byte(level)).Value(), nil
}

func spawnStep(spawn adapters.Step, args jsontext.Value) (adapters.Step, error) {
	raw, err := spawnAction(spawn.Invocation.Agent, args)
	if err != nil {
		return adapters.Step{}, err
	}
	return payload.Respawn(spawn, raw, args), nil
}
