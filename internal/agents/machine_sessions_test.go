//go:build agents

package agents_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/agents"
)

// inSystem is the table of what is tried on a machine in system mode alone.
const inSystem = "on a machine in system mode"

// systemVersion is the version of Claude Code that is tried there.
const systemVersion = "2.1.330"

// systemClaude returns the client and a machine with its managed settings, or skips the test elsewhere.
func systemClaude(t *testing.T, added string) *claudeClient {
	t.Helper()
	if !machined() {
		t.Skip("make test-system-agents runs this on a machine in system mode")
	}
	c := newClaude(t, newSystemHost(t, added), claudeBinaries(t)[systemVersion], agents.System)
	c.connect()
	return c
}

// saw notes a row of the table, and fails with what was seen if it did not hold.
func (c *claudeClient) saw(ok bool, name, note string, seen ...any) {
	c.t.Helper()
	got := held
	if !ok {
		got = open
		c.t.Errorf("%s: %s", name, fmt.Sprint(seen...))
	}
	record("Claude Code", systemVersion,
		agents.Result{Group: inSystem, Case: name, Level: agents.System, Got: got, Note: note})
}

// events returns the events that belay shows to a user, as they are printed.
func (h *host) events(uid int) string {
	h.t.Helper()
	out, err := runAs(h.t, uid, "/", nil, "/usr/local/bin/belay", "events", "query", "--json")
	if err != nil {
		h.t.Fatalf("uid %d looks at events: %v\n%s", uid, err, out)
	}
	return out
}

// torn says what is wrong with the log of a user, or "".
func (h *host) torn(uid int) string {
	out, err := exec.Command(filepath.Join(h.bin, "belay"), "events", "verify", "--state",
		fmt.Sprintf("/var/lib/belay/users/%d", uid)).CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out) + err.Error()
}

// turns is a script of one command for each turn.
func turns(prompt string, commands ...string) Script {
	s := Script{Prompt: prompt}
	for _, command := range commands {
		s.Turns = append(s.Turns, Turn{Calls: []Call{bash(command)}})
	}
	return s
}

// Two people work at the same time: each session is decided by belay, and stands in its own user's log alone.
func TestSystemSessions(t *testing.T) {
	c := systemClaude(t, "")
	c.model.scripts = []Script{
		turns("alice works", "echo good > good.txt", denied, "git push origin main; echo ran > asked.txt", secretCommand),
		turns("bob works", "echo bob > good.txt", "cat /home/alice/project/good.txt", denied),
	}
	project, tmp := "/home/bob/project", c.host.dir()
	err := errors.Join(os.Mkdir(project, 0o755), os.Lchown(project, bob, bob), os.Lchown(tmp, bob, bob))
	if err != nil {
		t.Fatal(err)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/home/bob", "TMPDIR=" + tmp},
		claudeEnv(t, c.model.URL)...)
	var wg sync.WaitGroup
	var other string
	wg.Go(func() { other, _ = runAs(t, bob, project, env, claudeArgs(c.bin, "bob works")...) })
	c.run("alice works")
	wg.Wait()

	info, err := os.Stat(c.settings())
	c.saw(err == nil && info.Mode().Perm() == 0o644 && info.Sys().(*syscall.Stat_t).Uid == 0,
		"the managed settings are root's, and only root writes them", "", info, err)
	c.saw(c.wrote("good.txt") && !c.wrote("ran.txt") && c.model.Has("belay (command-guard)"),
		"in an ordinary session an allowed command runs, and a denied one does not", "", c.out)
	c.saw(!c.wrote("asked.txt") && c.model.Has("waiting for approval") &&
		strings.Contains(c.host.belay("approvals"), "git push"),
		"a question waits in the queue of the user who asks, and its command does not run", "", c.out)
	c.saw(claudeLeaked(c) == held, "a secret in an output does not reach the model", "", c.model.Outputs())
	mine, others := c.host.events(alice), c.host.events(bob)
	c.saw(!strings.Contains(mine, secret), "a secret in an output does not stand in the user's log", "", mine)
	_, good := os.Stat(project + "/good.txt")
	_, ran := os.Stat(project + "/ran.txt")
	c.saw(good == nil && ran != nil, "another user works at the same time, and is decided, too", "", other)
	c.saw(c.model.Has("Permission denied"), "neither reads the other's home", "", other)
	id, otherID := sessionOf(c.out), sessionOf(other)
	c.saw(id != "" && otherID != "" && strings.Contains(mine, id) && strings.Contains(others, otherID) &&
		!strings.Contains(mine, otherID) && !strings.Contains(others, id),
		"each session stands in its own user's log, and not in the other's", "", mine, "\n", others)
	c.saw(c.host.torn(alice)+c.host.torn(bob) == "", "both logs are whole", "", c.host.torn(alice), c.host.torn(bob))
}

// The daemon is away: nothing goes on, and the person reads what to do. When it is back, sessions go on.
func TestSystemAway(t *testing.T) {
	c := systemClaude(t, "")
	c.model.scripts = []Script{turns("", "echo ran > ran.txt")}
	c.host.stop()
	c.run("do as scripted")
	c.saw(c.model.Requests() == 0 && !c.wrote("ran.txt"),
		"the daemon is away when a session begins: no prompt reaches the model",
		fmt.Sprintf("the client itself ends with %d", exitCode(c.err)), c.out)
	c.saw(strings.Contains(c.out, "the belay of this machine does not answer") &&
		strings.Contains(c.out, "`belay system status` says whom to call"),
		"the person reads that belay does not answer, and where it stands whom to call", "", c.out)
	for _, args := range [][]string{{"system", "status"}, {"status"}, {"doctor"}} {
		out, err := runAs(t, alice, "/", nil, append([]string{"/usr/local/bin/belay"}, args...)...)
		c.saw(exitCode(err) == 1 && strings.Contains(out, "the platform team"),
			"`belay "+strings.Join(args, " ")+"` says whom to call, and ends with 1", "", out, err)
	}
	c.host.start()
	c.run("do as scripted")
	c.saw(c.wrote("ran.txt"), "the daemon is back: the next session works", "", c.out)
}

// The daemon is killed in the middle of a session, and comes back.
func TestSystemRestart(t *testing.T) {
	c := systemClaude(t, "")
	script := turns("", "echo first > first.txt", "echo ran > ran.txt", denied, secretCommand)
	script.On = func(turn int) {
		if turn == 1 {
			c.host.stop()
		}
	}
	c.model.scripts = []Script{script}
	c.run("do as scripted")
	c.saw(c.wrote("first.txt") && !c.wrote("ran.txt"),
		"the daemon is killed in the middle of a session: the next command does not run", "", c.out)
	c.host.start()
	c.resume("again")
	c.saw(c.model.turns[""] >= 4 && !c.model.Has(secret) && !c.wrote("ran.txt"),
		"it is back, and the session goes on: a denied command does not run, and a secret does not reach the model", "",
		c.out)
	c.saw(c.host.torn(alice) == "" && strings.Contains(c.host.events(alice), "first.txt"),
		"nothing of the log is lost by it", "", c.host.torn(alice))
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// A server of MCP from npm, which the client starts as the person: belay is told of its tools as it is of others.
func TestSystemMCP(t *testing.T) {
	c := systemClaude(t, "")
	server := filepath.Join(os.Getenv("BELAY_MCP"), "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if _, err := os.Stat(server); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.home, "mcp.json")
	c.write(file, fmt.Sprintf(`{"mcpServers":{"every":{"command":"node","args":[%q,"stdio"]}}}`, server))
	c.flags = []string{"--mcp-config", file, "--allowedTools", "mcp__every__echo,mcp__every__get-sum"}
	sum := Call{Tool: "mcp__every__get-sum", Input: map[string]any{"a": 19, "b": 23}}
	echo := Call{Tool: "mcp__every__echo", Input: map[string]any{"message": "token " + secret}}
	c.model.scripts = []Script{{Turns: []Turn{{Calls: []Call{sum}}, {Calls: []Call{echo}}}}}
	c.run("do as scripted")
	outputs, events := c.model.Outputs(), c.host.events(alice)
	c.saw(strings.Contains(outputs, "42"), "a tool of an MCP server from npm: belay is asked, and it runs", "",
		outputs, c.out)
	c.saw(tells(events, "pre_tool", "mcp:every:get-sum") && tells(events, "post_tool", "mcp:every:get-sum") &&
		tells(events, "pre_tool", "mcp:every:echo"), "events name its server and its tool, before and after the call", "",
		events)
	c.saw(!strings.Contains(outputs, secret) && strings.Contains(outputs, "[github-token removed]"),
		"a secret in what such a tool prints does not reach the model", "", outputs)
}

// tells reports whether an event of the phase names the tool.
func tells(events, phase, tool string) bool {
	for line := range strings.Lines(events) {
		if strings.Contains(line, `"`+tool+`"`) && strings.Contains(line, `"phase":"`+phase+`"`) {
			return true
		}
	}
	return false
}

// With allow_state a user's agent may name a state directory; without it none counts. Codex passes on to its hooks what
// stands in a file of the person's.
func TestSystemAllowState(t *testing.T) {
	if !machined() {
		t.Skip("make test-system-agents runs this on a machine in system mode")
	}
	for _, k := range []struct {
		allowed    bool
		name, want string
	}{
		{false, "`BELAY_HOME` in ~/.codex/.env names a directory without hooks", held},
		{true, "the same, where system.yaml says `allow_state: true`", open},
	} {
		h := newSystemHost(t, "")
		if k.allowed {
			h.stop()
			if err := os.WriteFile("/etc/belay/system.yaml", []byte(systemYAML+"allow_state: true\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			h.start()
		}
		c := newCodex(t, h, agents.System, do(shell(denied)))
		c.write(filepath.Join(c.conf, ".env"), "BELAY_HOME="+h.lenient()+"\n")
		c.connect(true)
		c.run("do as scripted")
		got, note := ran(c), ""
		if k.allowed {
			note = "doctor is red then"
		}
		if got != k.want {
			t.Errorf("%s: %s, want %s\n%s", k.name, got, k.want, c.out)
		}
		record("Codex", codexVersion,
			agents.Result{Group: inSystem, Case: k.name, Level: agents.System, Got: got, Note: note})
	}
}

// Files in a home that only its user may enter are judged as those of any project: belay-hook tells the daemon what
// lies in them.
func TestSystemHome(t *testing.T) {
	c := systemClaude(t, guarded)
	c.write("ok.sh", "echo good > good.txt\n")
	c.write("bad.sh", "echo '{}' > ~/.claude/settings.json; echo ran > ran.txt\n")
	c.model.scripts = []Script{turns("", "sh ok.sh", "sh bad.sh")}
	c.run("do as scripted")
	c.saw(c.wrote("good.txt"), "a script in a home that only its user may enter runs without a question", "",
		c.model.Outputs())
	c.saw(!c.wrote("ran.txt") && c.model.Has("belay (settings-guard)"),
		"a script there that would empty the person's settings does not run", "", c.model.Outputs())
	c.saw(!strings.Contains(c.host.log.String(), "cannot be told"),
		"belay warns of nothing that an honest client tells", "", c.host.log)
}

// No hook refuses what the agent does here: what it would reach is out of its user's reach.
func TestSystemReach(t *testing.T) {
	c := systemClaude(t, "")
	c.host.stop()
	const lax = "version: belay/v1\nhooks:\n  - name: redact-secret\n    module: builtin:redact-secret\n" +
		"    capabilities: [find_secrets, \"rewrite:/result\"]\n"
	if err := os.WriteFile("/etc/belay/belay.yaml", []byte(lax), 0o644); err != nil {
		t.Fatal(err)
	}
	c.host.start()
	before := c.host.digest()
	tries := []string{"echo '{}' > /etc/claude-code/managed-settings.json", "rm -f /etc/claude-code/managed-settings.json",
		"mkdir -p /etc/claude-code/managed-settings.d && echo '{}' > /etc/claude-code/managed-settings.d/x.json",
		"rm -rf /etc/belay /var/lib/belay", "echo > /etc/belay/belay.yaml", "rm -f /usr/local/bin/belay-hook",
		"mv /usr/local/bin /tmp/bin", "rm -f /run/belay/belay.sock /run/belay/frame.sock",
		"cat /var/lib/belay/users/1501/keys/events.key > key.txt", "pkill -9 belay; kill -9 $(pgrep -x belay)",
		"belay reload > reload.txt", "belay latch clear claude-code x > clear.txt"}
	c.model.scripts = []Script{turns("", append(tries, "echo good > good.txt", secretCommand)...)}
	c.run("do as scripted")
	c.saw(c.model.turns[""] > len(tries) && c.wrote("good.txt"),
		"the agent tries to change, remove and stop what is belay's, and no hook refuses its commands", "", c.out)
	c.saw(before == c.host.digest(), "its settings, programs, configuration and sockets are as before", "",
		before, c.host.digest())
	c.saw(c.text("key.txt")+c.text("reload.txt")+c.text("clear.txt") == "", "it reads no key, and decides nothing", "",
		c.model.Outputs())
	c.saw(claudeLeaked(c) == held && c.host.torn(alice) == "", "the daemon decides on, and the log is whole", "",
		c.host.torn(alice))
}

// Root connects every runtime that has managed settings by one command, and a user's doctor finds them.
func TestSystemConnect(t *testing.T) {
	if !machined() {
		t.Skip("make test-system-agents runs this on a machine in system mode")
	}
	h := newSystemHost(t, "")
	if out, err := exec.Command(filepath.Join(h.bin, "belay"), "system", "connect", "--all").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	doctor, _ := runAs(t, alice, "/home/alice", nil, filepath.Join(h.bin, "belay"), "doctor")
	for i, dir := range managedDirs() {
		name := []string{"claude-code", "codex", "gemini-cli", "opencode"}[i]
		found := regexp.MustCompile(`(?m)^ok +` + name + ` +asks belay about all \d+ events \(managed settings\)`).
			MatchString(doctor)
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			info, err := f.Info()
			if err != nil || info.Mode().Perm()&0o022 != 0 || info.Sys().(*syscall.Stat_t).Uid != 0 {
				t.Errorf("%s/%s is not root's alone: %v", dir, f.Name(), info)
			}
		}
		if !found || len(files) == 0 {
			t.Errorf("%s, %d files:\n%s", name, len(files), doctor)
		}
	}
}

// digest is of all by which belay stands on the machine, beside what it writes itself.
func (h *host) digest() string {
	h.t.Helper()
	out, err := exec.Command("sh", "-c", "cd / && find etc/belay etc/claude-code usr/local/bin run/belay "+
		"-printf '%p %y %m %U %i\n' -type f -exec sha256sum {} + | sort").CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// What a client does without its plugins is not asked about in any mode. The person's own belay finds such a session.
func TestSystemUnheard(t *testing.T) {
	if !machined() {
		t.Skip("make test-system-agents runs this on a machine in system mode")
	}
	c := newOpenCode(t, newSystemHost(t, ""), agents.System, turnsOf(openCodeBash("echo ran > ran.txt")))
	c.connect()
	c.run("do as scripted", "--pure")
	time.Sleep(11 * time.Second) // sooner its first event may be on its way
	out, err := runAs(t, alice, c.project, nil, "/usr/local/bin/belay", "status")
	got := "red"
	if !c.wrote("ran.txt") || !strings.Contains(out, "NOT HEARD OF") {
		got = "nothing is red"
		t.Errorf("%v\n%s\n%s", err, out, c.out)
	}
	record("OpenCode", "1.18.33", agents.Result{Group: logs, Case: "a session without plugins is red in `belay status`",
		Level: agents.System, Got: got})
}

// Codex lets a call run whose belay-hook was killed. The session's own log, which belay-hook reads for the daemon when
// the session ends, tells of it.
func TestSystemUnasked(t *testing.T) {
	if !machined() {
		t.Skip("make test-system-agents runs this on a machine in system mode")
	}
	for _, k := range []struct{ name, script, want string }{
		{"an undisturbed session finds nothing", "", "nothing found"},
		{"a call whose belay-hook was killed is found", `case "$*" in *"--for PreToolUse "*) kill -9 $$;; esac`, "found"},
	} {
		c := newCodex(t, newSystemHost(t, ""), agents.System, do(shell("echo ran > ran.txt")))
		c.connect(true)
		if k.script != "" {
			c.host.wrap(k.script)
		}
		c.run("do as scripted")
		status, _ := runAs(t, alice, c.project, nil, "/usr/local/bin/belay", "status")
		got := "nothing found"
		if strings.Contains(c.host.events(alice), "unasked") {
			got = "found"
		}
		if got != k.want || !c.wrote("ran.txt") {
			t.Errorf("%s: %s\n%s\n%s\n%s", k.name, got, c.out, status, c.host.events(alice))
		}
		record("Codex", codexVersion, agents.Result{Group: logs, Case: k.name, Level: agents.System, Got: got})
	}
}

// turnsOf is a script of one turn for each call.
func turnsOf(calls ...Call) (s Script) {
	for _, c := range calls {
		s.Turns = append(s.Turns, Turn{Calls: []Call{c}})
	}
	return s
}
