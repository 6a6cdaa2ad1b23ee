package systemtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/phases"
)

// withTools binds a hook that has the probe do something before each command.
const withTools = `version: belay/v1
mcp:
  servers:
    probe:
      command: [/usr/local/bin/probe]
      env: [PATH]
      tools: [do]
      timeout_ms: 1500
hooks:
  - name: caller
    module: /etc/belay/caller.wasm
    digest: DIGEST
    capabilities: [request_tool_call, annotate]
    config: {request: {tool: mcp__probe__do}}
`

// callerManifest is that of the module, which the tests of the root package use without one.
const callerManifest = `{"name": "caller", "version": "1.0.0", "abi": 1, "phases": ["pre_tool"], "capabilities": [
	{"name": "request_tool_call", "reason": "to ask the probe"}, {"name": "annotate", "reason": "to note its answer"}],
	"config_schema": {"type": "object"}}`

// bindCaller puts the module where root's belay.yaml names it, and returns that file.
func (m *machine) bindCaller(file string) string {
	m.t.Helper()
	src, err := os.ReadFile("../../../testdata/calls/request_tool_call.wasm")
	m.must(err)
	module, err := hookbuild.Pack(src, []byte(callerManifest))
	m.must(err)
	m.must(os.WriteFile(m.path("etc/belay/caller.wasm"), module, 0o644))
	return strings.Replace(file, "DIGEST", phases.ByteDigest(module), 1)
}

// startTools opens the socket where the daemon has servers started, as systemd does: each connection is a process.
func (m *machine) startTools() {
	m.t.Helper()
	m.must(os.MkdirAll(m.path("run/belay"), 0o755))
	socket, uid := m.path("run/belay/tools.sock"), m.toolsUID()
	_ = os.Remove(socket)
	m.tools = exec.Command(
		"systemd-socket-activate",
		"--accept",
		"-l",
		socket,
		"chroot",
		fmt.Sprintf("--userspec=%d:%d", uid, uid),
		"--groups=",
		m.root,
		"/usr/local/bin/belay",
		"serve",
		"--tools",
	)
	m.tools.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	m.tools.Stdout, m.tools.Stderr = m.log, m.log
	m.tools.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m.must(m.tools.Start())
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err := os.Chown(socket, 0, m.daemonUID()); err == nil {
			break
		} else if time.Now().After(end) {
			m.t.Fatalf("%v\n%s", err, m.log)
		}
	}
	m.must(os.Chmod(socket, 0o660))
}

func (m *machine) stopTools() {
	if m.tools == nil {
		return
	}
	_ = syscall.Kill(-m.tools.Process.Pid, syscall.SIGKILL)
	_ = m.tools.Wait()
	m.tools = nil
}

// toolsUID is whom MCP servers run as.
func (m *machine) toolsUID() int {
	m.t.Helper()
	passwd, err := os.ReadFile(m.path("etc/passwd"))
	m.must(err)
	for line := range strings.Lines(string(passwd)) {
		if f := strings.Split(line, ":"); f[0] == "belay-tools" {
			uid, err := strconv.Atoi(f[2])
			m.must(err)
			return uid
		}
	}
	m.t.Fatal("there is no user belay-tools")
	return -1
}

// processesOf returns the processes of a user.
func processesOf(uid int) (out []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		// The directory belongs to root where the process lets no other one look into it.
		status, _ := os.ReadFile(dir + "/status")
		if strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", uid)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			out = append(out, pid)
		}
	}
	return out
}

// probe has the hook's tool do something while a user asks. It returns what became of the call, and what the hook was
// answered: the tool's answer, or why there is none.
func (m *machine) probe(uid int, todo string) (outcome, answer string) {
	m.t.Helper()
	m.must(os.WriteFile(m.path("srv/probe/todo"), []byte(todo), 0o644))
	command := "ls # " + strconv.FormatInt(time.Now().UnixNano(), 10)
	m.verdict(uid, nil, "s", command)
	out, errs, code := m.as(uid, "", "/usr/local/bin/belay", "events", "query", "--json")
	if code != 0 {
		m.t.Fatalf("events: %s%s", out, errs)
	}
	why := "" // of the last outcome, which stands before the verdict about the command
	for line := range strings.Lines(out) {
		var e struct {
			Type, Tool, Reason string

			Input struct {
				Action struct{ Args struct{ Command string } }
			}
			Output struct {
				Metadata struct {
					Reply struct {
						Value struct {
							Outcome string
							Result  struct{ Content []struct{ Text string } }
						}
					}
				}
			}
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "outcome" {
			why = e.Reason
		}
		if e.Tool != "exec" || !strings.Contains(line, command) {
			continue
		}
		r := e.Output.Metadata.Reply.Value
		if len(r.Result.Content) > 0 {
			return r.Outcome, r.Result.Content[0].Text
		}
		return r.Outcome, why
	}
	m.t.Fatalf("the hook noted nothing: %s\n%s", out, m.log)
	return "", ""
}

// A hook calls a tool of an MCP server as two users ask. The server runs as belay-tools, each user's in a process of
// its own. It reaches no key and no socket of belay's, and nothing of the other user's. What it does to itself stays
// with it. And nothing but the daemon has a server started, and not even the daemon one that root's file does not name.
func TestTools(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.must(os.MkdirAll(m.path("srv/probe"), 0o755))
	m.install(strings.Replace(systemYAML, "[alice, bob]", "[alice, bob, belay-tools]", 1), "version: belay/v1\n")
	m.must(os.WriteFile(m.path("etc/belay/belay.yaml"), []byte(m.bindCaller(withTools)), 0o644))
	m.start()
	m.startTools()
	toolsUID, daemonUID := m.toolsUID(), m.daemonUID()

	who := fmt.Sprintf("uid %d, gid %d, groups []", toolsUID, toolsUID)
	pids := map[int]int{}
	for _, user := range []int{alice, bob} {
		outcome, answer := m.probe(user, "who")
		if outcome != "ok" || !strings.HasPrefix(answer, who) || !strings.HasSuffix(answer, ", fd 0 fd 1 fd 2") ||
			strings.Count(answer, "=") != 2 || !strings.Contains(answer, "TMPDIR=/tmp/belay-tool-") {
			t.Fatalf("user %d: %s: %s\n%s", user, outcome, answer, m.log)
		}
		pid := 0
		_, _ = fmt.Sscanf(answer[strings.Index(answer, "pid "):], "pid %d", &pid)
		pids[user] = pid
	}
	if pids[alice] == pids[bob] || pids[alice] == 0 {
		t.Errorf("processes %v", pids)
	}
	temps, err := filepath.Glob(m.path("tmp/belay-tool-*"))
	if err != nil || len(temps) != 2 {
		t.Fatalf("%v, %v", temps, err)
	}
	const denied, not = "permission denied", "operation not permitted"
	for todo, want := range map[string]string{
		"read /var/lib/belay/users/1501/keys/events.key":     denied,
		"list /var/lib/belay":                                denied,
		"read /home/alice/notes":                             denied,
		"connect /run/belay/tools.sock":                      denied,
		"connect /var/lib/belay/users/1501/belay.sock":       denied,
		"connect /run/belay/belay.sock":                      "may never ask",
		"write /etc/belay/belay.yaml":                        denied,
		"write /srv/probe/todo":                              denied,
		"list /tmp":                                          denied,
		fmt.Sprintf("read /proc/%d/environ", pids[bob]):      denied,
		fmt.Sprintf("signal %d", m.daemon.Process.Pid):       not,
		"list " + strings.TrimPrefix(temps[0], m.root) + "/": "one of the two",
		"list " + strings.TrimPrefix(temps[1], m.root) + "/": "one of the two",
	} {
		outcome, answer := m.probe(alice, todo)
		if outcome != "ok" || !strings.Contains(answer, want) && want != "one of the two" {
			t.Errorf("a server: %s: %s %s, want %s", todo, outcome, answer, want)
		}
		if want == "one of the two" {
			pids[0] += map[string]int{denied: 1, "it works": 10}[answer]
		}
	}
	if pids[0] != 11 {
		t.Errorf("a server does not reach its own directory alone: %d", pids[0])
	}

	// Who else asks for a server.
	socket := "/run/belay/tools.sock"
	for _, user := range []int{alice, bob, mallet, toolsUID} {
		if err := m.try(user, "connect", socket); err != syscall.EACCES {
			t.Errorf("user %d connects: %v", user, err)
		}
	}
	if err := m.try(daemonUID, "chmod", socket); err != syscall.EPERM {
		t.Errorf("the daemon's user opens the socket to others: %v", err)
	}
	start := `{"server":"NAME","digest":"sha256:0","uid":1501}`
	ask := func(user int, body string) string {
		out, errs, _ := m.as(user, "", "/usr/local/bin/try", "frame", "s", body)
		return out + errs
	}
	for what, body := range map[string]string{
		"a server that is not named": strings.Replace(start, "NAME", "other", 1),
		"a program":                  strings.Replace(start, "NAME", "/bin/sh", 1),
		"another command":            strings.Replace(start, "NAME", "probe", 1),
	} {
		if got := ask(daemonUID, body); !strings.Contains(got, "refused") || !strings.Contains(got, "belay.yaml") {
			t.Errorf("the daemon's user asks for %s: %s", what, got)
		}
	}
	if got := ask(daemonUID, `{"server":"probe","digest":"","uid":1,"command":["/bin/sh"]}`); !strings.HasPrefix(
		got,
		`""`,
	) {
		t.Errorf("the daemon's user brings a command: %s", got)
	}
	m.must(os.Chmod(m.path(socket), 0o666)) // a drop-in of an operator who errs
	if got := ask(alice, start); !strings.HasPrefix(got, `""`) {
		t.Errorf("alice asks for a server: %s", got)
	}
	m.must(os.Chmod(m.path(socket), 0o660))
	for end := time.Now().Add(5 * time.Second); len(processesOf(toolsUID)) != 4; { // two servers, and what runs each
		if time.Now().After(end) {
			t.Fatalf("processes of belay-tools: %v", processesOf(toolsUID))
		}
	}

	// A server that ends and one that hangs fail their call; the next one is served.
	if outcome, answer := m.probe(alice, "exit 3"); outcome != "crashed" {
		t.Errorf("a server that ends: %s %s", outcome, answer)
	}
	if outcome, answer := m.probe(alice, "who"); outcome != "ok" {
		t.Errorf("after that: %s %s\n%s", outcome, answer, m.log)
	}
	if outcome, answer := m.probe(alice, "hang"); outcome != "timeout" {
		t.Errorf("a server that hangs: %s %s", outcome, answer)
	}
	if outcome, answer := m.probe(bob, "who"); outcome != "ok" ||
		!strings.Contains(answer, fmt.Sprintf("pid %d,", pids[bob])) {
		t.Errorf("the other user's server meanwhile: %s %s", outcome, answer)
	}
	pins, err := os.ReadFile(m.path("var/lib/belay/users/1501/tools.json"))
	if err != nil || !strings.Contains(string(pins), `"do"`) {
		t.Errorf("what was accepted of the server's tools: %s %v", pins, err)
	}
	if !strings.Contains(m.log.String(), "the probe runs") {
		t.Errorf("the daemon's log has not what servers complain about: %s", m.log)
	}

	// When the daemon goes, so do all servers, with their files.
	m.stop(syscall.SIGKILL)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, _ := filepath.Glob(m.path("tmp/belay-tool-*"))
		if len(left) == 0 && len(processesOf(toolsUID)) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v, %v", left, processesOf(toolsUID))
		}
	}
	// Without what starts them, a call fails, and the daemon starts nothing by itself.
	m.stopTools()
	m.start()
	if outcome, answer := m.probe(alice, "who"); outcome == "ok" ||
		!strings.Contains(answer, "cannot be started on this machine") {
		t.Errorf("without a runner: %s %s", outcome, answer)
	}
	m.stop(syscall.SIGTERM)
}
