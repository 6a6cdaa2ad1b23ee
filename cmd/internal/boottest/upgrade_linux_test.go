package boottest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// unitsChanged makes units as an older belay could have written them, and installs.
func unitsChanged(m *machine) {
	for _, name := range []string{"belay.service", "belay.socket"} {
		m.older("/etc/systemd/system/" + name)
	}
	m.restart()
	m.as(root, "systemctl", "restart", "belay.socket", "belay-frame.socket")
	m.asks(alice, "rm -rf /")
	pid := m.daemon()
	out := m.as(root, "/opt/belay/belay", "system", "install")
	for _, name := range []string{"belay.service", "belay.socket"} {
		if m.show(name, "Description") == "older" || m.show(name, "NeedDaemonReload") != "no" {
			m.t.Errorf("%s is the older one for systemd\n%s", name, out)
		}
	}
	m.asks(alice, "rm -rf /")
	if m.daemon() == pid {
		m.t.Error("the daemon of the older unit goes on")
	}
	m.green(root, nil, "system", "status")

	pid = m.daemon()
	m.as(root, "/opt/belay/belay", "system", "install")
	if m.daemon() != pid {
		m.t.Error("install without changes restarted the daemon")
	}
}

// older rewrites a unit and the record of it, as if another belay had written both.
func (m *machine) older(name string) {
	m.t.Helper()
	src, err := os.ReadFile(m.path(name))
	m.must(err)
	lines := strings.Split(string(src), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "Description=") {
			lines[i] = "Description=older"
		}
	}
	m.write(name, strings.Join(lines, "\n"), 0o644)
	sum, _, _ := strings.Cut(m.as(root, "sha256sum", name), " ")
	var manifest struct {
		Version string            `json:"version"`
		Program string            `json:"program"`
		Files   map[string]string `json:"files"`
	}
	b, err := os.ReadFile(m.path("/etc/belay/installed.json"))
	m.must(err)
	m.must(json.Unmarshal(b, &manifest))
	manifest.Files[name] = "sha256:" + sum
	b, err = json.Marshal(manifest)
	m.must(err)
	m.write("/etc/belay/installed.json", string(b), 0o644)
}

// version is the version of belay that runs.
func (m *machine) version() string {
	m.t.Helper()
	out := m.as(root, "belay", "system", "status", "--json")
	var s struct {
		Rows []struct{ What, Text string }
	}
	m.must(json.Unmarshal([]byte(out), &s))
	for _, r := range s.Rows {
		if r.What == "process" {
			return r.Text
		}
	}
	return out
}

func upgraded(m *machine) {
	m.build("/opt/newer", "v0.2.0", "belay", "belay-hook", "belay-eval")
	m.asks(alice, "rm -rf /")
	pid := m.daemon()
	m.older("/etc/systemd/system/belay.service")
	out := m.as(root, "/opt/newer/belay", "system", "upgrade")
	if m.daemon() == pid || !strings.Contains(m.version(), "v0.2.0") || m.show("belay.service", "Description") == "older" {
		m.t.Errorf("%s\n%s", out, m.version())
	}
	m.asks(alice, "rm -rf /")
	m.green(root, nil, "system", "status")
	m.verified(alice)
}

// putBack tries programs that say their version, and are no daemons.
func putBack(m *machine) {
	for name, program := range map[string]string{
		"ends":          "#!/bin/sh\n[ \"$1\" = --version ] && echo belay v0.3.0 && exit\necho belay: no memory >&2\nexit 1\n",
		"is not ready":  "#!/bin/sh\n[ \"$1\" = --version ] && echo belay v0.3.0 && exit\nexec sleep 1000\n",
		"says nonsense": "#!/bin/sh\n[ \"$1\" = --version ] && echo belay v0.3.0 && exit\nexec cat /etc/passwd\n",
	} {
		if name == "is not ready" && testing.Short() {
			continue // a minute
		}
		dir := "/opt/bad"
		m.must(os.RemoveAll(m.path(dir)))
		m.outside("cp", "-a", m.path("/opt/newer"), m.path(dir))
		m.write(dir+"/belay", program, 0o755)
		begin := time.Now()
		out, errs, code := m.run(root, "", "/opt/newer/belay", "system", "upgrade", "--programs", dir)
		if code != 1 || !strings.Contains(errs, "The one before is back") {
			m.t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
		}
		if name == "ends" && !strings.Contains(errs, "no memory") {
			m.t.Errorf("%s: it does not say why: %s", name, errs)
		}
		m.t.Logf("a daemon that %s: put back after %s: %s", name, time.Since(begin).Round(time.Second), errs)
		m.asks(alice, "rm -rf /")
		if !strings.Contains(m.version(), "v0.2.0") {
			m.t.Errorf("%s: %s", name, m.version())
		}
		m.green(root, nil, "system", "status")
	}
	m.verified(alice)
}
