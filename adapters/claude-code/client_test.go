package claudecode_test

import (
	"encoding/json"
	"reflect"

	"github.com/belay-hooks/belay/adapters"
)

// client is a model of what Claude Code does with an answer. It is written from
// testdata/measured.json alone, with another JSON library than the adapter's;
// TestClientModel holds it against each case measured there. Where a case was not
// measured it takes the reading that lets more through.
type effect struct {
	blocked  bool // the event's action does not happen
	stopped  bool // the run ends
	goesOn   bool // an agent that wanted to stop goes on
	ask      bool // the person is asked
	granted  bool // the permission prompt is skipped
	input    any  // the tool's input that runs
	output   any  // the tool's output that the model reads
	failed   bool // the hook counts as failed: nothing of its answer holds
	context  string
	declined bool
	content  any // what an elicitation's answer carries
	path     string
}

func parseObject(b []byte) map[string]any {
	var m map[string]any
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	return m
}

// react returns what the client does. payload is the event's own.
func react(event string, payload []byte, ans adapters.Answer, http bool) effect {
	p := parseObject(payload)
	e := effect{input: p["tool_input"], output: p["tool_response"], content: p["content"]}
	out, exit := ans.Stdout, ans.Exit
	if http {
		status, _, body := ans.HTTP()
		if status < 200 || status > 299 {
			e.failed = true
			e.blocked = event == "WorktreeCreate"
			return e
		}
		out, exit = body, 0
	}
	stopLike := event == "Stop" || event == "SubagentStop" || event == "TaskCompleted" || event == "TeammateIdle"
	if exit == 2 {
		switch {
		case stopLike:
			e.goesOn = true
		case event == "PostToolUse" || event == "PostToolUseFailure" || isObserved(event): // the text is shown, no more
		case ans.Stderr != "" || event == "PreToolUse":
			e.blocked = true
		}
		return e
	}
	m := parseObject(out)
	if exit != 0 && m == nil || len(out) > 0 && m == nil {
		e.failed = true
		return e
	}
	if event == "WorktreeCreate" {
		e.blocked = true
	}
	specific, _ := m["hookSpecificOutput"].(map[string]any)
	if specific != nil && specific["hookEventName"] != event {
		e.failed = true
		return e
	}
	if d, ok := m["decision"]; ok {
		switch {
		case d != "block" && d != "approve":
			e.failed = true
			return e
		case d != "block":
		case stopLike:
			e.goesOn = true
		case event != "PostToolUse" && event != "PostToolUseFailure" && !isObserved(event):
			e.blocked = true
		}
	}
	if c, ok := m["continue"].(bool); ok && !c {
		e.stopped, e.goesOn = true, false
		// the tool still runs, the event still happens
	}
	if specific == nil {
		return e
	}
	if s, ok := specific["additionalContext"].(string); ok {
		e.context = s
	}
	switch event {
	case "PreToolUse", "PreModelSwitch":
		switch specific["permissionDecision"] {
		case nil:
		case "deny":
			e.blocked = true
		case "ask":
			e.ask = true
		case "allow":
			e.granted = true
		default:
			e.failed = true
			return e
		}
		if in, ok := specific["updatedInput"].(map[string]any); ok && event == "PreToolUse" {
			e.input = in
		}
	case "PermissionRequest":
		d, _ := specific["decision"].(map[string]any)
		switch d["behavior"] {
		case "deny":
			e.blocked = true
		case "allow":
			e.granted = true
			if in, ok := d["updatedInput"].(map[string]any); ok {
				e.input = in
			}
		}
	case "PostToolUse":
		name, _ := p["tool_name"].(string)
		member := "updatedToolOutput"
		if len(name) > 5 && name[:5] == "mcp__" {
			member = "updatedMCPToolOutput"
		}
		if v, ok := specific[member]; ok && taken(toolOf(p), e.output, v) {
			e.output = v
		}
	case "Elicitation", "ElicitationResult":
		switch specific["action"] {
		case "decline", "cancel":
			e.declined, e.blocked = true, true
		}
		if c, ok := specific["content"]; ok {
			e.content = c
		}
	case "WorktreeCreate":
		if path, _ := specific["worktreePath"].(string); path != "" {
			e.path, e.blocked = path, false
		}
	}
	return e
}

func toolOf(p map[string]any) string {
	name, _ := p["tool_name"].(string)
	return name
}

// isObserved lists the events after which the action goes on whatever is answered.
func isObserved(event string) bool {
	switch event {
	case "PreToolUse", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "PostToolUseFailure",
		"PostToolBatch", "PreCompact", "PreModelSwitch", "ConfigChange", "WorktreeCreate", "TaskCreated", "TaskCompleted",
		"TeammateIdle", "Stop", "SubagentStop", "Elicitation", "ElicitationResult":
		return false
	}
	return true
}

// fits reports whether the replacement has the shape of the output: measured for
// the shell tool, whose optional noOutputExpected may be missing. Words under
// "type" choose between shapes, so they have to be the same.
func fits(original, replacement any) bool {
	switch o := original.(type) {
	case map[string]any:
		r, ok := replacement.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range r {
			if _, known := o[k]; !known || !fits(o[k], v) {
				return false
			}
		}
		for k, v := range o {
			if _, there := r[k]; !there && k != "noOutputExpected" {
				return false
			}
			if s, ok := v.(string); ok && k == "type" && isShapeWord(s) && r[k] != v {
				return false
			}
		}
		return true
	case []any:
		_, ok := replacement.([]any)
		return ok
	}
	return reflect.TypeOf(original) == reflect.TypeOf(replacement)
}

func isShapeWord(s string) bool {
	switch s {
	case "text", "image", "create", "update", "notebook", "pdf", "resource", "async_launched", "completed", "content",
		"files_with_matches", "count", "code", "markdown", "replace":
		return true
	}
	return false
}
