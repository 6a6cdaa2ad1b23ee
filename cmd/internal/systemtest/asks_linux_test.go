package systemtest

import (
	"encoding/json"
)

const systemYAML = `version: belay-system/v1
contact: "the platform team, #belay"
users: {allow: [alice, bob]}
`

const organisation = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    via: queue
    capabilities: [block, request_approval, shell_parse, path_resolve, pattern_match]
    config: {rules: {cloud-delete: ask}}
  - name: path-guard
    module: builtin:path-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve]
`

// call is what Claude Code tells before it runs a command.
func call(session, command string) string {
	b, _ := json.Marshal(
		map[string]any{"session_id": session, "transcript_path": "/t", "cwd": "/", "hook_event_name": "PreToolUse",
			"tool_name": "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": "t-" + command},
	)
	return string(b)
}

// verdict asks as a user's agent does, and returns what Claude Code is told.
func (m *machine) verdict(uid int, env []string, session, command string, flags ...string) (decision, reason string) {
	m.t.Helper()
	out, errs, _ := m.with(uid, env, call(session, command), "/usr/local/bin/belay-hook",
		append([]string{"--runtime", "claude-code"}, flags...)...)
	return told(out, errs)
}

// told reads what Claude Code was answered.
func told(out, errs string) (decision, reason string) {
	var a struct {
		Out struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if out == "{}\n" || out == "" && errs == "" {
		return "no opinion", ""
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		return "none", out + errs
	}
	return a.Out.Decision, a.Out.Reason + errs
}
