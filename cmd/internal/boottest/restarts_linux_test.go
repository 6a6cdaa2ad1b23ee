package boottest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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
