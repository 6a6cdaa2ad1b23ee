package boottest

import (
	"os"
	"strings"
	"time"
)

func uninstalled(m *machine) {
	begin := time.Now()
	m.as(root, "belay", "system", "uninstall", "--yes")
	m.t.Logf("uninstalled after %s", time.Since(begin).Round(time.Second/10))
	if file := m.show("belay-tools.slice", "FragmentPath"); file != "" { // systemd knows every slice, also without a file
		m.t.Errorf("belay-tools.slice is as %s has it", file)
	}
	for _, unit := range []string{"belay.service", "belay.socket", "belay-frame.socket", "belay-tools.socket"} {
		if got := m.show(unit, "LoadState") + " " + m.show(unit, "ActiveState"); got != "not-found inactive" {
			m.t.Errorf("%s is %s", unit, got)
		}
	}
	if _, err := os.Lstat(m.path(stateOf(alice) + "/belay.db")); err != nil {
		m.t.Error(err)
	}
	for _, name := range []string{"/etc/belay/system.yaml", "/usr/local/bin/belay"} {
		if _, err := os.Lstat(m.path(name)); err == nil {
			m.t.Errorf("%s is left", name)
		}
	}
	if out := m.as(root, "ls", "/run"); strings.Contains(out, "belay") {
		m.t.Errorf("/run/belay is left: %s", m.as(root, "ls", "-la", "/run/belay"))
	}
	m.as(root, "/opt/newer/belay", "system", "install")
	if b, err := os.ReadFile(m.path("/etc/belay/system.yaml")); err != nil ||
		!strings.Contains(string(b), "the platform team") {
		m.t.Errorf("system.yaml was not taken up: %s %v", b, err)
	}
	m.asks(alice, "rm -rf /")
	m.green(root, nil, "system", "status")
	m.verified(alice)
}

func purged(m *machine) {
	m.as(root, "belay", "system", "uninstall", "--purge", "--yes")
	for _, name := range []string{"/etc/belay", "/var/lib/belay", "/usr/local/bin/belay",
		"/etc/systemd/system/belay.service"} {
		if _, err := os.Lstat(m.path(name)); err == nil {
			m.t.Errorf("%s is left", name)
		}
	}
	if out, _, code := m.run(root, "", "id", "belay"); code == 0 {
		m.t.Errorf("the user is left: %s", out)
	}
	m.reboot() // nothing of it is missed
	if out, _, _ := m.run(root, "", "/opt/newer/belay", "system", "status"); !strings.Contains(out, "not in system mode") {
		m.t.Error(out)
	}
}

// withoutSysusers takes the program away that systemd brings: useradd makes the users then.
func withoutSysusers(m *machine) {
	m.must(os.Rename(m.path("/usr/bin/systemd-sysusers"), m.path("/usr/bin/sysusers.away")))
	m.as(root, "/opt/newer/belay", "system", "install")
	m.asks(alice, "rm -rf /")
	m.green(root, []string{"contact"}, "system", "status")
	m.must(os.Rename(m.path("/usr/bin/sysusers.away"), m.path("/usr/bin/systemd-sysusers")))
	m.reboot()
	m.asks(alice, "rm -rf /")
	m.green(root, []string{"contact"}, "system", "status")
}
