package systemtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

const judgesFiles = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    capabilities: [block, request_approval, shell_parse, pattern_match]
  - name: settings-guard
    module: builtin:settings-guard
    priority: 90
    capabilities: [block, request_approval, shell_parse, path_resolve, state_get, state_put]
  - name: path-guard
    module: builtin:path-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve]
`

// put makes a file of alice's.
func (m *machine) put(name, text string) {
	m.t.Helper()
	at := m.path("home/alice", name)
	m.must(os.MkdirAll(filepath.Dir(at), 0o755))
	m.must(os.WriteFile(at, []byte(text), 0o600))
	for ; at != m.path("home"); at = filepath.Dir(at) {
		m.must(os.Lchown(at, alice, alice))
	}
}

// of is an event of Claude Code in alice's project.
func of(event string, members map[string]any) string {
	p := map[string]any{"session_id": "s", "transcript_path": "/home/alice/.claude/projects/p/s.jsonl",
		"cwd": "/home/alice/p", "permission_mode": "default", "hook_event_name": event}
	for k, v := range members {
		p[k] = v
	}
	b, _ := json.Marshal(p)
	return string(b)
}

func command(line string) string {
	return of(
		"PreToolUse",
		map[string]any{"tool_name": "Bash", "tool_use_id": "t", "tool_input": map[string]string{"command": line}},
	)
}

// What alice's commands run, her settings and her skills lie in a home that the daemon cannot look into. They are
// judged by what they hold, because belay-hook reads them as alice. What cannot be read is judged as such, in time.
func TestCallersContents(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.install(systemYAML, judgesFiles)
	m.put("p/.git/HEAD", "ref: refs/heads/main\n")
	m.put("p/fine.sh", "echo fine\n./next.sh\n")
	m.put("p/next.sh", "ls\n")
	m.put("p/off.sh", "echo off\nrm ~/.claude/settings.json\n")
	m.put("p/Makefile", "all:\n\techo made\noff:\n\trm -f ~/.claude/settings.json\n")
	m.put(".claude/settings.json", `{"hooks":{"PreToolUse":[]},"env":{"TOKEN":"not-a-digest"}}`)
	m.put(".claude/skills/fine/SKILL.md", "---\nname: fine\n---\n!`ls`\n")
	m.put(".claude/skills/keys/SKILL.md", "---\nname: keys\n---\n!`cat .env`\n")
	m.put(".ssh/id_ed25519", "the key of alice\n")
	m.put("p/none.sh", "echo none\n")
	m.put("p/huge.sh", "echo huge\n")
	m.must(errors.Join(os.Symlink("/home/alice/.ssh/id_ed25519", m.path("home/alice/p/key.sh")),
		syscall.Mkfifo(m.path("home/alice/p/pipe.sh"), 0o600), os.Symlink("loop.sh", m.path("home/alice/p/loop.sh")),
		os.Truncate(m.path("home/alice/p/huge.sh"), 10<<30), os.Chmod(m.path("home/alice/p/none.sh"), 0)))
	m.start()
	asked := func(payload string) string {
		m.t.Helper()
		from := time.Now()
		out, errs, _ := m.as(alice, payload, "/usr/local/bin/belay-hook", "--runtime", "claude-code")
		if took := time.Since(from); took > 10*time.Second {
			t.Errorf("%s took %v", payload, took)
		}
		return out + errs
	}
	last := func(holds ...string) {
		t.Helper()
		out, errs, _ := m.as(alice, "", "/usr/local/bin/belay", "events", "query", "--json")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		out = lines[len(lines)-1]
		for _, h := range holds {
			if not := strings.HasPrefix(h, "!"); strings.Contains(out, strings.TrimPrefix(h, "!")) == not {
				t.Errorf("the event and %s: %s%s", h, out, errs)
			}
		}
	}
	if out := asked(command("sh fine.sh")); strings.Contains(out, `"permissionDecision"`) {
		t.Errorf("a script that may run: %s\n%s", out, m.log)
	}
	last("echo fine", "sha256:", "!does not tell")
	if out := asked(command("sh off.sh")); !strings.Contains(out, `"permissionDecision"`) {
		t.Errorf("a script that switches belay off: %s", out)
	}
	last("rm ~/.claude/settings.json", "settings-guard")
	if out := asked(command("make")); strings.Contains(out, `"permissionDecision"`) {
		t.Errorf("the rules that make runs: %s", out)
	}
	if out := asked(command("make off")); !strings.Contains(out, `"permissionDecision"`) {
		t.Errorf("a rule that switches belay off: %s", out)
	}
	for _, name := range []string{"huge.sh", "none.sh"} {
		if out := asked(command("sh " + name)); !strings.Contains(out, `"permissionDecision"`) {
			t.Errorf("%s: %s", name, out)
		}
	}
	_ = asked(command("sh pipe.sh; sh loop.sh; sh key.sh"))
	last("!the key of alice")

	_ = asked(of("SessionStart", map[string]any{"source": "startup"}))
	last("settings.json", `"counts":"sha256:`, "!unreadable", "!not-a-digest")

	skill := func(name string) string {
		return asked(of("PreToolUse", map[string]any{"tool_name": "Skill", "tool_use_id": "t-" + name,
			"tool_input": map[string]string{"skill": name}}))
	}
	if out := skill("fine"); strings.Contains(out, `"deny"`) {
		t.Errorf("a skill that may run: %s\n%s", out, m.log)
	}
	if out := skill("keys"); !strings.Contains(out, `"deny"`) {
		t.Errorf("a skill that reads keys: %s", out)
	}
	last("cat .env", "path-guard")
	m.replays(func() { asked(command("sh off.sh; ls")) }, func() { m.must(os.Remove(m.path("home/alice/p/off.sh"))) })

	// The client runs a call with its hooks off. Its transcript has it, and is compared at the end of the session.
	m.put(
		".claude/projects/p/s.jsonl",
		`{"type":"assistant","sessionId":"s","timestamp":"2099-01-01T00:00:00Z","message":`+
			`{"content":[{"type":"tool_use","id":"unasked","name":"Bash","input":{"command":"ls"}}]}}`+"\n"+
			`{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"unasked","content":"x"}]}}`+"\n",
	)
	_ = asked(of("SessionEnd", map[string]any{"reason": "other"}))
	last(`"type":"reconcile"`, `"decision":"differs"`, `"kind":"unasked"`)

	if log := m.log.String(); strings.Contains(log, "cannot be told") {
		t.Errorf("an honest caller is warned about: %s", log)
	}
	out, errs, code := m.as(0, "", "/usr/local/bin/belay", "--state", "/var/lib/belay/users/1501", "events", "verify")
	if code != 0 {
		t.Errorf("alice's log: %s%s", out, errs)
	}
	m.stop(syscall.SIGTERM)
}

// replays records what the daemon decides for alice while ask runs, and replays it after meanwhile: what the caller
// told about its files comes from the recording.
func (m *machine) replays(ask, meanwhile func()) {
	m.t.Helper()
	const state = "/var/lib/belay/users/1501"
	m.must(os.MkdirAll(m.path("srv/rec"), 0o755))
	m.must(os.Chown(m.path("srv/rec"), m.daemonUID(), m.daemonUID()))
	record := m.inRoot(
		0,
		"/usr/local/bin/belay",
		"--state",
		state,
		"record",
		"--out",
		"/srv/rec",
		"--unsafe-plaintext",
		"--for",
		"60s",
		"--count",
		"1",
	)
	var said bytes.Buffer
	record.Stdout, record.Stderr = &said, &said
	m.must(record.Start())
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if out, _, _ := m.as(0, "", "/usr/local/bin/belay", "--state", state, "events", "query", "--type", "notice",
			"--json"); strings.
			Contains(
				out,
				"recording of originals begun",
			) {
			break
		}
		if time.Now().After(end) {
			m.t.Errorf("nothing is recorded: %s", said.String())
			break
		}
	}
	ask()
	if err := record.Wait(); err != nil {
		m.t.Errorf("record: %v: %s", err, said.String())
	}
	meanwhile()
	out, errs, code := m.as(0, "", "/usr/local/bin/belay", "replay", "/srv/rec")
	if code != 0 || !strings.Contains(out, "1 invocation, ") || !strings.Contains(out, " 0 differences") {
		m.t.Errorf("replay: %d %s%s", code, out, errs)
	}
}

// greedy is a daemon that was taken over: while a question is open, it asks for these files for every purpose.
func greedy(l net.Listener, paths []string, got chan<- map[string]string) {
	found := map[string]string{}
	defer func() { got <- found }()
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	frame := func() (daemonapi.FrameKind, []byte) {
		var h [daemonapi.FrameHeader]byte
		if _, err := io.ReadFull(conn, h[:]); err != nil {
			return 0, nil
		}
		body, _ := daemonapi.ReadBody(conn, int(h[4])<<24|int(h[5])<<16|int(h[6])<<8|int(h[7]))
		return daemonapi.FrameKind(h[2]), body
	}
	say := func(kind daemonapi.FrameKind, body []byte) {
		_, _ = conn.Write(append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: kind, Length: len(body)}), body...))
	}
	frame()
	for p := files.Script; p <= files.Transcript; p++ {
		for _, path := range paths {
			r := daemonapi.Read{For: p, Again: true, Length: 1 << 10, Path: path}
			say(daemonapi.FrameRead, daemonapi.AppendRead(nil, r))
			kind, body := frame()
			if c, err := daemonapi.DecodeContent(body, r); err != nil || kind != daemonapi.FrameContent {
				found[path] = "(no answer)"
			} else if c.State == daemonapi.ContentFile {
				found[path] = string(c.Data)
			}
			l := daemonapi.List{For: p, Pattern: filepath.Dir(path) + "/*"}
			say(daemonapi.FrameList, daemonapi.AppendList(nil, l))
			if _, body = frame(); len(body) == 0 || body[0] != 0 {
				found[l.Pattern] = string(body)
			}
		}
	}
	say(daemonapi.FrameAnswer, []byte(`{"stdout":"{}","exit":0}`))
}

// A daemon that asks belay-hook for keys, logs and other projects gets nothing of them: no purpose that it
// names opens them, and no link of a project.
func TestGreedyDaemon(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.install(systemYAML, judgesFiles)
	for name, text := range map[string]string{".ssh/id_ed25519": "secret", ".bash_history": "secret", "q/run.sh": "secret",
		".claude/.credentials.json": "secret", ".claude/projects/p/other.jsonl": "secret", "p/.env": "secret",
		"p/run.sh": "of the call", ".claude/projects/p/s.jsonl": "log"} {
		m.put(name, text)
	}
	m.must(errors.Join(os.Symlink("/home/alice/.ssh/id_ed25519", m.path("home/alice/p/id_ed25519")),
		os.Symlink("/home/alice", m.path("home/alice/p/up"))))
	m.must(os.MkdirAll(m.path("run/belay"), 0o755))
	l, err := net.Listen("unix", m.path("run/belay/frame.sock"))
	m.must(err)
	defer l.Close()
	m.must(os.Chmod(m.path("run/belay/frame.sock"), 0o666))
	asks := []string{"/home/alice/.ssh/id_ed25519", "/home/alice/p/id_ed25519", "/home/alice/p/up/.ssh/id_ed25519",
		"/home/alice/.bash_history", "/home/alice/q/run.sh", "/home/alice/.claude/.credentials.json",
		"/home/alice/.claude/projects/p/other.jsonl", "/home/alice/p/.env", "/proc/self/environ", "/etc/passwd",
		"/home/alice/p/run.sh", "/home/alice/.claude/projects/p/s.jsonl"}
	got := make(chan map[string]string, 1)
	go greedy(l, asks, got)
	out, errs, code := m.as(
		alice,
		command("sh run.sh; sh id_ed25519"),
		"/usr/local/bin/belay-hook",
		"--runtime",
		"claude-code",
	)
	if code != 0 || out != "{}\n" {
		t.Errorf("%d %s %s", code, out, errs)
	}
	found := <-got
	if found["/home/alice/p/run.sh"] != "of the call" || found["/home/alice/.claude/projects/p/s.jsonl"] != "log" {
		t.Errorf("what the call names is not told: %v", found)
	}
	delete(found, "/home/alice/p/run.sh")
	delete(found, "/home/alice/.claude/projects/p/s.jsonl")
	if len(found) > 0 {
		t.Errorf("told: %v", found)
	}
}
