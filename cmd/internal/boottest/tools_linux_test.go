package boottest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/phases"
)

// withTools declares an MCP server, and binds a hook that calls its tool before each command.
const withTools = `  - name: caller
    module: /etc/belay/caller.wasm
    digest: DIGEST
    capabilities: [request_tool_call, annotate]
    config: {request: {tool: mcp__probe__do}}
mcp:
  servers:
    probe:
      command: [/opt/mcp/probe]
      env: [PATH, PROBE]
      tools: [do]
`

const callerManifest = `{"name": "caller", "version": "1.0.0", "abi": 1, "phases": ["pre_tool"], "capabilities": [
	{"name": "request_tool_call", "reason": "to ask the probe"}, {"name": "annotate", "reason": "to note its answer"}],
	"config_schema": {"type": "object"}}`

// toolServers has a hook call a tool of an MCP server, which systemd starts as a service of its own, behind the walls
// of its unit.
func toolServers(m *machine) {
	m.build("/opt/mcp", "", "internal/systemtest/testdata/probe")
	src, err := os.ReadFile("../../../testdata/calls/request_tool_call.wasm")
	m.must(err)
	module, err := hookbuild.Pack(src, []byte(callerManifest))
	m.must(err)
	m.write("/etc/belay/caller.wasm", string(module), 0o644)
	m.write("/etc/systemd/system/belay-tools@.service.d/probe.conf", "[Service]\nEnvironment=PROBE=set-by-root\n", 0o644)
	m.as(root, "systemctl", "daemon-reload")
	m.write("/etc/belay/belay.yaml", organisation+strings.Replace(withTools, "DIGEST", phases.ByteDigest(module), 1),
		0o644)
	m.as(root, "systemctl", "reload", "belay.service")

	if got := strings.TrimSpace(m.as(root, "stat", "-c", "%U:%G %a", "/run/belay/tools.sock")); got != "root:belay 660" {
		m.t.Errorf("tools.sock is %s", got)
	}
	id := strings.TrimSpace(m.as(root, "id", "-u", "belay-tools"))
	said := ""
	for end := time.Now().Add(20 * time.Second); !strings.Contains(said, "uid "); { // until the daemon has the new file
		if said = m.probeSays(alice, "who"); time.Now().After(end) {
			m.t.Fatalf("the server says %q\n%s\n%s", said, m.journal(),
				m.as(root, "journalctl", "--unit", "belay-tools@*", "--no-pager"))
		}
	}
	if !strings.HasPrefix(said, "uid "+id+", ") || !strings.Contains(said, "PROBE=set-by-root") ||
		!strings.Contains(said, "TMPDIR=/tmp/") ||
		strings.Contains(said, "LISTEN_FDS") || !strings.HasSuffix(said, ", fd 0 fd 1 fd 2") {
		m.t.Errorf("the server says %s", said)
	}
	for todo, want := range map[string]string{"list /var/lib/belay": "denied", "list /run/belay": "denied",
		"connect /run/belay/belay.sock": "denied", "connect /run/belay/tools.sock": "denied", "list /home": "denied",
		"list /tmp": "denied", "write /var/tmp/x": "denied", "write /srv/probe/todo": "", "list /usr/bin": "it works"} {
		if got := m.probeSays(alice, todo); !strings.Contains(got, want) || want == "" && got == "it works" {
			m.t.Errorf("a server: %s: %s, want %s", todo, got, want)
		}
	}
	_ = m.probeSays(bob, "who")
	units := strings.Fields(m.as(root, "systemctl", "list-units", "--plain", "--no-legend", "belay-tools@*.service"))
	if n := strings.Count(strings.Join(units, " "), "belay-tools@"); n != 2 {
		m.t.Fatalf("two users have %d services of servers: %v", n, units)
	}
	for property, want := range map[string]string{"User": "belay-tools", "NoNewPrivileges": "yes",
		"CapabilityBoundingSet": "",
		"ProtectSystem":         "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateIPC": "yes",
		"ProtectProc":        "invisible",
		"RestrictNamespaces": "yes", "MemoryDenyWriteExecute": "no", "KillMode": "mixed", "TasksMax": "256",
		"MemoryMax": strconv.Itoa(1 << 30), "Slice": "belay-tools.slice"} {
		if got := m.show(units[0], property); got != want {
			m.t.Errorf("%s of %s is %q, want %q", property, units[0], got, want)
		}
	}
	var pid int
	_, _ = fmt.Sscanf(said[strings.Index(said, "pid "):], "pid %d", &pid)
	for line := range strings.Lines(m.as(root, "cat", "/proc/"+strconv.Itoa(pid)+"/status")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); {
		case name == "Seccomp" && value != "2", name == "NoNewPrivs" && value != "1", name == "CapBnd" &&
			strings.Trim(value, "0") != "":
			m.t.Errorf("the server's process: %s %s", name, value)
		}
	}
	if _, errs, code := m.run(alice, "", "sh", "-c", "exec 3<>/run/belay/tools.sock"); code == 0 {
		m.t.Errorf("alice opens tools.sock: %s", errs)
	}
	m.green(root, nil, "system", "status")

	// The daemon ends: so do they.
	m.as(root, "systemctl", "stop", "belay.service")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := m.as(root, "systemctl", "list-units", "--plain", "--no-legend", "--state=active", "belay-tools@*.service")
		if left == "" {
			break
		}
		if time.Now().After(end) {
			m.t.Fatalf("left: %s", left)
		}
	}
	if got := m.show("belay-tools.socket", "ActiveState"); got != "active" {
		m.t.Errorf("the socket is %s", got)
	}
	// Without it a call fails, and agents are judged by the other hooks. The daemon's unit brings it back.
	m.asks(alice, "rm -rf /")
	m.as(root, "systemctl", "stop", "belay-tools.socket", "belay-tools.slice")
	m.asks(alice, "rm -rf /")
	if said := m.probeSays(alice, "who"); said != "" {
		m.t.Errorf("without its socket a server says %s", said)
	}
	if got := m.red(); !strings.Contains(got, "tools.sock") && !strings.Contains(got, "MCP") {
		m.t.Errorf("red: %s", got)
	}
	m.must(os.RemoveAll(m.path("/etc/systemd/system/belay-tools@.service.d")))
	m.write("/etc/belay/belay.yaml", organisation, 0o644)
	m.restart()
	m.must(os.Remove(m.path("/etc/belay/caller.wasm"))) // what the operator puts there stays, and the directory with it
	m.asks(alice, "rm -rf /")
	m.green(root, nil, "system", "status")
}

// probeSays has the server do something while a user asks, and returns what it answered; "" without an answer.
func (m *machine) probeSays(uid int, todo string) string {
	m.t.Helper()
	m.write("/srv/probe/todo", todo, 0o644)
	command := "ls # " + strconv.FormatInt(time.Now().UnixNano(), 10)
	_, _, _ = m.run(uid, call(command), "belay-hook", "--runtime", "claude-code")
	out := m.as(uid, "belay", "events", "query", "--json")
	for line := range strings.Lines(out) {
		if !strings.Contains(line, command) || !strings.Contains(line, `"reply"`) {
			continue
		}
		const mark = `"type":"text","text":"`
		_, output, _ := strings.Cut(line, `"output":`) // the input has what the hook noted the last time
		if _, text, ok := strings.Cut(output, mark); ok {
			text, _, _ = strings.Cut(text, `"}]`)
			return strings.ReplaceAll(text, `\"`, `"`)
		}
	}
	return ""
}
