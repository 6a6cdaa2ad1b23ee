//go:build agents

package agents_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/agents"
)

// logs is the group of what the runtimes' own logs tell.
const logs = "the session's own log"

// worked is a session of a client, ready to run.
type worked struct {
	host *host
	home string
	run  func(n int) (out string) // the session of that number
	off  func() (out string)      // the same session or another one, with hooks off
}

// client is one runtime with its scripted session.
type reconciled struct {
	name, version, runtime string
	start                  func(t *testing.T, sessions []Script) *worked
	// exec is a call of its shell; many are calls of all kinds, in the project.
	exec func(command string) Call
	many func(project string) []Call
}

func each(calls []Call) (turns []Turn) {
	for _, c := range calls {
		turns = append(turns, Turn{Calls: []Call{c}})
	}
	return turns
}

func reconciledClients(t *testing.T) []reconciled {
	t.Helper()
	return []reconciled{
		{name: "Claude Code", version: "2.1.330", runtime: "claude-code", exec: bash,
			start: func(t *testing.T, sessions []Script) *worked {
				c := newClaude(t, newHost(t, ""), claudeBinaries(t)["2.1.330"], agents.User)
				c.connect()
				c.write("a.txt", "one\ntwo\n")
				c.model.scripts = append([]Script{children("child: work", bash("echo child"), len(sessions)),
					{Prompt: "off", Turns: each([]Call{bash("echo off")})}}, sessions...)
				return &worked{host: c.host, home: c.home, run: func(n int) string { c.run(sessions[n].Prompt); return c.out },
					off: func() string {
						connected, err := os.ReadFile(c.settings())
						if err != nil {
							t.Fatal(err)
						}
						c.write(c.settings(), "{}")
						c.run("off")
						c.write(c.settings(), string(connected))
						return c.out
					}}
			},
			many: func(project string) []Call {
				return []Call{{Tool: "Read", Input: map[string]any{"file_path": "a.txt"}},
					{Tool: "Edit", Input: map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "1"}},
					{Tool: "Write", Input: map[string]any{"file_path": "b.txt", "content": "b"}},
					{Tool: "Read", Input: map[string]any{"nothing": "x"}}, {Tool: "NoSuchTool", Input: map[string]any{}},
					{Tool: "Glob", Input: map[string]any{"pattern": "*.txt"}},
					{Tool: "Agent", Input: map[string]any{"description": "a child", "prompt": "child: work",
						"subagent_type": "general-purpose"}}}
			}},
		{name: "Codex", version: codexVersion, runtime: "codex", exec: shell,
			start: func(t *testing.T, sessions []Script) *worked {
				c := newCodex(t, newHost(t, ""), agents.User, append([]Script{
					children("child: work", shell("echo child"), len(sessions)),
					{Prompt: "off", Turns: each([]Call{shell("echo off")})}}, sessions...)...)
				c.connect(true)
				return &worked{host: c.host, home: c.home, run: func(n int) string { c.run(sessions[n].Prompt); return c.out },
					off: func() string { c.run("off", "-c", "features.hooks=false"); return c.out }}
			},
			many: func(string) []Call {
				late := map[string]any{"cmd": "sleep 1; echo end", "yield_time_ms": 300}
				return []Call{{Tool: "exec_command", Input: late},
					{Tool: "write_stdin", Input: map[string]any{"session_id": Session, "chars": "", "yield_time_ms": 5000}},
					{Tool: "exec_command", Input: map[string]any{"nothing": 1}}, {Tool: "no_such", Input: map[string]any{}},
					{Tool: "get_goal", Input: map[string]any{}},
					{Tool: "spawn_agent", Space: "multi_agent_v1",
						Input: map[string]any{"agent_type": "default", "message": "child: work"}},
					{Tool: "wait_agent", Space: "multi_agent_v1",
						Input: map[string]any{"targets": []string{Agent}, "timeout_ms": 10000}}}
			}},
		{name: "Gemini CLI", version: geminiVersion, runtime: "gemini-cli", exec: geminiShell,
			start: func(t *testing.T, sessions []Script) *worked {
				c := newGemini(t, newHost(t, ""), agents.User)
				c.connect()
				c.ours("a.txt", "one\n")
				c.model.scripts = append([]Script{children("child: work", geminiShell("echo child"), len(sessions)),
					{Prompt: "off", Turns: each([]Call{geminiShell("echo off")})}}, sessions...)
				return &worked{host: c.host, home: c.home, run: func(n int) string { c.run(sessions[n].Prompt); return c.out },
					off: func() string {
						c.write(filepath.Join(c.project, ".gemini", "settings.json"), `{"hooksConfig":{"enabled":false}}`)
						c.run("off")
						return c.out
					}}
			},
			many: func(string) []Call {
				return []Call{{Tool: "read_file", Input: map[string]any{"file_path": "a.txt"}},
					{Tool: "replace", Input: map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "1",
						"instruction": "x"}},
					{Tool: "write_file", Input: map[string]any{"file_path": "b.txt", "content": "b"}},
					{Tool: "read_file", Input: map[string]any{"nothing": 1}}, {Tool: "no_such", Input: map[string]any{}},
					{Tool: "invoke_agent", Input: map[string]any{"agent_name": "generalist", "prompt": "child: work"}}}
			}},
		{name: "OpenCode", version: "1.18.33", runtime: "opencode", exec: openCodeBash,
			start: func(t *testing.T, sessions []Script) *worked {
				c := newOpenCode(t, newHost(t, ""), agents.User, append([]Script{
					children("as a child", openCodeBash("echo child"), len(sessions)),
					{Prompt: "off", Turns: each([]Call{openCodeBash("echo off")})}}, sessions...)...)
				c.connect()
				return &worked{host: c.host, home: c.home, run: func(n int) string { c.run(sessions[n].Prompt); return c.out },
					off: func() string { c.run("off", "--pure"); return c.out }}
			},
			many: func(string) []Call {
				return []Call{{Tool: "write", Input: map[string]any{"filePath": "b.txt", "content": "b"}},
					{Tool: "read", Input: map[string]any{"filePath": "b.txt"}},
					{Tool: "read", Input: map[string]any{"nothing": "x"}}, {Tool: "no_such", Input: map[string]any{}},
					{Tool: "task", Input: map[string]any{"description": "d", "prompt": "as a child", "subagent_type": "general"}}}
			}},
		{name: "OpenClaw", version: "2026.9.6", runtime: "openclaw", exec: openClawExec,
			start: func(t *testing.T, sessions []Script) *worked {
				c := newOpenClaw(t, newHost(t, ""), append([]Script{
					{Prompt: "off", Turns: each([]Call{openClawExec("echo off")})}}, sessions...)...)
				c.connect()
				local := c.command
				run := func(key, prompt string) string { // each in a session of its own
					c.command = append(slices.Clone(local[:len(local)-1]), "--session-key", "agent:main:"+key, "--message")
					c.run(prompt)
					return c.out
				}
				return &worked{host: c.host, home: c.home,
					run: func(n int) string { return run("s-"+strconv.Itoa(n), sessions[n].Prompt) },
					off: func() string {
						connected, err := os.ReadFile(c.configFile())
						if err != nil {
							t.Fatal(err)
						}
						c.changePlugins(func(p map[string]any) { p["enabled"] = false })
						out := run("off", "off")
						c.write(c.configFile(), string(connected))
						return out
					}}
			},
			many: func(string) []Call {
				return []Call{{Tool: "write", Input: map[string]any{"path": "b.txt", "content": "b"}},
					{Tool: "read", Input: map[string]any{"path": "b.txt"}},
					{Tool: "edit", Input: map[string]any{"path": "b.txt", "oldText": "b", "newText": "c"}},
					{Tool: "read", Input: map[string]any{"nothing": "x"}}, {Tool: "no_such", Input: map[string]any{}}}
			}},
	}
}

// children answers the subagents of that many sessions: each makes the call, and is done.
func children(prompt string, call Call, n int) Script {
	s := Script{Prompt: prompt}
	for range n {
		s.Turns = append(s.Turns, Turn{Calls: []Call{call}}, Turn{Text: "done"})
	}
	return s
}

// sessions are scripts with the client's calls, in another order in each; every third makes some at once.
func (r *reconciled) sessions(n int) (out []Script) {
	calls := r.calls()
	for i := range n {
		order := append(slices.Clone(calls[i%len(calls):]), calls[:i%len(calls)]...)
		s := Script{Prompt: fmt.Sprintf("do as scripted (%d)", i), Turns: each(order)}
		if i%3 == 2 {
			s.Turns = append(s.Turns, Turn{Calls: []Call{r.exec("echo 1"), r.exec("echo 1"), r.exec("echo 2")}})
		}
		out = append(out, s)
	}
	return out
}

// calls are commands that are allowed, refused, held and redacted, and calls of the client's other tools.
func (r *reconciled) calls() []Call {
	list := []Call{r.exec("echo hi"), r.exec("echo hi"), r.exec(secretCommand), r.exec(denied), r.exec("echo " + secret),
		r.exec("false"), r.exec("git push --force origin main")}
	return append(list, r.many("")...)
}

// comparison is what `belay events reconcile --json` prints.
type comparison struct {
	Sessions []struct {
		Session  string
		Log      string
		Status   string
		Calls    int
		Found    int
		Unknown  int
		Why      []string
		Findings []struct{ Kind, Call, Tool string }
	}
	Unread []struct{ Log, Error string }
}

// reconcile compares all logs of the client with belay's. The client's home is the person's.
func (w *worked) reconcile(t *testing.T, runtime string) (c comparison, text string) {
	t.Helper()
	w.host.stop() // its environment has another home
	cmd := exec.Command(filepath.Join(w.host.bin, "belay"), "events", "reconcile", "--runtime", runtime, "--json",
		"--state", w.host.state)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home}
	out, _ := cmd.Output()
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("belay events reconcile: %v\n%s", err, out)
	}
	return c, string(out)
}

// unheard is "red" where `belay status` tells of a session that belay never heard of, and "nothing" where of none.
func (w *worked) unheard(t *testing.T, runtime string) string {
	t.Helper()
	time.Sleep(11 * time.Second) // belay waits for the first event of a session that long
	cmd := exec.Command(filepath.Join(w.host.bin, "belay"), "status", "--json", "--state", w.host.state)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home}
	out, _ := cmd.Output()
	var status struct {
		Unheard []struct{ Runtime, Session string } `json:"unheard_sessions"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("belay status: %v\n%s", err, out)
	}
	switch n := len(status.Unheard); {
	case n == 0:
		return "nothing"
	case n == 1 && status.Unheard[0].Runtime == runtime:
		return "red"
	}
	return fmt.Sprint(status.Unheard)
}

// agrees is "found nothing" where each session of the log agrees, and calls were compared.
func (c *comparison) agrees(least int) string {
	calls := 0
	for _, s := range c.Sessions {
		calls += s.Calls
		if s.Status != "agrees" {
			return fmt.Sprintf("%s: %d found, %d unknown %v", s.Status, s.Found, s.Unknown, s.Why)
		}
	}
	if calls < least || len(c.Unread) > 0 {
		return fmt.Sprintf("%d calls were compared, and %d logs not read", calls, len(c.Unread))
	}
	return "nothing found"
}

// offFound is "found" where the one call that was made while hooks were off is the one finding.
func (c *comparison) offFound() string {
	found := 0
	for _, s := range c.Sessions {
		for _, f := range s.Findings {
			if f.Kind != "unasked" {
				return f.Kind
			}
			found++
		}
	}
	if found != 1 {
		return strconv.Itoa(found) + " findings"
	}
	return "found"
}

// TestReconcile runs each client undisturbed, and with hooks off.
func TestReconcile(t *testing.T) {
	for _, r := range reconciledClients(t) {
		t.Run(r.runtime, func(t *testing.T) {
			w := r.start(t, r.sessions(1))
			out := w.run(0)
			c, text := w.reconcile(t, r.runtime)
			saw := c.agrees(len(r.calls()) - 2)
			if saw != "nothing found" {
				t.Errorf("undisturbed: %s\n%s\n%s", saw, text, out)
			}
			record(r.name, r.version, agents.Result{Group: logs, Case: "undisturbed runs find nothing", Level: agents.User,
				Got: saw})
			if got := w.unheard(t, r.runtime); got != "nothing" {
				t.Errorf("undisturbed: never heard of: %s", got)
			}
			w.host.start()
			out = w.off()
			c, text = w.reconcile(t, r.runtime)
			saw = c.offFound()
			if saw != "found" {
				t.Errorf("with hooks off: %s\n%s\n%s", saw, text, out)
			}
			record(r.name, r.version, agents.Result{Group: logs, Case: "a call made while hooks were off is found",
				Level: agents.User, Got: saw})
			saw = w.unheard(t, r.runtime)
			if saw != "red" {
				t.Errorf("a session without hooks: %s\n%s", saw, out)
			}
			record(r.name, r.version, agents.Result{Group: logs, Case: "a session without hooks is red in `belay status`",
				Level: agents.User, Got: saw})
		})
	}
}

// TestReconcileMany makes BELAY_SESSIONS undisturbed sessions, 8 by default, of all clients in turn, and counts
// false alarms.
func TestReconcileMany(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BELAY_SESSIONS"), "8"))
	if err != nil {
		t.Fatal(err)
	}
	clients := reconciledClients(t)
	sessions, calls, alarms, unknown := 0, 0, 0, 0
	for i := range clients {
		r := &clients[i]
		t.Run(r.runtime, func(t *testing.T) {
			each := (n + len(clients) - 1) / len(clients)
			w := r.start(t, r.sessions(each))
			for i := range each {
				w.run(i)
			}
			c, text := w.reconcile(t, r.runtime)
			for _, s := range c.Sessions {
				sessions++
				calls += s.Calls
				alarms += s.Found
				unknown += s.Unknown
				if s.Calls < len(r.calls())-2 {
					t.Errorf("a session with %d calls", s.Calls)
				}
				if s.Found+s.Unknown > 0 {
					t.Errorf("%d findings, %d unknown: %v %v\n%s", s.Found, s.Unknown, s.Findings, s.Why,
						w.host.belay("events", "query", "--session", s.Session, "--limit", "200", "--json"))
					for _, f := range s.Findings {
						lines, _ := exec.Command("grep", "-rh", f.Call, filepath.Dir(s.Log)).Output()
						t.Logf("the log says\n%s", lines)
					}
				}
			}
			if len(c.Unread) > 0 {
				t.Errorf("%s", text)
			}
		})
	}
	if sessions < n {
		t.Errorf("%d sessions, and %d were wanted", sessions, n)
	}
	t.Logf("%d undisturbed sessions with %d calls: %d findings, %d unknown", sessions, calls, alarms, unknown)
}
