package boottest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// call is what Claude Code tells before it runs a command.
func call(command string) string {
	b, _ := json.Marshal(map[string]any{"session_id": "s-1", "transcript_path": "/t", "cwd": "/",
		"hook_event_name": "PreToolUse",
		"tool_name":       "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": "t-" + command})
	return string(b)
}

// asks is a question of a user's agent that a hook blocks; the answer has to be the hook's.
func (m *machine) asks(uid int, command string) {
	m.t.Helper()
	out, errs, _ := m.run(uid, call(command), "belay-hook", "--runtime", "claude-code")
	if !strings.Contains(out, `"deny"`) || !strings.Contains(out, "command-guard") {
		m.t.Errorf("uid %d asks: %s%s\n%s", uid, out, errs, m.journal())
	}
}

// blocked is a question while the daemon is away: the answer has to be a block that says so.
func (m *machine) blocked(uid int) {
	m.t.Helper()
	out, errs, _ := m.run(uid, call("ls"), "belay-hook", "--runtime", "claude-code")
	if !strings.Contains(out+errs, `"deny"`) || !strings.Contains(out+errs, "belay system status") {
		m.t.Errorf("uid %d asks, with the daemon away: %s%s", uid, out, errs)
	}
}

// green fails for red rows of a status; yellow ones are those that are named.
func (m *machine) green(uid int, yellow []string, args ...string) {
	m.t.Helper()
	out, errs, code := m.run(uid, "", "belay", args...)
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "FAIL" && f[0] != "warn" {
			continue
		}
		known := false
		for _, y := range yellow {
			known = known || f[0] == "warn" && strings.HasPrefix(strings.Join(f[1:], " "), y)
		}
		if !known {
			m.t.Errorf("belay %s: %s", strings.Join(args, " "), line)
		}
	}
	if code != 0 {
		m.t.Errorf("belay %s: exit %d %s", strings.Join(args, " "), code, errs)
	}
}

// red returns the red rows of `belay system status`, which has to end with 1.
func (m *machine) red() string {
	m.t.Helper()
	out, errs, code := m.run(root, "", "belay", "system", "status")
	if code != 1 {
		m.t.Errorf("belay system status: exit %d %s", code, errs)
	}
	var rows []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "FAIL" {
			rows = append(rows, f[1])
		}
	}
	return strings.Join(rows, " ")
}

func stateOf(uid int) string { return "/var/lib/belay/users/" + strconv.Itoa(uid) }

// verified has root verify a user's log.
func (m *machine) verified(uid int) {
	m.t.Helper()
	m.as(root, "belay", "--state", stateOf(uid), "events", "verify")
}
