package fuzz

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Identity of every generated invocation.
const (
	seedID   = "01930000-0000-7000-8000-000000000000"
	seedTime = "2026-01-02T03:04:05Z"
)

// actionsOf are valid actions of a phase, one or more of each kind.
func actionsOf(p phases.Phase) []string {
	switch p {
	case phases.PrePlan:
		return []string{
			`{"kind":"message","text":"please fix the failing test","stage":"plan","constraints":["no network"],"attachments":[{"name":"a.txt","text":"x"}]}`,
			`{"kind":"session_start"}`, `{"kind":"command","command":"deploy","args":"prod --now"}`,
			`{"kind":"message","text":"think hard about this and delete everything"}`,
		}
	case phases.PreSend:
		return []string{
			`{"provider":"anthropic","model":"some-model","system":"be kind","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"text","text":"hi"}]}],"tools":["exec",{"name":"read"}],"params":{"temperature":0.5,"max_tokens":1024,"think_level":"low"},"headers":{"x-team":"a"}}`,
			`{"provider":"openai"}`,
		}
	case phases.PostReceive:
		return []string{
			`{"kind":"final","text":"done","stop_reason":"end_turn","usage":{"output_tokens":5}}`,
			`{"kind":"chunk","text":"do"}`,
			`{"kind":"turn","messages":[{"role":"assistant","content":"I will run rm -rf /"}]}`,
		}
	case phases.StateTransition:
		return []string{
			`{"machine":"stage","from":"plan","to":"deploy","data":{"approved":false}}`, `{"machine":"session","to":"end"}`,
			`{"machine":"stage","from":"build","to":"release","data":{"approved":true}}`,
		}
	case phases.Spawn:
		return []string{
			`{"parent":"main","child":{"agent":"helper","prompt":"look around","model":"some-model","tools":["read","exec"]},"depth":1}`, `{"child":{"agent":"helper"}}`, `{"child":{"agent":"deep"},"depth":9}`,
		}
	case phases.Audit:
		return []string{`{"kind":"notification","data":{"message":"password=hunter2 in /home/dev/project","n":1}}`,
			`{"kind":"session_end"}`}
	}
	return nil
}

// argsOf are arguments of known tools.
func argsOf(tool string) []string {
	switch tool {
	case "exec":
		return []string{`{"command":"ls -la","description":"list"}`, `{"command":"rm -rf /"}`,
			`{"command":"git push --force origin main"}`}
	case "read", "write", "edit", "apply_patch":
		return []string{`{"file_path":"/home/dev/project/a.txt","path":"/home/dev/project/a.txt","content":"x","old_string":"a","new_string":"b"}`, `{"file_path":"/etc/passwd","content":"x"}`}
	case "web_fetch", "web_search":
		return []string{`{"url":"http://evil.example/x","query":"x"}`}
	}
	return []string{`{"name":"x","count":1,"list":[1,"two",{"x":3}],"flag":true,"none":null}`}
}

// seeds are the first inputs of a phase, in wire form.
func seeds(phase phases.Phase, match tiers.Match) []string {
	agent := "main"
	runtime := "custom"
	if len(match.Runtimes) > 0 {
		runtime = match.Runtimes[0]
	}
	wrap := func(action string) string {
		return fmt.Sprintf(
			`{"phase":%q,"runtime":%q,"session":"s-1","agent":%q,"run":"r-1","user":"dev","cwd":"/home/dev/project","time":%q,"id":%q,"action":%s,`+
				`"scopes":{"fs_read":["/home/dev/project/**"],"fs_write":["/home/dev/project/**"],"net":["proxy.example:443"],"tools":["*"]},"metadata":{"note":"n"}}`,
			phase, runtime, agent, seedTime, seedID, action)
	}
	var out []string
	if phase != phases.PreTool && phase != phases.PostTool {
		for _, a := range actionsOf(phase) {
			out = append(out, wrap(a))
		}
		return out
	}
	for _, tool := range toolsFor(match) {
		for _, args := range argsOf(tool) {
			a := fmt.Sprintf(`{"tool":%q,"call_id":"c-1","args":%s}`, tool, args)
			if phase == phases.PostTool {
				a = strings.TrimSuffix(a, "}") +
					`,"result":{"stdout":"\u001b[31mred\u001b[0m password=hunter2","code":0},"duration_ms":12}`
			}
			out = append(out, wrap(a))
		}
	}
	return out
}

// toolsFor are the tools that the hook is asked about, at most eight.
func toolsFor(match tiers.Match) []string {
	var out []string
	m, err := phases.CompileTools(match.Tools, true)
	for _, tool := range append([]string{"exec", "read", "write", "edit", "web_fetch", "mcp:crm:find"},
		phases.KnownTools()...) {
		if (err != nil || m.Match(tool)) && len(out) < 8 && !strings.Contains(strings.Join(out, "\x00")+"\x00", tool+"\x00") {
			out = append(out, tool)
		}
	}
	return out
}
