package boottest

import (
	"encoding/json"
	"os"
	"strings"
)

// connected has a client that is installed and one that is not.
func connected(m *machine) {
	m.write("/usr/local/bin/claude", "#!/bin/sh\necho 2.1.330\n", 0o755)
	out := m.as(root, "belay", "system", "connect")
	if !strings.Contains(out, "claude-code") || strings.Contains(out, "/etc/codex") {
		m.t.Error(out)
	}
	settings, err := os.ReadFile(m.path("/etc/claude-code/managed-settings.json"))
	m.must(err)
	var s struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Args    []string
			}
		}
	}
	m.must(json.Unmarshal(settings, &s))
	if len(s.Hooks["PreToolUse"]) == 0 {
		m.t.Fatalf("%s", settings)
	}
	entry := s.Hooks["PreToolUse"][0].Hooks[0]
	if out, errs, _ := m.run(alice, call("rm -rf /"), entry.Command, entry.Args...); !strings.Contains(out,
		"command-guard") {
		m.t.Errorf("%v: %s%s", entry, out, errs)
	}
	// its start was never told
	m.green(alice, []string{"system mode process:", "system mode MCP servers:", "build", "own state", "session"}, "doctor")
	m.as(root, "belay", "system", "disconnect")
}

func imported(m *machine) {
	dir := "/home/alice/.local/state/belay"
	out, errs, code := m.run(root, "", "belay", "system", "import", dir, "--user", "alice")
	if code != 1 || !strings.Contains(errs, "has asked") && !strings.Contains(errs, "state") {
		m.t.Errorf("imported over a log: %d %s%s", code, out, errs)
	}
	m.as(root, "systemctl", "stop", "belay.service")
	m.must(os.Rename(m.path(stateOf(alice)), m.path(stateOf(alice)+".before")))
	m.must(os.Rename(m.path(stateOf(alice)+".before"), m.path("/root/before")))
	m.as(root, "belay", "system", "import", dir, "--user", "alice")
	m.asks(alice, "rm -rf /home")
	events := m.as(alice, "belay", "events", "query", "--json")
	if !strings.Contains(events, `rm -rf /"`) || !strings.Contains(events, "rm -rf /home") {
		m.t.Errorf("not the log from before, and what came then:\n%s", events)
	}
	m.verified(alice)
}
