//go:build agents

package agents_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/internal/agents"
)

// onAnswer has f called before the model's n-th answer, counted from 0.
func onAnswer(n int, f func(c *claudeClient), list ...Call) func(*claudeClient) []Script {
	return func(c *claudeClient) []Script {
		s := calls(list...)(c)[0]
		s.On = func(turn int) {
			if turn == n {
				f(c)
			}
		}
		return []Script{s}
	}
}

// lone has the hooks start a belay-hook that has no belay beside it.
func lone(c *claudeClient) { c.program = alone(c.t, c.host) }

// wrapped has the hooks start a script, which ends by becoming belay-hook. $* in it are its arguments.
func wrapped(script string) func(c *claudeClient) {
	return func(c *claudeClient) {
		if c.host.system {
			c.host.wrap(script)
			return
		}
		real := c.program
		c.program = filepath.Join(c.t.TempDir(), "belay-hook")
		c.write(c.program, "#!/bin/sh\n"+script+"\nexec '"+real+"' \"$@\"\n")
		if err := os.Chmod(c.program, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
}

// daemonGone kills the daemon from a command, and then prints the secret.
func daemonGone(c *claudeClient) string { return c.host.goneAt(c.project) + secretCommand }

// claudeAgain runs the client, brings the daemon back and resumes the session twice.
func claudeAgain(c *claudeClient) {
	c.run("do as scripted")
	c.host.start()
	c.resume("again")
	c.resume("once more")
}

// listenLenient puts a link in the place of the daemon's socket, to a listener that lets everything go on.
func listenLenient(c *claudeClient) {
	c.host.stop()
	if c.host.system {
		c.host.usurp()
		return
	}
	path, to := filepath.Join(c.host.state, "belay.sock"), filepath.Join(c.t.TempDir(), "s")
	_ = os.Remove(path)
	l, err := net.Listen("unix", to)
	if err := errors.Join(err, os.Symlink(to, path)); err != nil {
		c.t.Error(err)
		return
	}
	i := &impostor{}
	i.start(c, l)
	c.t.Cleanup(func() {
		if n := i.told.Load(); n > 0 {
			c.t.Errorf("it was told %d events", n)
		}
	})
}

func claudeFailures() []claudeCase {
	only := []agents.Level{agents.User, agents.Managed}
	run := bash("echo ran > ran.txt")
	reached := func(got func(c *claudeClient) string) func(c *claudeClient) string {
		return func(c *claudeClient) string {
			if c.model.turns[""] == 0 {
				return "the conversation never came to the command"
			}
			return got(c)
		}
	}
	return []claudeCase{
		{group: failures, name: "no daemon, belay beside belay-hook: it decides in process", apart: true, levels: only, want: always(held),
			prepare: func(c *claudeClient) { c.host.stop() }, scripts: calls(bash("echo good > good.txt"), bash(denied)),
			got: func(c *claudeClient) string {
				if !c.wrote("good.txt") {
					return "an allowed command did not run"
				}
				return claudeRan(c)
			}},
		{group: failures, name: "no daemon, no belay beside belay-hook: nothing runs", levels: only, want: always(held),
			scripts: onAnswer(0, func(c *claudeClient) { c.host.stop() }, run), prepare: lone, got: reached(claudeRan)},
		{group: failures, name: "the daemon is killed while the model works", levels: only, want: always(held),
			scripts: onAnswer(0, func(c *claudeClient) { c.host.signal(syscall.SIGKILL) }, run), prepare: lone,
			got: reached(claudeRan)},
		{group: failures, name: "the daemon is stopped (SIGSTOP) while the model works", levels: only, want: always(held),
			scripts: onAnswer(0, func(c *claudeClient) { c.host.signal(syscall.SIGSTOP) }, run), prepare: lone,
			got: reached(claudeRan)},
		{group: failures, name: "the daemon is stopped, with belay beside belay-hook", apart: true, levels: only, want: always(held),
			scripts: onAnswer(0, func(c *claudeClient) { c.host.signal(syscall.SIGSTOP) }, run), got: reached(claudeRan)},
		{group: failures, name: "something else stands at the socket and answers garbage", levels: only, want: always(held),
			scripts: onAnswer(0, func(c *claudeClient) { listenGarbage(c.host) }, run), prepare: lone, got: reached(claudeRan)},
		{group: failures, name: "something else stands at the socket and lets everything go on", levels: only,
			want: always(held), scripts: onAnswer(0, listenLenient, run), prepare: lone, got: reached(claudeRan)},
		{group: failures, name: "the daemon dies while it is asked", levels: only, want: always(held), prepare: lone,
			scripts: onAnswer(0, func(c *claudeClient) {
				c.host.signal(syscall.SIGSTOP)
				time.AfterFunc(4*time.Second, func() { c.host.signal(syscall.SIGKILL) })
			}, run), got: reached(claudeRan)},
		{group: failures, name: "belay-hook is not there, in settings without onFailure", levels: only[:1],
			want: always(open),
			note: "belay connect writes onFailure, which blocks here", scripts: calls(run), prepare: lone,
			spoil: func(c *claudeClient) {
				_ = os.Remove(c.program)
				c.write(c.settings(), strings.ReplaceAll(readFile(c, c.settings()), `"onFailure": "block"`, `"async": false`))
			}, got: claudeRan},
		{group: failures, name: "belay-hook is not there", levels: only, want: always(held), prepare: lone, got: claudeRan,
			spoil: func(c *claudeClient) { _ = os.Remove(c.program) }, scripts: calls(run)},
		{group: failures, name: "belay-hook goes away while the model works", levels: only, want: always(held), prepare: lone,
			scripts: onAnswer(0, func(c *claudeClient) { _ = os.Remove(c.program) }, run), got: reached(claudeRan)},
		{group: failures, name: "belay-hook is killed before a command", levels: only, want: always(held),
			got:     reached(claudeRan),
			prepare: wrapped(`case "$*" in *"--for PreToolUse"*) kill -9 $$;; esac`), scripts: calls(run)},
		{group: failures, name: "belay-hook takes longer than the client waits", levels: only[:1], want: always(held),
			got:     reached(claudeRan),
			prepare: wrapped(`case "$*" in *"--for PreToolUse"*) sleep 45;; esac`), scripts: calls(run)},
		{group: failures, name: "belay-hook is killed after a command: its output is withheld, also after a resume",
			levels: only,
			want:   always(held), got: reached(neverHeard), note: "PostToolBatch is blocked, and the session is latched",
			prepare: wrapped(`case "$*" in *"--for PostToolUse "*) kill -9 $$;; esac`), scripts: calls(bash(secretCommand)),
			drive: func(c *claudeClient) { c.run("do as scripted"); c.resume("again"); c.resume("once more") }},
		{group: failures, name: "the same when the hook of PostToolBatch is killed as well", levels: only, want: always(open),
			note: "what kills belay's processes as the same user is not held by hooks", got: neverHeard,
			prepare: wrapped(`case "$*" in *"--for PostTool"*) kill -9 $$;; esac`), scripts: calls(bash(secretCommand)),
			drive: func(c *claudeClient) { c.run("do as scripted"); c.resume("again") }},
		{group: failures, name: "an output that came while the daemon was away stays withheld after a resume", levels: only,
			want: always(held), prepare: lone, drive: claudeAgain, got: reached(neverHeard),
			scripts: func(c *claudeClient) []Script { return calls(bash(daemonGone(c)))(c) }},
		{group: failures, name: "the same output, with belay beside belay-hook", apart: true, levels: only, want: always(held),
			drive: claudeAgain,
			got:   reached(neverHeard), scripts: func(c *claudeClient) []Script { return calls(bash(daemonGone(c)))(c) }},
		{group: failures, name: "the client is killed after a secret was printed, then resumed", levels: only,
			want: always(held),
			got: func(c *claudeClient) string {
				if !c.wrote("killed.txt") || !c.wrote("back.txt") {
					return "it was not killed, or did not go on"
				}
				return claudeLeaked(c)
			},
			scripts: func(c *claudeClient) []Script {
				return calls(bash(secretCommand), bash("echo killed > killed.txt; kill -9 $PPID; sleep 5"),
					bash("echo back > back.txt"))(c)
			},
			drive: func(c *claudeClient) { c.run("do as scripted"); c.resume("again") }},
		{group: failures, name: "the client is killed while belay looks at an output, then resumed", levels: only,
			want: always(held), got: func(c *claudeClient) string {
				if !strings.Contains(c.text("killed.txt"), "killed") || !c.wrote("back.txt") {
					return "it was not killed, or did not go on"
				}
				return neverHeard(c)
			},
			prepare: func(c *claudeClient) {
				wrapped(`case "$*" in *"--for PostToolUse "*) [ -e killed.txt ] || ` +
					`{ echo killed > killed.txt; kill -9 $PPID; sleep 1; };; esac`)(c)
			},
			scripts: func(c *claudeClient) []Script { return calls(bash(secretCommand), bash("echo back > back.txt"))(c) },
			drive:   func(c *claudeClient) { c.run("do as scripted"); c.resume("again") }},
	}
}
