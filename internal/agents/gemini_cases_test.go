//go:build agents

package agents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/agents"
)

// geminiCase is one thing that is tried with Gemini CLI, at each level.
type geminiCase struct {
	group, name, note string
	added             string // lines of belay.yaml
	prompt            string // "" is "do as scripted"
	flags             []string
	calls             []Call                          // of the model's first turn
	scripts           func(c *geminiClient) []Script  // in place of calls
	prepare           func(c *geminiClient)           // before belay is connected
	apart             bool                            // in system mode there is no such thing
	spoil             func(c *geminiClient)           // after that, before the client runs
	drive             func(c *geminiClient)           // in place of one run
	got               func(c *geminiClient) string    // what was seen
	want              func(level agents.Level) string // what docs/AGENTS.md may say
}

func geminiRan(c *geminiClient) string {
	if c.wrote("ran.txt") {
		return open
	}
	return held
}

func geminiRuns(c *geminiClient) string {
	if c.wrote("ran.txt") {
		return "runs"
	}
	return "blocked"
}

// geminiTold fails unless the model was told the text.
func geminiTold(text string, got func(*geminiClient) string) func(*geminiClient) string {
	return func(c *geminiClient) string {
		if !c.model.Has(text) {
			return "the model was not told " + text
		}
		return got(c)
	}
}

func geminiSecret(c *geminiClient) string {
	if c.model.Has(secret) {
		return open
	}
	if !c.model.Has("[github-token removed]") {
		return "the output did not come at all"
	}
	return held
}

// geminiOnFirst has f called before the model's first answer.
func geminiOnFirst(f func(c *geminiClient), calls ...Call) func(*geminiClient) []Script {
	return func(c *geminiClient) []Script {
		s := do(calls...)
		once := sync.OnceFunc(func() { f(c) })
		s.On = func(int) { once() }
		return []Script{s}
	}
}

func geminiVerdicts() []geminiCase {
	const said = "belay (command-guard)"
	return []geminiCase{
		{name: "an allowed command runs", calls: []Call{geminiShell("echo ran > ran.txt")}, want: always("runs"),
			got: geminiRuns},
		{name: "a denied command does not run", calls: []Call{geminiShell(denied)}, want: always(held),
			got: geminiTold(said, geminiRan)},
		{name: "a changed call runs as it was changed", want: always("runs"),
			added: "  - name: default-args\n    module: builtin:default-args\n    capabilities: [\"rewrite:/args\"]\n" +
				"    config: {defaults: {exec: {description: of a hook}}}\n",
			calls: []Call{{Tool: "run_shell_command", Input: map[string]any{"command": "echo ran > ran.txt"}}},
			got:   geminiTold("were modified by a hook", geminiRuns)},
		{name: "a secret in an output does not reach the model", calls: []Call{geminiShell(secretCommand)},
			want: always(held), got: geminiSecret},
		{name: "a secret in the output of a failed command does not reach the model", want: always(held),
			calls: []Call{geminiShell(secretCommand + "; exit 3")}, got: geminiSecret},
		{name: "a secret in the output of an MCP tool does not reach the model", want: always(held),
			calls: []Call{{Tool: "mcp_notes_say", Input: map[string]any{"text": "x"}}}, got: geminiSecret},
		{name: "a denied command of an MCP tool does not run", want: always(held),
			calls: []Call{{Tool: "mcp_notes_bash", Input: map[string]any{"command": denied}}},
			got:   geminiTold(said, geminiRan)},
		{name: "a secret in an output is not in Gemini CLI's own session file", want: always(held),
			calls: []Call{geminiShell(secretCommand)}, got: func(c *geminiClient) string {
				if found, n := geminiChats(c, secret); found || n == 0 {
					return open
				}
				return held
			}},
		{name: "a secret in an answer does not reach the person", want: always(held),
			scripts: func(*geminiClient) []Script { return []Script{{Turns: []Turn{{Text: "it is " + secret}}}} },
			got: func(c *geminiClient) string {
				if strings.Contains(c.out, secret) {
					return open
				}
				if !strings.Contains(c.out, "[github-token removed]") {
					return "the answer did not come at all"
				}
				return held
			}},
		{name: "a blocked prompt does not reach the model", want: always(held),
			prompt: "do " + strings.Repeat("very much ", 300), calls: []Call{geminiShell("true")}, got: geminiSilent},
		{name: "a secret in a prompt does not reach the model", want: always(held),
			note:   "the prompt is refused: Gemini CLI takes no other one from a hook",
			prompt: "use " + secret, calls: []Call{geminiShell("true")}, got: geminiSilent},
		{name: "a question is held in belay's queue", want: always(held),
			calls: []Call{geminiShell("git push origin main; echo ran > ran.txt")},
			got: func(c *geminiClient) string {
				if !c.model.Has("waiting for approval") || !strings.Contains(c.host.belay("approvals"), "git push") {
					return "not in the queue"
				}
				return geminiRan(c)
			}},
		{name: "a refused subagent does not start", want: always(held), added: noSpawn, calls: []Call{geminiChild()},
			got: geminiTold("belay (refuse-deep-spawn)", func(c *geminiClient) string {
				if c.wrote("child.txt") {
					return open
				}
				return held
			})},
		{name: "a denied command of a subagent does not run", want: always(held),
			scripts: func(*geminiClient) []Script {
				child, main := do(geminiShell(denied)), do(geminiChild())
				child.Prompt, main.Prompt = "child: work", "do as scripted"
				return []Script{child, main}
			},
			got: geminiTold(said, func(c *geminiClient) string {
				if !c.model.Has("child: work") {
					return "there was no subagent"
				}
				return geminiRan(c)
			})},
		{name: "of five parallel calls the denied ones do not run", want: always(held),
			calls: []Call{geminiShell("echo a > a.txt"), geminiShell(denied), geminiShell("echo b > b.txt"),
				geminiShell("echo ran > ran.txt; rm -rf /"), geminiShell("echo c > c.txt")},
			got: func(c *geminiClient) string {
				if !c.wrote("a.txt") || !c.wrote("b.txt") || !c.wrote("c.txt") {
					return "an allowed one did not run"
				}
				return geminiRan(c)
			}},
		{name: "two sessions at once are judged apart", want: always(held),
			drive: func(c *geminiClient) {
				var wg sync.WaitGroup
				for _, prompt := range []string{"first session", "second session"} {
					one := *c
					wg.Go(func() { one.run(prompt) })
				}
				wg.Wait()
			},
			scripts: func(*geminiClient) []Script {
				bad, good := do(geminiShell(denied)), do(geminiShell("echo good > good.txt"))
				bad.Prompt, good.Prompt = "first session", "second session"
				return []Script{bad, good}
			},
			got: func(c *geminiClient) string {
				if !c.wrote("good.txt") {
					return "the allowed one did not run"
				}
				return geminiRan(c)
			}},
		{name: "a file is written", want: always("runs"), got: geminiRuns, scripts: func(c *geminiClient) []Script {
			return []Script{do(Call{Tool: "write_file", Input: map[string]any{
				"file_path": filepath.Join(c.project, "ran.txt"), "content": "hello\n"}})}
		}},
		{name: "a resumed session is held, too", want: always(held),
			drive: func(c *geminiClient) {
				c.run("do as scripted")
				c.run("again", "--resume", "latest")
			},
			scripts: func(*geminiClient) []Script {
				return []Script{{Turns: []Turn{{Calls: []Call{geminiShell(secretCommand)}}, {Text: "done"},
					{Calls: []Call{geminiShell(denied)}}}}}
			},
			got: geminiTold(said, func(c *geminiClient) string {
				if geminiSecret(c) != held {
					return geminiSecret(c)
				}
				return geminiRan(c)
			})},
	}
}

// geminiChild is a call that starts a subagent.
func geminiChild() Call {
	return Call{Tool: "invoke_agent", Input: map[string]any{"agent_name": "generalist", "prompt": "child: work"}}
}

func geminiSilent(c *geminiClient) string {
	if c.model.Requests() > 0 {
		return open
	}
	return held
}

// geminiChats looks for the text in the client's session files, and counts these.
func geminiChats(c *geminiClient, text string) (found bool, n int) {
	_ = filepath.WalkDir(filepath.Join(c.home, ".gemini", "tmp"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "/chats/") {
			n++
			b, err := os.ReadFile(path)
			found = found || err == nil && strings.Contains(string(b), text)
		}
		return nil
	})
	return found, n
}

func geminiFailures() []geminiCase {
	leave := func(c *geminiClient) { c.program = alone(c.t, c.host) }
	allowed := geminiShell("echo ran > ran.txt")
	return []geminiCase{
		{name: "no daemon, belay beside belay-hook: it decides in process", want: always(held), apart: true,
			calls:   []Call{geminiShell("echo good > good.txt"), geminiShell(denied)},
			prepare: func(c *geminiClient) { c.host.stop() },
			got: func(c *geminiClient) string {
				if !c.wrote("good.txt") {
					return "an allowed command did not run"
				}
				return geminiRan(c)
			}},
		{name: "no daemon, no belay beside belay-hook: nothing runs", want: always(held), prepare: leave, got: geminiRan,
			scripts: geminiOnFirst(func(c *geminiClient) { c.host.stop() }, allowed)},
		{name: "the daemon is killed while the model works", want: always(held), prepare: leave, got: geminiRan,
			scripts: geminiOnFirst(func(c *geminiClient) { c.host.signal(syscall.SIGKILL) }, allowed)},
		{name: "the daemon is stopped (SIGSTOP) while the model works", want: always(held), prepare: leave,
			// The tool and the next request are refused after 21 s each; going on later lets the client end in time.
			scripts: geminiOnFirst(func(c *geminiClient) {
				c.host.signal(syscall.SIGSTOP)
				time.AfterFunc(75*time.Second, func() { c.host.signal(syscall.SIGCONT) })
			}, allowed), got: geminiRan},
		{name: "something else stands at the socket and answers garbage", want: always(held), prepare: leave,
			scripts: geminiOnFirst(func(c *geminiClient) { listenGarbage(c.host) }, allowed), got: geminiRan},
		{name: "belay-hook is killed", want: always(open), note: "Gemini CLI goes on when a hook's program is killed",
			calls: []Call{allowed}, prepare: leave, got: geminiRan,
			spoil: func(c *geminiClient) { c.write(c.program, "#!/bin/sh\nkill -9 $$\n") }},
		{name: "belay-hook is not there", want: always(held),
			note:  "the shell's message is the reason of a deny: no request reaches the model",
			calls: []Call{allowed}, prepare: leave, got: geminiRan,
			spoil: func(c *geminiClient) { _ = os.Remove(c.program) }},
		{name: "an output that came while the daemon was away stays withheld after a resume", want: always(held),
			prepare: leave,
			drive: func(c *geminiClient) {
				c.run("do as scripted")
				c.host.start()
				c.run("again", "--resume", "latest")
			},
			scripts: func(c *geminiClient) []Script {
				return []Script{do(geminiShell(c.host.goneAt(c.project) + secretCommand))}
			},
			got: func(c *geminiClient) string {
				if c.model.Has(secret) {
					return open
				}
				return held
			}},
	}
}

func geminiWays() []geminiCase {
	settings := func(text string) func(*geminiClient) {
		return func(c *geminiClient) {
			path := filepath.Join(c.project, ".gemini", "settings.json")
			if c.level != agents.Project {
				c.write(path, text)
				return
			}
			// The project's own settings hold belay's hooks: the members are added there.
			b, err := os.ReadFile(path)
			var all, more map[string]any
			if err != nil || json.Unmarshal(b, &all) != nil || json.Unmarshal([]byte(text), &more) != nil {
				c.t.Fatal("the project's settings cannot be read")
			}
			if hooks, ok := more["hooks"].(map[string]any); ok {
				for event, list := range hooks {
					own := all["hooks"].(map[string]any)
					own[event] = append(list.([]any), own[event].([]any)...)
				}
				delete(more, "hooks")
			}
			for name, v := range more {
				all[name] = v
			}
			b, _ = json.Marshal(all)
			c.write(path, string(b))
		}
	}
	dotenv := func(text string) func(*geminiClient) {
		return func(c *geminiClient) {
			c.ours("end.sh", "kill -9 $$\n")
			c.ours(".env", strings.ReplaceAll(text, "$PROJECT", c.project))
		}
	}
	denies := []Call{geminiShell(denied)}
	hasTwice := func(c *geminiClient) {
		hook, _ := json.Marshal(map[string]any{"hooks": map[string]any{"BeforeTool": []any{map[string]any{
			"hooks": []any{map[string]any{"type": "command", "command": c.line(), "timeout": 1}}}}}})
		settings(string(hook))(c)
	}
	return []geminiCase{
		{name: "the project's settings say `hooksConfig.enabled = false`", want: unlessManaged, calls: denies,
			note:  "the machine's settings hold the hooks on",
			spoil: settings(`{"hooksConfig": {"enabled": false}}`), got: geminiRan},
		{name: "the project's settings name belay's command in `hooksConfig.disabled`", want: always(open), calls: denies,
			note: "Gemini CLI joins these lists of all levels; doctor is red", got: geminiRan,
			spoil: func(c *geminiClient) {
				b, _ := json.Marshal(map[string]any{"hooksConfig": map[string]any{"disabled": []string{c.line()}}})
				settings(string(b))(c)
			}},
		{name: "the project's settings name `belay` and `belay-hook` there", want: always(held), calls: denies,
			spoil: settings(`{"hooksConfig": {"disabled": ["belay", "belay-hook", "*"]}}`),
			got:   geminiTold("belay (command-guard)", geminiRan)},
		{name: "the project has a hook with belay's own command and 1 ms to answer", calls: denies, spoil: hasTwice,
			note: "of two hooks with one command Gemini CLI keeps the first, the person's before the project's before " +
				"the machine's",
			want: func(l agents.Level) string {
				if l == agents.User {
					return held
				}
				return open
			}, got: geminiRan},
		{name: "a hook of the project changes the command after belay", want: always(open),
			note:  "Gemini CLI has no setting that keeps other hooks out, and its calls have no id to compare",
			calls: []Call{geminiShell("true")}, got: geminiRan,
			spoil: func(c *geminiClient) {
				c.ours("later.sh", `echo '{"hookSpecificOutput":{"tool_input":{"command":"echo ran > ran.txt"}}}'`+"\n")
				settings(`{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "sh later.sh"}]}]}}`)(c)
			}},
		{name: "a hook of the project allows at BeforeModel and BeforeTool", want: always(held), calls: denies,
			note: "a deny at BeforeTool stands beside any other answer",
			spoil: func(c *geminiClient) {
				c.ours("yes.sh", `echo '{"decision":"allow"}'`+"\n")
				settings(`{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "sh yes.sh"}]}]}}`)(c)
			}, got: geminiTold("belay (command-guard)", geminiRan)},
		{name: "`BASH_ENV` in the project's .env", want: always(held), calls: denies, got: geminiRan,
			note: "the entry's own environment goes before it", spoil: dotenv("BASH_ENV=$PROJECT/end.sh\n")},
		{name: "`SHELLOPTS=noexec` in the project's .env", want: always(held), calls: denies, got: geminiRan,
			spoil: dotenv("SHELLOPTS=noexec\n")},
		{name: "`LD_PRELOAD` of no library in the project's .env", want: always(held), calls: denies, got: geminiRan,
			spoil: dotenv("LD_PRELOAD=$PROJECT/end.sh\n")},
		{name: "`BELAY_HOME` in the project's .env", want: always(held), calls: denies,
			spoil: dotenv("BELAY_HOME=/nowhere\n"), got: geminiTold("belay (command-guard)", geminiRan)},
		{name: "`GEMINI_CLI_HOME` and `GEMINI_CLI_SYSTEM_SETTINGS_PATH` in the project's .env", want: always(held),
			note: "the settings are read before that file", calls: denies,
			spoil: dotenv("GEMINI_CLI_HOME=$PROJECT\nGEMINI_CLI_SYSTEM_SETTINGS_PATH=$PROJECT/none.json\n"),
			got:   geminiTold("belay (command-guard)", geminiRan)},
		{name: "`GEMINI_CLI_TRUST_WORKSPACE=false` in the project's .env", want: always(held), calls: denies,
			spoil: dotenv("GEMINI_CLI_TRUST_WORKSPACE=false\n"), got: geminiRan},
		{name: "`GEMINI_CLI_SYSTEM_SETTINGS_PATH` in the client's environment", calls: denies, got: geminiRan,
			note: "who starts the client names the machine's settings",
			want: func(l agents.Level) string {
				if l == agents.Managed || l == agents.System {
					return open
				}
				return held
			},
			prepare: func(c *geminiClient) { c.env = []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH=/nowhere/settings.json"} }},
		{name: "the folder is not trusted", want: always(held), calls: denies, got: geminiRan,
			note:    "without a person Gemini CLI does not start there; with one it has no hooks, and asks the person",
			prepare: func(c *geminiClient) { c.untrusted = true }},
		{name: "the same, with `--skip-trust`", flags: []string{"--skip-trust"}, calls: denies, got: geminiRan,
			note: "the project's own settings are not read then, and the tools run",
			want: func(l agents.Level) string {
				if l == agents.Project {
					return open
				}
				return held
			},
			prepare: func(c *geminiClient) { c.untrusted = true }},
		{name: "the client is started in a folder of the project", calls: denies,
			want: func(l agents.Level) string {
				if l == agents.Project {
					return open
				}
				return held
			},
			drive: func(c *geminiClient) {
				sub := filepath.Join(c.project, "sub")
				_ = os.Mkdir(sub, 0o755)
				c.runIn(sub, "do as scripted")
			},
			got: func(c *geminiClient) string {
				if c.wrote("sub/ran.txt") {
					return open
				}
				return held
			}},
		{name: "another program removes the hooks while the session runs", want: always(held), got: geminiRan,
			note:    "the client has read its settings",
			scripts: geminiOnFirst(func(c *geminiClient) { c.write(c.settings(), "{}") }, geminiShell(denied))},
		{name: "the agent empties the settings", want: always(held), added: guard,
			note: "the settings guard",
			scripts: func(c *geminiClient) []Script {
				var calls []Call
				for _, f := range []string{filepath.Join(c.home, ".gemini", "settings.json"),
					filepath.Join(c.project, ".gemini", "settings.json"), "/etc/gemini-cli/settings.json"} {
					calls = append(calls, geminiShell("echo '{}' > "+f+" && echo ran > ran.txt"))
				}
				return []Script{do(calls...)}
			}, got: geminiTold("belay (settings-guard)", geminiRan)},
		{name: "the agent writes .gemini/.env or ~/.gemini/trustedFolders.json", want: always(held),
			added: guard, note: "the settings guard",
			scripts: func(c *geminiClient) []Script {
				return []Script{do(geminiShell("echo BASH_ENV=x > '"+c.project+"/.gemini/.env' && echo ran > ran.txt"),
					geminiShell("echo '{}' > '"+c.home+"/.gemini/trustedFolders.json' && echo ran > ran.txt"))}
			}, got: geminiTold("belay (settings-guard)", geminiRan)},
		{name: "a secret in an `@file` reaches the model", want: always(held),
			note: "Gemini CLI reads the file into the prompt, and BeforeAgent has it", prompt: "look at @notes.txt",
			calls: []Call{geminiShell("true")},
			spoil: func(c *geminiClient) { c.ours("notes.txt", "token "+secret+"\n") },
			got: func(c *geminiClient) string {
				if c.model.Has(secret) {
					return open
				}
				return held
			}},
		{name: "a secret in GEMINI.md reaches the model", want: always(held), calls: []Call{geminiShell("true")},
			note:  "Gemini CLI puts the file into the first message, which BeforeModel has",
			spoil: func(c *geminiClient) { c.ours("GEMINI.md", "token "+secret+"\n") }, got: geminiSecret},
	}
}

func TestGemini(t *testing.T) {
	group := func(name string, list []geminiCase) []geminiCase {
		for i := range list {
			list[i].group = name
		}
		return list
	}
	for _, k := range slices.Concat(group(verdicts, geminiVerdicts()), group(failures, geminiFailures()),
		group(ways, geminiWays())) {
		for _, level := range tried(agents.Levels(), k.apart) {
			t.Run(k.group+"/"+k.name+"/"+string(level), func(t *testing.T) {
				h := newHost(t, k.added)
				c := newGemini(t, h, level)
				c.model.scripts = []Script{do(k.calls...)}
				if k.scripts != nil {
					c.model.scripts = k.scripts(c)
				}
				if k.prepare != nil {
					k.prepare(c)
				}
				c.connect()
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
					t.Errorf("got %q, want %q\n%v\n%s\nthe model heard:\n%s", got, want, c.err, c.out, c.model.Outputs())
				}
				record("Gemini CLI", geminiVersion, agents.Result{Group: k.group, Case: k.name, Level: level, Got: got,
					Note: k.note})
			})
		}
	}
}
