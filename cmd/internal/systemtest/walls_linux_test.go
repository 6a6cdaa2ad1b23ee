package systemtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const systemYAML = `version: belay-system/v1
contact: "the platform team, #belay"
users: {allow: [alice, bob]}
`

const organisation = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve, pattern_match]
`

// call is what Claude Code tells before it runs a command.
func call(session, command string) string {
	b, _ := json.Marshal(map[string]any{"session_id": session, "transcript_path": "/t", "cwd": "/", "hook_event_name": "PreToolUse",
		"tool_name": "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": "t-" + command})
	return string(b)
}

// verdict asks as a user's agent does, and returns what Claude Code is told.
func (m *machine) verdict(uid int, env []string, session, command string, flags ...string) (decision, reason string) {
	m.t.Helper()
	out, errs, _ := m.with(uid, env, call(session, command), "/usr/local/bin/belay-hook",
		append([]string{"--runtime", "claude-code"}, flags...)...)
	var a struct {
		Out struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if out == "{}\n" || out == "" && errs == "" {
		return "no opinion", ""
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		return "none", out + errs
	}
	return a.Out.Decision, a.Out.Reason + errs
}

// Two users of one machine ask the same daemon: each sees and holds only what is their own, and what one does changes
// nothing for the other. Of the daemon's files and of its decisions nothing is in their reach, or in that of a third
// user, who may not ask at all.
func TestWalls(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.install(systemYAML, organisation)
	m.start()
	const destroys = "rm -rf /"
	row := func(who int, what, want string, ok bool, saw string) {
		t.Helper()
		name := map[int]string{0: "root", alice: "alice", bob: "bob", mallet: "mallet"}[who]
		mark := "held"
		if !ok {
			mark = "FAILED"
			t.Errorf("%s: %s: want %s, saw %s", name, what, want, saw)
		}
		fmt.Printf("  %-7s %-7s %-68s %s\n", mark, name, what, want)
	}
	fmt.Printf("  %-7s %-7s %-68s %s\n", "", "WHO", "TRIES", "WHAT HAPPENS")
	if d, r := m.verdict(alice, nil, "s-1", destroys); d != "deny" || !strings.Contains(r, "command-guard") {
		t.Fatalf("alice's first question: %s %s\n%s", d, r, m.log)
	}
	d, r := m.verdict(bob, nil, "s-1", "ls")
	row(bob, "asks under the name of alice's session", "decided, in a session of bob's own", d != "deny", d+r)
	d, r = m.verdict(mallet, nil, "s-1", "ls")
	row(mallet, "asks", "blocked: this user may not ask", d == "deny" && strings.Contains(r, "users.allow"), d+r)

	// State directories, variables and programs of the user's own.
	empty := m.path("home/alice/own")
	m.must(os.MkdirAll(filepath.Join(empty, "keys"), 0o700))
	m.must(os.WriteFile(filepath.Join(empty, "belay.yaml"), []byte("version: belay/v1\nhooks: []\n"), 0o600))
	m.must(filepath.Walk(empty, func(p string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(p, alice, alice)
	}))
	for _, c := range []struct {
		what       string
		env, flags []string
	}{
		{"names a state directory without hooks by --state", nil, []string{"--state", "/home/alice/own"}},
		{"names it by BELAY_HOME", []string{"BELAY_HOME=/home/alice/own"}, nil},
		{"names it by XDG_STATE_HOME and HOME", []string{"XDG_STATE_HOME=/home/alice", "HOME=/home/alice"}, nil},
		{"preloads a library into belay-hook", []string{"LD_PRELOAD=/home/alice/x.so"}, nil},
		{"sets PATH, TMPDIR and variables of Go for belay-hook", []string{"PATH=/home/alice", "TMPDIR=/nowhere", "GODEBUG=x=1"}, nil},
		{"names another configuration of the machine by variables", []string{"BELAY_SYSTEM=/home/alice", "BELAY_CONFIG=/home/alice"}, nil},
	} {
		d, r := m.verdict(alice, c.env, "s-2", destroys, c.flags...)
		row(alice, c.what, "blocked by the machine's hooks", d == "deny" && strings.Contains(r, "command-guard"), d+r)
	}

	// The daemon's files.
	for _, c := range [][2]string{
		{"reads the database", "/var/lib/belay/users/1501/belay.db"},
		{"reads a signing key", "/var/lib/belay/users/1501/keys/events.key"},
		{"reads a token", "/var/lib/belay/users/1501/keys/admin.token"},
		{"looks into the state", "/var/lib/belay"},
		{"looks at bob's state", "/var/lib/belay/users/1502"},
		{"opens the daemon's own sockets", "/var/lib/belay/users/1501/belay.sock"},
	} {
		err := m.tryFile(alice, c[1], false)
		row(alice, c[0], "permission denied", err == syscall.EACCES, fmt.Sprint(err))
	}
	for _, c := range [][2]string{
		{"writes belay.yaml", "/etc/belay/belay.yaml"},
		{"writes system.yaml", "/etc/belay/system.yaml"},
		{"puts a file into /etc/belay", "/etc/belay/trust.yaml"},
		{"puts a socket into /run/belay", "/run/belay/other.sock"},
		{"writes the program", "/usr/local/bin/belay-hook"},
	} {
		err := m.tryFile(alice, c[1], true)
		row(alice, c[0], "permission denied", err == syscall.EACCES, fmt.Sprint(err))
	}
	pid := m.daemon.Process.Pid
	err := m.tryKill(alice, pid)
	row(alice, "ends or stops the daemon", "not permitted", err == syscall.EPERM, fmt.Sprint(err))

	// Verbs of an operator and of a reviewer.
	for _, c := range []struct {
		what string
		args []string
	}{
		{"clears a latch", []string{"latch", "clear", "claude-code", "s-1"}},
		{"has the configuration taken up", []string{"reload"}},
		{"accepts a configuration", []string{"config", "accept"}},
		{"compacts the log", []string{"events", "compact", "--keep", "3"}},
		{"makes a state directory", []string{"init"}},
		{"starts a daemon of their own", []string{"serve"}},
		{"decides in a process of their own", []string{"--state", "/home/alice/own", "eval", "--hook", "/x.wasm"}},
	} {
		out, errs, code := m.as(alice, "", "/usr/local/bin/belay", c.args...)
		row(alice, c.what, "refused", code == 1 && (strings.Contains(errs, "system mode") || strings.Contains(errs, "takes the role")),
			out+errs)
	}
	out, errs, code := m.as(alice, "", "/usr/local/bin/belay", "events", "query", "--json")
	row(alice, "looks at events", "sees their own", code == 0 && strings.Contains(out, destroys), out+errs)
	out, errs, code = m.as(bob, "", "/usr/local/bin/belay", "events", "query", "--json")
	row(bob, "looks at events", "sees their own, and none of alice's", code == 0 && !strings.Contains(out, destroys) &&
		strings.Contains(out, `"ls"`), out+errs)
	out, errs, code = m.as(0, "", "/usr/local/bin/belay", "--state", "/var/lib/belay/users/1501", "events", "verify")
	row(0, "verifies alice's log", "ok", code == 0, out+errs)

	// What their agents are wired to, and what doctor says of it.
	m.must(os.MkdirAll(m.path("etc/claude-code"), 0o755))
	m.must(os.MkdirAll(m.path("home/alice/.claude"), 0o755))
	out, errs, code = m.as(alice, "", "/usr/local/bin/belay", "doctor")
	row(alice, "asks doctor before her runtime is connected", "told to have root connect it", code == 1 &&
		strings.Contains(out, "sudo belay system connect claude-code"), out+errs)
	out, errs, code = m.as(alice, "", "/usr/local/bin/belay", "connect", "claude-code", "--yes")
	row(alice, "connects her runtime by her own settings", "refused: root connects it", code == 1 &&
		strings.Contains(errs, "root connects claude-code by managed settings"), out+errs)
	out, errs, code = m.as(0, "", "/usr/local/bin/belay", "system", "connect")
	row(0, "connects the runtimes of every user", "done", code == 0 && strings.Contains(out, "asks the machine's daemon"), out+errs)
	err = m.tryFile(alice, "/etc/claude-code/managed-settings.json", true)
	row(alice, "writes the managed settings", "permission denied", err == syscall.EACCES, fmt.Sprint(err))
	out, errs, _ = m.as(alice, "", "/usr/local/bin/belay", "doctor")
	row(alice, "asks doctor again", "told who decides, and what asks it", strings.Contains(out, fmt.Sprintf("uid %d", m.daemonUID())) &&
		strings.Contains(out, "asks belay about all") && strings.Contains(out, "(managed settings)") &&
		strings.Contains(out, "is root's, and valid"), out+errs)
	m.tryLayers(row)

	// The daemon goes, and comes back.
	m.stop(syscall.SIGKILL)
	d, r = m.verdict(alice, nil, "s-3", "ls")
	row(alice, "asks while the daemon is away", "blocked, and told whom to call", d == "deny" &&
		strings.Contains(r, "belay system status"), d+r)
	out, errs, code = m.as(alice, "", "/usr/local/bin/belay", "status")
	row(alice, "asks for the status meanwhile", "told whom to call", code != 0 && strings.Contains(out+errs, "the platform team"),
		out+errs)
	out, errs, code = m.as(alice, "", "/usr/local/bin/belay", "system", "status")
	row(alice, "asks for the machine's status meanwhile, as belay-hook says", "told whom to call", code == 1 &&
		strings.Contains(out, "the platform team"), out+errs)
	out, errs, code = m.as(alice, "", "/usr/local/bin/belay", "doctor")
	row(alice, "asks doctor meanwhile", "red, and told whom to call", code == 1 && strings.Contains(out, "FAIL  daemon ") &&
		strings.Contains(out, "the platform team"), out+errs)
	m.start()
	d, r = m.verdict(alice, nil, "s-3", "ls")
	row(alice, "asks again when it is back", "decided", d != "deny", d+r)
	out, errs, code = m.as(0, "", "/usr/local/bin/belay", "--state", "/var/lib/belay/users/1501", "events", "verify")
	row(0, "verifies alice's log after the kill", "ok: nothing was lost", code == 0, out+errs)
	out, _, _ = m.as(alice, "", "/usr/local/bin/belay", "events", "query", "--json")
	row(alice, "looks for the events from before the kill", "all there", strings.Count(out, destroys) >= 7, out)
	end := time.Now().Add(5 * time.Second)
	m.stop(syscall.SIGTERM)
	row(0, "ends the daemon", "it ends in time", time.Now().Before(end), m.log.String())
}
