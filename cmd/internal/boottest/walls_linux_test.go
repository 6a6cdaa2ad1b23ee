package boottest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// walls looks at what systemd says that is in force, and at what the kernel says.
func walls(m *machine) {
	for property, want := range map[string]string{"User": "belay", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "",
		"AmbientCapabilities": "", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
		"PrivateDevices": "yes",
		"ProtectProc":    "invisible", "ProtectKernelTunables": "yes", "ProtectControlGroups": "yes",
		"RestrictNamespaces": "yes",
		"RestrictSUIDSGID":   "yes", "LockPersonality": "yes", "MemoryDenyWriteExecute": "no", "Restart": "always",
		"Type": "notify", "UMask": "0077", "LimitCORE": "0", "LimitNOFILE": "65536", "TasksMax": "4096"} {
		if got := m.show("belay.service", property); got != want {
			m.t.Errorf("%s is %q, want %q", property, got, want)
		}
	}
	if n, err := strconv.ParseInt(m.show("belay.service", "MemoryMax"), 10, 64); err != nil || n <= 0 {
		m.t.Errorf("MemoryMax: %d, %v", n, err)
	}
	pid := strconv.Itoa(m.daemon())
	status := map[string]string{}
	for line := range strings.Lines(m.as(root, "cat", "/proc/"+pid+"/status")) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if strings.Trim(status[name], "0") != "" {
			m.t.Errorf("%s: %s", name, status[name])
		}
	}
	id := strings.TrimSpace(m.as(root, "id", "-u", "belay"))
	if status["NoNewPrivs"] != "1" || status["Seccomp"] != "2" ||
		status["Uid"] != strings.Join([]string{id, id, id, id}, "\t") ||
		strings.TrimSpace(status["Groups"]) != id {
		m.t.Errorf("NoNewPrivs %s, Seccomp %s, Uid %s of %s, Groups %s", status["NoNewPrivs"], status["Seccomp"],
			status["Uid"], id, status["Groups"])
	}
	mounts := map[string]string{}
	for line := range strings.Lines(m.as(root, "cat", "/proc/"+pid+"/mountinfo")) {
		f := strings.Fields(line)
		mounts[f[4]], _, _ = strings.Cut(f[5], ",") // the last one lies above
	}
	for name, want := range map[string]string{"/": "ro", "/home": "ro", "/var/lib/belay": "rw", "/dev": "ro",
		"/sys": "ro"} {
		if mounts[name] != want {
			m.t.Errorf("%s is mounted %q, want %q", name, mounts[name], want)
		}
	}
	if got := m.as(root, "ls", "/proc/"+pid+"/root/home"); got != "" {
		m.t.Errorf("the daemon sees homes: %s", got)
	}
	// Where this machine gives control groups of version 2 away, the bounds are the kernel's.
	group := filepath.Join("/sys/fs/cgroup", m.show("belay.service", "ControlGroup"))
	for _, name := range []string{"memory.max", "pids.max"} {
		b, err := os.ReadFile(m.path("proc/1/root") + group + "/" + name)
		if err != nil {
			out, _, code := m.run(root, "", "cat", group+"/"+name)
			if code != 0 {
				m.t.Logf("%s is not looked at: this machine gives no control groups of version 2 away", name)
				continue
			}
			b = []byte(out)
		}
		if strings.TrimSpace(string(b)) == "max" {
			m.t.Errorf("%s bounds nothing", name)
		}
	}
}

// probe has systemd start another program by the daemon's own unit.
func probe(m *machine) {
	m.build("/opt/probe", "", "internal/boottest/testdata/probe")
	m.write("/etc/systemd/system/belay.service.d/probe.conf", "[Service]\nType=oneshot\nRestart=no\nStandardOutput=journal\n"+
		"ExecStart=\nExecStart=/opt/probe/probe\n", 0o644)
	m.as(root, "systemctl", "daemon-reload")
	m.as(root, "systemctl", "restart", "belay.service")
	said := m.probed("belay.service")
	m.must(os.RemoveAll(m.path("/etc/systemd/system/belay.service.d")))
	m.restart()
	m.only(said, "write the state", "compile", "internet", "socket of its own", "landlock", "others' tmp is hidden")
}

// probeTools has systemd start it in the place of an MCP server: root asks for one at the socket, as the daemon does.
func probeTools(m *machine) {
	const dropIns = "/etc/systemd/system/belay-tools@.service.d"
	m.write(dropIns+"/probe.conf", "[Service]\nStandardOutput=journal\nExecStart=\nExecStart=/opt/probe/probe\n", 0o644)
	m.as(root, "systemctl", "daemon-reload")
	c, err := net.Dial("unix", fmt.Sprintf("/proc/%d/root/run/belay/tools.sock", m.init))
	m.must(err)
	defer c.Close()
	said := m.probed("belay-tools@*")
	m.must(os.RemoveAll(m.path(dropIns)))
	m.as(root, "systemctl", "daemon-reload")
	m.only(said, "compile", "internet", "landlock", "others' tmp is hidden")
	m.green(root, nil, "system", "status")
}

// probed waits for what the probe says in a unit.
func (m *machine) probed(unit string) string {
	m.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		said := m.as(root, "journalctl", "--unit", unit, "--output", "cat", "--no-pager")
		if strings.Contains(said, "probe is through") {
			return said
		}
		if time.Now().After(end) {
			m.t.Fatalf("the probe does not end:\n%s", said)
		}
	}
}

// only fails for each try that went through and may not, and the other way round.
func (m *machine) only(said string, allowed ...string) {
	m.t.Helper()
	tries := 0
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "probe ")
		if !ok {
			continue
		}
		name, answer, ok := strings.Cut(rest, ": ")
		if !ok {
			continue
		}
		tries++
		if (answer == "ok") != slices.Contains(allowed, name) {
			m.t.Errorf("%s: %s", name, answer)
		}
	}
	if tries < 35 {
		m.t.Errorf("only %d tries:\n%s", tries, said)
	}
}
