package redact

import "strings"

// usualNames are names of members that hold nothing of a secret and say nothing of one: those of belay's own documents,
// and those that tools of agents have. A test holds each of them against the detectors. Read only.
var usualNames = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
		action activeForm agent agent_id args artifacts attachments base budget call_id carried cell_id child cmd code
		command commands constraints content contexts cost_usd count cwd data date depth description dir directory
		duration_ms edit_mode edits effects enabled end env error exit_code explanation file file_path files filter force
		format from fs_read fs_write glob grant head_limit headers height hook id include index input instruction
		is_error kind label labels language limit line lines list machine max mcp message messages metadata method
		mode model multiline name native_tool net new_source new_string note notebook_path offset old_string options
		order original_args output output_mode page parameters params parent path paths pattern permission_mode pid port
		position prompt provider query questions range reason recursive regex replace_all reply reported_time result retry
		role root run run_in_background schema scope scopes server size sort source span_id stage start state status
		stderr stdin stdout step steps stop_reason subagent_type summary system tags target text tier time timeout
		timestamp title to todos tool tool_calls tools topic trace_id transcript type uri url usage user value
		version wall_ms width workdir`) {
		names[name] = true
	}
	return names
}()

// usual reports that nothing needs to be looked for in a member's name.
func (d *detector) usual(name string) bool {
	return d.exact == nil && d.patterns == nil && !d.record.knows() && usualNames[name]
}

// instant reports a time as belay writes it: 2026-01-02T03:04:05.000000006Z. No two events have the same.
func instant(s string) bool {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) || len(s) > len(form)+11 || s[len(s)-1] != 'Z' {
		return false
	}
	for i := range len(s) - 1 {
		c := s[i]
		switch {
		case i == len(form):
			if c != '.' {
				return false
			}
		case i > len(form) || form[i] == '0':
			if c < '0' || c > '9' {
				return false
			}
		case c != form[i]:
			return false
		}
	}
	return true
}
