package boottest

import (
	"os"
	"strings"
	"testing"
)

const organisation = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve, pattern_match]
`

// restart has systemd take up changed units, and starts the daemon anew.
func (m *machine) restart() {
	m.t.Helper()
	m.as(root, "systemctl", "daemon-reload")
	m.as(root, "systemctl", "restart", "belay.service")
}

// A machine that systemd runs is put into system mode, lives with it, and leaves it. Each part goes on where the one
// before it ended.
func TestBooted(t *testing.T) {
	m := newMachine(t)
	m.build("/opt/belay", "v0.1.0", "belay", "belay-hook", "belay-eval")
	m.boot()
	for _, part := range []struct {
		name string
		try  func(m *machine)
	}{
		{"alice has a log of her own before", own},
		{"install", install},
		{"the first question starts the daemon", activation},
		{"status and doctor are green", healthy},
		{"MCP servers of hooks have units of their own", toolServers},
		{"the walls of the unit are in force", walls},
		{"the unit lets a program do no more than belay needs", probe},
		{"so does the unit of MCP servers", probeTools},
		{"kill -9 in the middle of questions loses nothing", killed},
		{"stop and start", stopAndStart},
		{"reboot", rebooted},
		{"a drop-in counts, and one that costs the compiler is red", dropIns},
		{"install again where only units changed", unitsChanged},
		{"connect", connected},
		{"alice's own log goes on", imported},
		{"upgrade", upgraded},
		{"upgrade to what does not answer", putBack},
		{"uninstall and install again", uninstalled},
		{"uninstall --purge", purged},
		{"install without systemd-sysusers", withoutSysusers},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.try(m)
		})
		m.t = t
		if !ok {
			t.Fatal("the parts after it need this one")
		}
	}
}

// own makes a state directory with a log, as a user has it without system mode.
func own(m *machine) {
	m.as(alice, "/opt/belay/belay", "init")
	if out, errs, code := m.run(alice, call("rm -rf /"), "/opt/belay/belay-hook", "--runtime",
		"claude-code"); !strings.Contains(out, "deny") {
		m.t.Fatalf("%d %s%s", code, out, errs)
	}
}

func install(m *machine) {
	m.as(root, "/opt/belay/belay", "system", "install", "--dry-run")
	if _, err := os.Lstat(m.path("/etc/belay")); err == nil {
		m.t.Error("the dry run made /etc/belay")
	}
	out := m.as(root, "/opt/belay/belay", "system", "install")
	if !strings.Contains(out, "belay answers") {
		m.t.Error(out)
	}
	m.write("/etc/belay/system.yaml", "version: belay-system/v1\ncontact: the platform team\nusers: {allow: [alice, bob]}\n", 0o644)
	m.write("/etc/belay/belay.yaml", organisation, 0o644)
	m.as(root, "systemctl", "reload", "belay.service")
	for _, unit := range []string{"belay.socket", "belay-frame.socket", "belay-tools.socket"} {
		if got := m.show(unit, "ActiveState") + " " + m.show(unit, "UnitFileState"); got != "active enabled" {
			m.t.Errorf("%s is %s", unit, got)
		}
	}
}

// activation stops the daemon, and leaves the sockets: who asks starts it.
func activation(m *machine) {
	m.as(root, "systemctl", "stop", "belay.service")
	if pid := m.daemon(); pid != 0 {
		m.t.Fatalf("the daemon runs as process %d", pid)
	}
	m.asks(alice, "rm -rf /")
	if m.daemon() == 0 || m.show("belay.service", "ActiveState") != "active" {
		m.t.Error("the question started no daemon")
	}
	m.asks(bob, "rm -rf /")
}

func healthy(m *machine) {
	m.green(root, nil, "system", "status")
	m.green(alice, []string{"process", "MCP servers"}, "system", "status")
	// Compilers for hooks are not needed to be held.
	m.green(alice, []string{"system mode process:", "system mode MCP servers:", "build", "own state"}, "doctor")
}
