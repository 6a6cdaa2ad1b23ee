//go:build agents

package agents_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// codexCalls makes Codex call each function that it offers. Codex tells of each call twice, before it runs and
// after it, and belay compares the two: a difference here would be a false alarm.
func codexCalls() []kase {
	const picture = "printf 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er" +
		"kJggg==' | base64 -d > a.png"
	late := map[string]any{"cmd": "sleep 1; echo end", "yield_time_ms": 300}
	poll := Call{Tool: "write_stdin", Input: map[string]any{"session_id": Session, "chars": "", "yield_time_ms": 5000}}
	none, image := map[string]any{}, map[string]any{"path": "a.png"}
	one := func(calls ...Call) Turn { return Turn{Calls: calls} }
	old := func(tool string, in map[string]any) Turn {
		return one(Call{Tool: tool, Space: "multi_agent_v1", Input: in})
	}
	newer := func(tool string, in map[string]any) Turn {
		return one(Call{Tool: tool, Space: "collaboration", Input: in})
	}
	inCode := func(tool, args string) Turn { return one(js("text(await tools." + tool + "(" + args + "))")) }
	patch := `*** Begin Patch\n*** Add File: b.txt\n+hello\n*** End Patch\n`

	conversation := func(turns ...Turn) func(*codexClient) []Script {
		return func(*codexClient) []Script {
			return []Script{{Prompt: "do as scripted", Turns: turns},
				{Prompt: "child: work", Turns: []Turn{one(shell("echo child"))}}}
		}
	}
	return []kase{
		{group: verdicts, name: "calls that nothing changed are told of twice alike", want: always("alike"), config: "MCP",
			scripts: conversation(one(shell(picture)), one(Call{Tool: "exec_command", Input: late}), one(poll),
				one(Call{Tool: "view_image", Input: image}, Call{Tool: "get_goal", Input: none},
					Call{Tool: "list_mcp_resources", Input: none}, Call{Tool: "list_mcp_resource_templates", Input: none},
					Call{Tool: "say", Space: "mcp__notes", Input: map[string]any{"text": "x"}},
					Call{Tool: "say", Space: "mcp__notes", Input: none}),
				one(Call{Tool: "create_goal", Input: map[string]any{"objective": "x"}}),
				old("spawn_agent", map[string]any{"agent_type": "default", "message": "child: work"}),
				old("wait_agent", map[string]any{"targets": []string{Agent}, "timeout_ms": 10000}),
				old("send_input", map[string]any{"target": Agent, "message": "more"}),
				old("close_agent", map[string]any{"target": Agent}), old("resume_agent", map[string]any{"id": Agent}),
				one(Call{Tool: "update_goal", Input: map[string]any{"status": "complete"}})),
			got: alike("exec", "read", "get_goal", "create_goal", "update_goal", "list_mcp_resources",
				"list_mcp_resource_templates", "mcp:notes:say", "sessions_spawn", "multi_agent_v1wait_agent", "sessions_send",
				"multi_agent_v1close_agent", "multi_agent_v1resume_agent")},
		{group: verdicts, name: "the same in code mode", want: always("alike"), config: "MCP", flags: []string{"-m", astra},
			scripts: conversation(inCode("exec_command", "{cmd: "+quoted(picture)+"}"), inCode("apply_patch", `"`+patch+`"`),
				inCode("view_image", "{path: 'a.png'}"), inCode("get_goal", "{}"), inCode("mcp__notes__say", "{text: 'x'}"),
				inCode("list_mcp_resources", "{}"), inCode("clock__curr_time", "{}"),
				one(js("const r = await tools.exec_command({cmd: 'sleep 1; echo end', yield_time_ms: 300}); "+
					"text(await tools.write_stdin({session_id: r.session_id, chars: '', yield_time_ms: 5000}))")),
				newer("spawn_agent", map[string]any{"task_name": "child", "message": "child: work"}),
				newer("send_message", map[string]any{"target": "/root/child", "message": "more"}),
				newer("list_agents", none), newer("wait_agent", map[string]any{"timeout_ms": 10000})),
			got: alike("exec", "apply_patch", "read", "get_goal", "mcp:notes:say", "list_mcp_resources", "clockcurr_time",
				"sessions_spawn", "sessions_send", "agents_list", "collaborationwait_agent")},
	}
}

// alike fails unless belay judged a result of each of these functions, and found no call that ran otherwise than
// it was released or that belay was not asked about.
func alike(tools ...string) func(*codexClient) string {
	return func(c *codexClient) string {
		seen, out := map[string]bool{}, c.host.belay("events", "query", "--type", "verdict", "--json")
		for line := range strings.Lines(out) {
			var e struct {
				Phase string `json:"phase"`
				Tool  string `json:"tool"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return err.Error()
			}
			if e.Phase == "post_tool" {
				seen[e.Tool] = true
			}
		}
		missing := slices.DeleteFunc(slices.Clone(tools), func(t string) bool { return seen[t] })
		if len(missing) > 0 {
			return fmt.Sprintf("no result of %v was seen, only of %v", missing, seen)
		}
		if list := c.host.belay("events", "query", "--type", "mismatch", "--json"); list != "" {
			return "differ: " + list
		}
		return "alike"
	}
}
