package boottest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const organisation = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve, pattern_match]
`

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

// killed kills the daemon while agents ask. Every verdict that one got has an event, and the log verifies.
func killed(m *machine) {
	const agents, questions = 4, 250
	m.write("/usr/local/bin/many", `#!/bin/sh
# many AGENT N: asks N questions, one after the other, and keeps the answers.
i=0
while [ $i -lt "$2" ]; do
	{
		printf '{"session_id":"k","transcript_path":"/t","cwd":"/","hook_event_name":"PreToolUse",'
		printf '"tool_name":"Bash","tool_input":{"command":"rm -rf / # %s-%s."},' "$1" $i
		printf '"tool_use_id":"%s-%s"}' "$1" $i
	} |
		belay-hook --runtime claude-code >"$HOME/answer-$1-$i" 2>&1
	i=$((i + 1))
done
`, 0o755)
	done := make(chan error, agents)
	for n := range agents {
		cmd := m.command(m.t.Context(), bob, "many", strconv.Itoa(n), strconv.Itoa(questions))
		m.must(cmd.Start())
		go func() { done <- cmd.Wait() }()
	}
	before, kills := m.show("belay.service", "NRestarts"), 0
	for ended := 0; ended < agents; {
		select {
		case err := <-done:
			m.must(err)
			ended++
		case <-time.After(100 * time.Millisecond):
			if pid := m.daemon(); pid != 0 && kills < 4 {
				_, _, _ = m.run(root, "", "kill", "-9", strconv.Itoa(pid)) // it may have ended by itself
				kills++
			}
		}
	}
	if m.show("belay.service", "NRestarts") == before || kills == 0 {
		m.t.Error("the daemon was never started again")
	}
	events := m.as(root, "belay", "--state", stateOf(bob), "events", "query", "--json", "--limit", "10000")
	decided := 0
	for n := range agents {
		for i := range questions {
			answer, err := os.ReadFile(m.path(fmt.Sprintf("/home/bob/answer-%d-%d", n, i)))
			m.must(err)
			switch {
			case strings.Contains(string(answer), "command-guard"):
				decided++
				if !strings.Contains(events, fmt.Sprintf("# %d-%d.", n, i)) {
					m.t.Errorf("question %d of agent %d was answered, and is not in the log", i, n)
				}
			case !strings.Contains(string(answer), "deny"):
				m.t.Errorf("question %d of agent %d was not blocked: %s", i, n, answer)
			}
		}
	}
	if decided < agents*questions/2 {
		m.t.Errorf("only %d of %d questions were decided", decided, agents*questions)
	}
	m.verified(bob)
	m.t.Logf("%d kills; %d of %d questions decided, the others blocked", kills, decided, agents*questions)
}

func stopAndStart(m *machine) {
	begin := time.Now()
	m.as(root, "systemctl", "stop", "belay.socket", "belay-frame.socket", "belay.service")
	if took := time.Since(begin); took > 10*time.Second {
		m.t.Errorf("belay took %s to stop", took)
	}
	if result := m.show("belay.service", "Result"); result != "success" {
		m.t.Errorf("it stopped with %s\n%s", result, m.journal())
	}
	m.blocked(alice)
	if got := m.red(); !strings.Contains(got, "daemon") {
		m.t.Errorf("red: %s", got)
	}
	m.as(root, "systemctl", "start", "belay.socket", "belay-frame.socket")
	m.asks(alice, "rm -rf /")
}

func rebooted(m *machine) {
	m.reboot()
	if pid := m.daemon(); pid != 0 {
		m.t.Errorf("the daemon was started without a question: %d", pid)
	}
	m.asks(alice, "rm -rf /")
	m.green(root, nil, "system", "status")
	m.verified(alice)
}

func dropIns(m *machine) {
	const dropIn = "/etc/systemd/system/belay.service.d/local.conf"
	m.write(dropIn, "[Service]\nTasksMax=5000\n", 0o644)
	m.restart()
	if got := m.show("belay.service", "TasksMax"); got != "5000" {
		m.t.Errorf("TasksMax is %s", got)
	}
	m.asks(alice, "rm -rf /")
	m.green(root, nil, "system", "status")

	m.write(dropIn, "[Service]\nMemoryDenyWriteExecute=yes\n", 0o644)
	m.restart()
	m.asks(alice, "rm -rf /") // slower, and the same
	if got := m.red(); got != "engine" {
		m.t.Errorf("MemoryDenyWriteExecute: red is %q", got)
	}
	out, _, code := m.run(alice, "", "belay", "doctor")
	if code != 1 || !strings.Contains(out, "FAIL  engine") {
		m.t.Errorf("MemoryDenyWriteExecute: doctor of a user: %d\n%s", code, out)
	}
	m.write(dropIn, "[Service]\nNoNewPrivileges=no\nSystemCallFilter=\nCapabilityBoundingSet=~\n", 0o644)
	m.restart()
	if got := m.red(); got != "drop-in unit" {
		m.t.Errorf("a unit without its walls: red is %q", got)
	}
	m.write(dropIn, "[Service]\nProtectHome=no\nPrivateTmp=no\n", 0o644)
	m.restart()
	if got := m.red(); got != "drop-in" {
		m.t.Errorf("a unit without one of its walls: red is %q", got)
	}
	m.must(os.RemoveAll(m.path(filepath.Dir(dropIn))))
	m.restart()
	m.green(root, nil, "system", "status")
}

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
