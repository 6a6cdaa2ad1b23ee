//go:build agents

package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
)

// The groups of cases, which are tables of docs/AGENTS.md.
const (
	verdicts = "verdict"
	failures = "failure"
	ways     = "way past"
)

// The words for what was seen.
const (
	held = "held" // what belay decided is in force
	open = "open" // it is not: the action ran, or the model read what it must not
)

// kase is one thing that is tried with Codex, at each level.
type kase struct {
	group, name, note string
	added             string // lines of belay.yaml
	config            string // lines of config.toml
	shell             string // of the account; "": the one that it has
	prompt            string // "" is "do as scripted"
	flags             []string
	untrusted         bool
	levels            []agents.Level                  // nil: all
	apart             bool                            // in system mode there is no such thing, or it was not tried
	scripts           func(c *codexClient) []Script   // of the model
	prepare           func(c *codexClient)            // before belay is connected
	spoil             func(c *codexClient)            // after that, before Codex runs
	drive             func(c *codexClient)            // in place of one run
	got               func(c *codexClient) string     // what was seen
	want              func(level agents.Level) string // what docs/AGENTS.md may say
}

func always(word string) func(agents.Level) string { return func(agents.Level) string { return word } }

// unlessManaged: the project and the person's own files undo it, the administrator's do not.
func unlessManaged(l agents.Level) string {
	if l == agents.Managed || l == agents.System {
		return held
	}
	return open
}

func script(calls ...Call) func(*codexClient) []Script {
	return func(*codexClient) []Script { return []Script{do(calls...)} }
}

func ran(c *codexClient) string {
	if c.wrote("ran.txt") {
		return open
	}
	return held
}

// leaked: the model must not have read the secret, and must have been told that something was there.
func leaked(c *codexClient) string {
	if c.model.Has(secret) {
		return open
	}
	if !c.model.Has("[github-token removed]") {
		return "the output did not come at all"
	}
	return held
}

// mustHear fails unless the model was told the text.
func mustHear(text string, got func(*codexClient) string) func(*codexClient) string {
	return func(c *codexClient) string {
		if !c.model.Has(text) {
			return "the model was not told " + text
		}
		return got(c)
	}
}

const astra = "gpt-6-sol" // a model with which Codex works in code mode

// js is a program of code mode.
func js(text string) Call { return Call{Tool: "exec", Input: text} }

func codexVerdicts() []kase {
	return []kase{
		{group: verdicts, name: "an allowed command runs", scripts: script(shell("echo ran > ran.txt")), want: always("runs"),
			got: func(c *codexClient) string {
				if c.wrote("ran.txt") {
					return "runs"
				}
				return "blocked"
			}},
		{group: verdicts, name: "a denied command does not run", scripts: script(shell(denied)), want: always(held),
			got: mustHear("belay (command-guard)", ran)},
		{group: verdicts, name: "a denied command in code mode does not run", want: always(held),
			flags:   []string{"-m", astra},
			scripts: script(js("const r = await tools.exec_command({cmd: " + quoted(denied) + "}); text(r.output)")),
			got:     mustHear("belay (command-guard)", ran)},
		{group: verdicts, name: "a changed call without a permission does not run", want: always(held),
			note: "Codex takes a change only along with a permission, which a trusted hook has to give",
			added: "  - name: default-args\n    module: builtin:default-args\n    capabilities: [\"rewrite:/args\"]\n" +
				"    config: {defaults: {exec: {timeout: 9}}}\n",
			scripts: script(shell("echo ran > ran.txt")), got: mustHear("only together with a permission", ran)},
		{group: verdicts, name: "a secret in an output does not reach the model", want: always(held),
			scripts: script(shell(secretCommand)), got: leaked},
		{group: verdicts, name: "a secret in an output in code mode does not reach the model", want: always(held),
			flags: []string{"-m", astra},
			note:  "the script gets an error that holds the redacted output",
			scripts: script(js("try { const r = await tools.exec_command({cmd: " + quoted(secretCommand) +
				"}); text(r.output) } catch (e) { text(String(e)) }")),
			got: leaked},
		{group: verdicts, name: "a secret in the output of a failed command does not reach the model", want: always(held),
			scripts: script(shell(secretCommand + "; exit 3")), got: leaked},
		{group: verdicts, name: "a secret in the output of an MCP tool does not reach the model", want: always(held),
			scripts: script(Call{Tool: "say", Space: "mcp__notes", Input: map[string]any{"text": "x"}}),
			config:  "MCP", got: leaked},
		{group: verdicts, name: "a secret is not in Codex's own session file", want: always(open),
			note:    "Codex writes what a command printed into its session file before any hook",
			scripts: script(shell(secretCommand)), got: inSessions},
		{group: verdicts, name: "a blocked prompt does not reach the model", want: always(held),
			prompt: "do " + strings.Repeat("very much ", 300), scripts: script(shell("true")),
			got: func(c *codexClient) string {
				if c.model.Requests() > 0 {
					return open
				}
				return held
			}},
		{group: verdicts, name: "a question is held in belay's queue", want: always(held),
			scripts: script(shell("git push origin main; echo ran > ran.txt")),
			got: func(c *codexClient) string {
				if !c.model.Has("waiting for approval") || !strings.Contains(c.host.belay("approvals"), "git push") {
					return "not in the queue"
				}
				return ran(c)
			}},
		{group: verdicts, name: "a refused subagent does not start", want: always(held), added: noSpawn,
			scripts: script(Call{Tool: "spawn_agent", Space: "multi_agent_v1",
				Input: map[string]any{"agent_type": "default", "message": "child: work"}}),
			got: mustHear("belay (refuse-deep-spawn)", noChild)},
		{group: verdicts, name: "a refused subagent of the newer tool does not start", want: always(held), added: noSpawn,
			flags: []string{"-m", astra},
			scripts: script(Call{Tool: "spawn_agent", Space: "collaboration",
				Input: map[string]any{"task_name": "child", "message": "child: work"}}),
			got: mustHear("belay (refuse-deep-spawn)", noChild)},
		{group: verdicts, name: "a denied command of a subagent does not run", want: always(held), scripts: childScripts,
			got: mustHear("belay (command-guard)", func(c *codexClient) string {
				if !c.model.Has("child: work") {
					return "there was no subagent"
				}
				return ran(c)
			})},
		{group: verdicts, name: "of five parallel calls the denied ones do not run", want: always(held), flags: nil,
			scripts: script(shell("echo a > a.txt"), shell(denied), shell("echo b > b.txt"),
				shell("echo ran > ran.txt; rm -rf /"), shell("echo c > c.txt")),
			got: func(c *codexClient) string {
				if !c.wrote("a.txt") || !c.wrote("b.txt") || !c.wrote("c.txt") {
					return "an allowed one did not run"
				}
				return ran(c)
			}},
		{group: verdicts, name: "two sessions at once are judged apart", want: always(held), drive: twoSessions,
			scripts: func(*codexClient) []Script {
				bad, good := do(shell(denied)), do(shell("echo good > good.txt"))
				bad.Prompt, good.Prompt = "first session", "second session"
				return []Script{bad, good}
			},
			got: func(c *codexClient) string {
				if !c.wrote("good.txt") {
					return "the allowed one did not run"
				}
				return ran(c)
			}},
		{group: verdicts, name: "a patch is judged and applied", want: always("runs"), flags: []string{"-m", "gpt-5.5"},
			scripts: script(Call{Tool: "apply_patch", Input: "*** Begin Patch\n*** Add File: ran.txt\n+hello\n*** End Patch\n"}),
			got: func(c *codexClient) string {
				if c.wrote("ran.txt") {
					return "runs"
				}
				return "blocked"
			}},
		{group: verdicts, name: "a refused compaction ends the turn", want: always(held), added: noCompaction,
			config: "model_auto_compact_token_limit = 50000\n", scripts: compacts(shell("echo ran > ran.txt")), got: ran},
		{group: verdicts, name: "after a compaction a denied command does not run", want: always(held),
			config: "model_auto_compact_token_limit = 50000\n", scripts: compacts(shell(denied)),
			got: mustHear("belay (command-guard)", ran)},
		{group: verdicts, name: "a resumed session is held, too", want: always(held),
			drive: func(c *codexClient) {
				c.run("do as scripted")
				c.run("again", "resume", "--last")
			},
			scripts: func(*codexClient) []Script {
				return []Script{{Turns: []Turn{{Calls: []Call{shell(secretCommand)}}, {Text: "done"},
					{Calls: []Call{shell(denied)}}}}}
			},
			got: mustHear("belay (command-guard)", func(c *codexClient) string {
				if leaked(c) != held {
					return leaked(c)
				}
				return ran(c)
			})},
	}
}

// quoted is the text as one of JavaScript.
func quoted(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }

func noChild(c *codexClient) string {
	if c.wrote("child.txt") || strings.Contains(c.model.Outputs(), "agent_id") {
		return open
	}
	return held
}

// childScripts: the main agent starts a subagent and waits, and the subagent runs a denied command.
func childScripts(*codexClient) []Script {
	child := do(shell(denied))
	child.Prompt = "child: work"
	main := Script{Turns: []Turn{
		{Calls: []Call{{Tool: "spawn_agent", Space: "multi_agent_v1",
			Input: map[string]any{"agent_type": "default", "message": "child: work"}}}},
		{Calls: []Call{shell("sleep 4")}},
	}}
	main.Prompt = "do as scripted"
	return []Script{main, child}
}

// compacts: the model says that it has read much, so that Codex compacts before the next request.
func compacts(after Call) func(*codexClient) []Script {
	return func(*codexClient) []Script {
		return []Script{{Turns: []Turn{{Calls: []Call{shell("true")}, Tokens: 100_000}, {Compact: true},
			{Calls: []Call{after}}}}}
	}
}

func twoSessions(c *codexClient) {
	var wg sync.WaitGroup
	for _, prompt := range []string{"first session", "second session"} {
		one := *c
		wg.Go(func() { one.run(prompt) })
	}
	wg.Wait()
}

func inSessions(c *codexClient) string {
	found := held
	_ = filepath.WalkDir(filepath.Join(c.conf, "sessions"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), secret) {
				found = open
			}
		}
		return nil
	})
	return found
}

// onFirst has f called before the model's first answer.
func onFirst(f func(c *codexClient), calls ...Call) func(*codexClient) []Script {
	return func(c *codexClient) []Script {
		s := do(calls...)
		once := sync.OnceFunc(func() { f(c) })
		s.On = func(int) { once() }
		return []Script{s}
	}
}

func codexFailures() []kase {
	leave := func(c *codexClient) { c.program = alone(c.t, c.host) }
	return []kase{
		{group: failures, name: "no daemon, belay beside belay-hook: it decides in process", want: always(held), apart: true,
			scripts: script(shell("echo good > good.txt"), shell(denied)),
			prepare: func(c *codexClient) { c.host.stop() },
			got: func(c *codexClient) string {
				if !c.wrote("good.txt") {
					return "an allowed command did not run"
				}
				return ran(c)
			}},
		{group: failures, name: "no daemon, no belay beside belay-hook: nothing runs", want: always(held),
			scripts: onFirst(func(c *codexClient) { c.host.stop() }, shell("echo ran > ran.txt")), prepare: leave, got: ran},
		{group: failures, name: "the daemon is killed while the model works", want: always(held),
			scripts: onFirst(func(c *codexClient) { c.host.signal(syscall.SIGKILL) }, shell("echo ran > ran.txt")),
			prepare: leave, got: ran},
		{group: failures, name: "the daemon is stopped (SIGSTOP) while the model works", want: always(held),
			scripts: onFirst(func(c *codexClient) { c.host.signal(syscall.SIGSTOP) }, shell("echo ran > ran.txt")),
			prepare: leave, got: ran},
		{group: failures, name: "something else stands at the socket and answers garbage", want: always(held),
			scripts: onFirst(func(c *codexClient) { listenGarbage(c.host) }, shell("echo ran > ran.txt")), prepare: leave,
			got: ran},
		{group: failures, name: "belay-hook is killed", want: always(open),
			note:    "Codex goes on when a hook's program is killed",
			scripts: script(shell("echo ran > ran.txt")),
			prepare: leave, spoil: func(c *codexClient) { c.write(c.program, "#!/bin/sh\nkill -9 $$\n") }, got: ran},
		{group: failures, name: "belay-hook is not there", want: always(open),
			note:    "Codex goes on when a hook's program is missing",
			scripts: script(shell("echo ran > ran.txt")),
			prepare: leave, spoil: func(c *codexClient) { _ = os.Remove(c.program) }, got: ran},
		{group: failures, name: "an output that came while the daemon was away stays withheld after a resume",
			want: always(held), prepare: leave,
			drive: func(c *codexClient) {
				c.run("do as scripted")
				c.host.start()
				c.run("again", "resume", "--last")
			},
			scripts: func(c *codexClient) []Script {
				return []Script{{Turns: []Turn{{Calls: []Call{shell(c.host.goneAt(c.project) + secretCommand)}}}}}
			},
			got: func(c *codexClient) string {
				if c.model.Has(secret) {
					return open
				}
				return held
			}},
	}
}

func TestCodex(t *testing.T) {
	all := slices.Concat(codexVerdicts(), codexPerson(), codexCalls(), codexFailures(), codexLarge(), codexWays(),
		codexShell(),
		codexGuarded())
	for _, k := range all {
		levels := k.levels
		if levels == nil {
			levels = agents.Levels()
		}
		for _, level := range tried(levels, k.apart) {
			t.Run(k.group+"/"+k.name+"/"+string(level), func(t *testing.T) {
				h := newHost(t, k.added)
				c := newCodex(t, h, level)
				c.shell = k.shell
				if k.scripts != nil {
					c.model.scripts = k.scripts(c)
				}
				if c.config = k.config; k.config == "MCP" {
					c.config = "[mcp_servers.notes]\ncommand = \"" + os.Args[0] + "\"\nenv = { BELAY_AGENTS_MCP = \"1\" }\n"
				}
				if k.prepare != nil {
					k.prepare(c)
				}
				c.connect(!k.untrusted)
				if k.spoil != nil {
					k.spoil(c)
				}
				prompt := k.prompt
				if prompt == "" {
					prompt = "do as scripted"
				}
				if k.drive != nil {
					k.drive(c)
				} else {
					c.run(prompt, k.flags...)
				}
				got, want := k.got(c), k.want(level)
				if got != want {
					t.Errorf("got %q, want %q\n%s\nthe model heard:\n%s", got, want, c.out, c.model.Outputs())
				}
				record("Codex", codexVersion, agents.Result{Group: k.group, Case: k.name, Level: level, Got: got, Note: k.note})
			})
		}
	}
}
