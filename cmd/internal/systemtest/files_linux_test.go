package systemtest

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
)

const followsLinks = `version: belay/v1
hooks:
  - name: path-guard
    module: builtin:path-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve]
`

// reads is what Claude Code tells before it opens a file.
func reads(path string) string {
	b, _ := json.Marshal(
		map[string]any{"session_id": "s", "transcript_path": "/t", "cwd": "/", "hook_event_name": "PreToolUse",
			"tool_name": "Read", "tool_input": map[string]string{"file_path": path}, "tool_use_id": "t-" + path},
	)
	return string(b)
}

// A hook sees through a link in a home that the daemon cannot look into, because belay-hook looks as its own user. What
// that user cannot see either, and what nothing tells, cannot be told. The daemon's own view never counts.
func TestCallersFiles(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.install(systemYAML, followsLinks)
	link := func(who int, target, path string) {
		m.must(os.Symlink(target, m.path(path)))
		m.must(os.Lchown(m.path(path), who, who))
	}
	link(alice, "/etc/passwd", "home/alice/notes")
	link(bob, "/etc/passwd", "home/bob/notes")
	m.must(os.MkdirAll(m.path("var/lib/belay/seen"), 0o700)) // the daemon alone sees it
	m.must(os.Chown(m.path("var/lib/belay/seen"), 991, 991))
	link(991, "/etc/passwd", "var/lib/belay/seen/notes")
	m.start()
	asked := func(who int, path string) string {
		out, errs, _ := m.as(who, reads(path), "/usr/local/bin/belay-hook", "--runtime", "claude-code")
		return out + errs
	}
	if out := asked(alice, "/home/alice/notes"); !strings.Contains(out, `"deny"`) || !strings.Contains(out, "path-guard") {
		t.Errorf("alice's link: %s\n%s", out, m.log)
	}
	if out := asked(bob, "/home/bob/notes"); !strings.Contains(out, `"deny"`) {
		t.Errorf("bob's link: %s\n%s", out, m.log)
	}
	if d, r := m.verdict(alice, nil, "s", "cat ~/notes"); d != "deny" || !strings.Contains(r, "path-guard") {
		t.Errorf("~ is alice's home, and not the daemon's: %s %s", d, r)
	}
	for _, path := range []string{"/home/bob/notes", "/var/lib/belay/seen/notes"} {
		if out := asked(alice, path); strings.Contains(out, `"deny"`) {
			t.Errorf("alice was told where %s leads: %s", path, out)
		}
	}
	if strings.Contains(m.log.String(), "cannot be told") {
		t.Errorf("an honest caller is warned about: %s", m.log)
	}
	// A command that would run a file of the daemon's, in a directory that is only named: it is not read for alice.
	b, _ := json.Marshal(map[string]any{"session_id": "s", "transcript_path": "/t", "cwd": "/var/lib/belay/users/1502",
		"hook_event_name": "PreToolUse", "tool_name": "Bash",
		"tool_input":  map[string]string{"command": "sh keys/admin.token"},
		"tool_use_id": "t-sh"})
	token, err := os.ReadFile(m.path("var/lib/belay/users/1502/keys/admin.token"))
	m.must(err)
	_, _, _ = m.as(alice, string(b), "/usr/local/bin/belay-hook", "--runtime", "claude-code")
	seen, errs, code := m.as(alice, "", "/usr/local/bin/belay", "events", "query", "--json")
	if code != 0 || !strings.Contains(seen, "admin.token") || strings.Contains(seen, strings.TrimSpace(string(token))) {
		t.Errorf("what alice's command runs: %s%s", seen, errs)
	}
	out, errs, code := m.as(0, "", "/usr/local/bin/belay", "--state", "/var/lib/belay/users/1501", "events", "verify")
	if code != 0 {
		t.Errorf("alice's log: %s%s", out, errs)
	}
	m.stop(syscall.SIGTERM)
}
