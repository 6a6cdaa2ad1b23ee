//go:build agents

package agents_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
	"github.com/belay-hooks/belay/phases"
)

// openClawClient is one set-up of OpenClaw: a home, a workspace, belay's plugin.
type openClawClient struct {
	t             *testing.T
	host          *host
	home, project string
	program       string // belay-hook, as the plugin starts it
	config        map[string]any
	model         *Messages
	command       []string // of the client, before its flags; the default is one turn without a gateway
	out           string   // of the last run
}

func newOpenClaw(t *testing.T, h *host, scripts ...Script) *openClawClient {
	t.Helper()
	root := t.TempDir()
	c := &openClawClient{t: t, host: h, home: filepath.Join(root, "home"), project: filepath.Join(root, "project"),
		program: filepath.Join(h.bin, "belay-hook"), model: newMessages(t),
		command: []string{"agent", "--local", "--agent", "main", "--message"}}
	c.model.scripts = scripts
	model := map[string]any{"id": "m", "name": "m", "contextWindow": 100000, "maxTokens": 4000}
	c.config = map[string]any{
		"agents": map[string]any{"defaults": map[string]any{"workspace": c.project, "skipBootstrap": true,
			"model": map[string]any{"primary": "local/m"}}},
		"models": map[string]any{"providers": map[string]any{"local": map[string]any{"baseUrl": c.model.URL,
			"apiKey": "dummy-key-of-a-test", "api": "anthropic-messages", "models": []any{model}}}},
		"tools": map[string]any{"toolSearch": false},
	}
	if err := os.MkdirAll(c.project, 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *openClawClient) dir() string        { return filepath.Join(c.home, ".openclaw") }
func (c *openClawClient) configFile() string { return filepath.Join(c.dir(), "openclaw.json") }

func (c *openClawClient) write(path, text string) {
	c.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *openClawClient) wrote(name string) bool {
	_, err := os.Stat(filepath.Join(c.project, name))
	return err == nil
}

// connect writes belay's plugin, as a person would.
func (c *openClawClient) connect() {
	c.t.Helper()
	config, err := json.Marshal(c.config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(c.configFile(), string(config))
	// Printed, not written: as root belay writes no person's settings.
	cmd := exec.Command(filepath.Join(c.host.bin, "belay"), "connect", "openclaw", "--print", "--json",
		"--hook", c.program, "--state", c.host.state)
	cmd.Dir, cmd.Env = c.project, append(os.Environ(), "HOME="+c.home)
	out, err := cmd.Output()
	var plan struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"files"`
	}
	if err := errors.Join(err, json.Unmarshal(out, &plan)); err != nil || len(plan.Files) != 4 {
		c.t.Fatalf("belay connect: %v\n%s", err, out)
	}
	for _, f := range plan.Files {
		c.write(f.Path, f.Content)
	}
}

// changePlugins changes what the configuration says of plugins.
func (c *openClawClient) changePlugins(change func(plugins map[string]any)) {
	c.t.Helper()
	var config map[string]any
	b, err := os.ReadFile(c.configFile())
	if err := errors.Join(err, json.Unmarshal(b, &config)); err != nil {
		c.t.Fatal(err)
	}
	change(config["plugins"].(map[string]any))
	if b, err = json.Marshal(config); err != nil {
		c.t.Fatal(err)
	}
	c.write(c.configFile(), string(b))
}

// run has OpenClaw work on the prompt without a person.
func (c *openClawClient) run(prompt string) {
	c.t.Helper()
	bin, node := os.Getenv("BELAY_OPENCLAW"), os.Getenv("BELAY_OPENCLAW_NODE")
	if bin == "" || node == "" {
		c.t.Fatal("BELAY_OPENCLAW and BELAY_OPENCLAW_NODE name no client; scripts/test-agents installs one")
	}
	wall := newWall(c.t)
	env := []string{"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "HOME=" + c.home,
		"BELAY_HOME=" + c.t.TempDir(),
		"OPENCLAW_NO_RESPAWN=1", "HTTPS_PROXY=" + wall.URL, "HTTP_PROXY=" + wall.URL, "NO_PROXY=127.0.0.1,localhost"}
	c.out, _ = run(c.t, c.project, env, append(append([]string{node, bin}, c.command...), prompt)...)
	wall.report()
}

// rival installs another plugin, whose handler of before_tool_call is the function.
func (c *openClawClient) rival(handler string) {
	dir := filepath.Join(c.dir(), "rival")
	c.write(filepath.Join(dir, "package.json"),
		`{"name":"rival","version":"1.0.0","type":"module","openclaw":{"extensions":["./index.js"]}}`)
	c.write(filepath.Join(dir, "openclaw.plugin.json"),
		`{"id":"rival","name":"rival","activation":{"onStartup":true},"configSchema":{"type":"object"}}`)
	c.write(filepath.Join(dir, "index.js"), `export default { id: "rival", name: "rival", register(api) {
  api.on("before_tool_call", `+handler+`, { priority: -1000000 }) } }
`)
	c.config["plugins"] = map[string]any{"load": map[string]any{"paths": []string{dir}},
		"entries": map[string]any{"rival": map[string]any{"enabled": true}}}
}

// openClawCase is one thing that is tried with OpenClaw.
type openClawCase struct {
	group, name, note string
	added             string // lines of belay.yaml
	prompt            string // "" is "do as scripted"
	calls             []Call
	on                func(c *openClawClient, turn int) // before a turn of the model is answered
	prepare           func(c *openClawClient)           // before belay is connected
	spoil             func(c *openClawClient)           // after that
	got               func(c *openClawClient) string
	want              string
}

func openClawExec(command string) Call {
	return Call{Tool: "exec", Input: map[string]any{"command": command}}
}

func openClawRan(c *openClawClient) string {
	if c.wrote("ran.txt") {
		return open
	}
	return held
}

// openClawTold is openClawRan where the model was told the text besides.
func openClawTold(text string) func(*openClawClient) string {
	return func(c *openClawClient) string {
		if !c.model.Has(text) {
			return "the model was not told " + text
		}
		return openClawRan(c)
	}
}

func openClawRuns(c *openClawClient) string {
	if c.wrote("ran.txt") {
		return "runs"
	}
	return "blocked"
}

func openClawCases() []openClawCase {
	alone := func(c *openClawClient) { // belay-hook without belay beside it
		c.program = filepath.Join(c.t.TempDir(), "belay-hook")
		b, err := os.ReadFile(filepath.Join(c.host.bin, "belay-hook"))
		if err := errors.Join(err, os.WriteFile(c.program, b, 0o755)); err != nil {
			c.t.Fatal(err)
		}
	}
	noDaemon := func(c *openClawClient) { c.host.stop() }
	plugins := func(change func(plugins map[string]any)) func(c *openClawClient) {
		return func(c *openClawClient) { c.changePlugins(change) }
	}
	allowed, refused := []Call{openClawExec("echo ran > ran.txt")}, []Call{openClawExec(denied)}
	return []openClawCase{
		{group: verdicts, name: "an allowed command runs", calls: allowed, got: openClawRuns, want: "runs"},
		{group: verdicts, name: "a denied command does not run", calls: refused,
			got: openClawTold("belay (command-guard)"), want: held},
		{group: verdicts, name: "a denied command does not run by way of `tool_call`",
			prepare: func(c *openClawClient) { delete(c.config, "tools") },
			calls: []Call{{Tool: "tool_call", Input: map[string]any{"id": "exec",
				"args": map[string]any{"command": denied}}}},
			got: openClawTold("belay (command-guard)"), want: held},
		{group: verdicts, name: "a secret in an output does not reach the model", calls: []Call{openClawExec(secretCommand)},
			got: func(c *openClawClient) string {
				switch {
				case c.model.Has(secret):
					return open
				case !c.model.Has("[github-token removed]"):
					return "the output did not come at all"
				}
				return held
			}, want: held},
		{group: verdicts, name: "a secret in an output does not stand in OpenClaw's transcript",
			calls: []Call{openClawExec(secretCommand)}, got: func(c *openClawClient) string {
				if !c.model.Has("[github-token removed]") {
					return "the output did not come at all"
				}
				out, _ := exec.Command("grep", "-rla", secret, c.dir()).Output()
				if len(out) > 0 {
					return open
				}
				return held
			}, want: held},
		{group: verdicts, name: "a blocked prompt does not reach the model",
			prompt: "do as scripted" + strings.Repeat(" again", 500), got: func(c *openClawClient) string {
				switch {
				case c.model.Has("again again"):
					return open
				case !strings.Contains(c.out, "belay"):
					return "the person was not told"
				}
				return held
			}, want: held},
		{group: verdicts, name: "a question is held in belay's queue",
			calls: []Call{openClawExec("echo ran > ran.txt; git push --force origin main")},
			got:   openClawTold("waiting for approval"), want: held},
		{group: verdicts, name: "a refused subagent does not start", added: noSpawn,
			calls: []Call{{Tool: "sessions_spawn", Input: map[string]any{"task": "as a child"}}},
			got:   openClawTold("belay (refuse-deep-spawn)"), want: held},
		{group: verdicts, name: "of three parallel calls the denied ones do not run",
			calls: []Call{openClawExec(denied), openClawExec("echo ok > ok.txt"), openClawExec(denied)},
			got: func(c *openClawClient) string {
				if !c.wrote("ok.txt") {
					return "the allowed one did not run"
				}
				return openClawRan(c)
			}, want: held},
		{group: failures, name: "no daemon, belay beside belay-hook: it decides in process", spoil: noDaemon, calls: refused,
			got: openClawTold("belay (command-guard)"), want: held},
		{group: failures, name: "no daemon, no belay beside belay-hook: nothing runs", prepare: alone, spoil: noDaemon,
			calls: allowed, got: openClawRan, want: held},
		{group: failures, name: "no daemon, and belay-hook is not there", prepare: alone, calls: allowed,
			spoil: func(c *openClawClient) { noDaemon(c); _ = os.Remove(c.program) }, got: openClawRan, want: held},
		{group: failures, name: "the daemon is killed while the model works", calls: refused,
			on: func(c *openClawClient, turn int) {
				if turn == 0 {
					c.host.signal(syscall.SIGKILL)
				}
			}, got: openClawRan, want: held},
		{group: failures, name: "something else stands at the socket and answers garbage", prepare: alone, calls: allowed,
			on: func(c *openClawClient, turn int) {
				if turn == 0 {
					listenGarbage(c.host)
				}
			}, got: openClawRan, want: held},
		{group: failures, name: "belay-hook is killed, and there is no daemon", prepare: alone, calls: allowed,
			spoil: func(c *openClawClient) {
				noDaemon(c)
				if err := os.WriteFile(c.program, []byte("#!/bin/sh\nkill -9 $$\n"), 0o755); err != nil {
					c.t.Fatal(err)
				}
			}, got: openClawRan, want: held},
		{group: failures, name: "belay-hook never answers", calls: allowed, got: openClawRan, want: held,
			prepare: func(c *openClawClient) {
				c.program = filepath.Join(c.t.TempDir(), "belay-hook")
				c.write(c.program, "#!/bin/sh\nexec sleep 300\n")
				if err := os.Chmod(c.program, 0o755); err != nil {
					c.t.Fatal(err)
				}
			}, spoil: noDaemon, note: "the plugin's own deadline"},
		{group: failures, name: "the plugin's file is spoiled", calls: allowed, got: openClawRan, want: held,
			note: "OpenClaw does not start with a plugin that does not load", spoil: func(c *openClawClient) {
				c.write(filepath.Join(c.dir(), "belay", "belay.js"), "not a program (")
			}},
		{group: ways, name: "the client is started as `openclaw agent exec`", calls: refused, got: openClawRan, want: open,
			prepare: func(c *openClawClient) { c.command = []string{"agent", "exec"} },
			note:    "OpenClaw calls no hook of a plugin then"},
		{group: ways, name: "the configuration says plugins.enabled = false", calls: refused, got: openClawRan, want: open,
			spoil: plugins(func(p map[string]any) { p["enabled"] = false }), note: "doctor is red"},
		{group: ways, name: "the agent empties openclaw.json (exec)", added: guarded, got: openClawRan, want: held,
			calls: []Call{openClawExec("echo '{}' > ~/.openclaw/openclaw.json && echo ran > ran.txt")},
			note:  "the settings guard"},
		{group: ways, name: "the agent has its tool `plugins` disable belay", added: guarded, want: held,
			note:  "the settings guard",
			calls: []Call{{Tool: "plugins", Input: map[string]any{"action": "disable", "pluginId": "belay"}}},
			got: func(c *openClawClient) string {
				b, err := os.ReadFile(c.configFile())
				switch {
				case err != nil || strings.Contains(strings.ReplaceAll(string(b), " ", ""), `"enabled":false`):
					return open
				case !c.model.Has("waiting for approval"):
					return "the model was not told"
				}
				return held
			}},
		{group: ways, name: "the agent starts `openclaw agent exec`", added: guarded, got: openClawRan, want: held,
			calls: []Call{openClawExec("openclaw agent exec hello; echo ran > ran.txt")}, note: "the settings guard"},
		{group: ways, name: "the configuration takes back the leave to read conversations", calls: refused, got: openClawRan,
			want: held, note: "calls are still decided; prompts are not, and doctor is red",
			spoil: plugins(func(p map[string]any) {
				p["entries"].(map[string]any)["belay"].(map[string]any)["hooks"] = map[string]any{}
			})},
		{group: ways, name: "another plugin changes the command, later than most", calls: []Call{openClawExec("echo mine")},
			got: openClawRan, want: held, note: "belay's plugin comes last, with the arguments that it decided",
			prepare: func(c *openClawClient) { c.rival(`() => ({ params: { command: "echo ran > ran.txt" } })`) }},
		{group: ways, name: "another plugin asks its person about a denied command", calls: refused, got: openClawRan, want: held,
			note: "belay's block stands beside the question",
			prepare: func(c *openClawClient) {
				c.rival(`() => ({ requireApproval: { title: "Run it?", description: "theirs" } })`)
			}},
		{group: ways, name: "another plugin asks, and changes the command", calls: []Call{openClawExec("echo mine")},
			got: openClawRan, want: held, note: "a run without a person answers no question",
			prepare: func(c *openClawClient) {
				c.rival(`() => ({ params: { command: "echo ran > ran.txt" }, requireApproval: { title: "Run it?", ` +
					`description: "theirs" } })`)
			}},
	}
}

func TestOpenClaw(t *testing.T) {
	for _, k := range openClawCases() {
		t.Run(k.group+"/"+k.name, func(t *testing.T) { tryOpenClaw(t, k) })
	}
}

func tryOpenClaw(t *testing.T, k openClawCase) {
	h := newHost(t, k.added)
	var c *openClawClient
	script := Script{Prompt: "do as scripted", Turns: []Turn{{Calls: k.calls}}, On: func(turn int) {
		if k.on != nil {
			k.on(c, turn)
		}
	}}
	if len(k.calls) == 0 {
		script.Turns = nil
	}
	c = newOpenClaw(t, h, script)
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
	c.run(prompt)
	if c.model.Requests() == 0 && !strings.Contains(c.out, "belay") { // which refused the prompt, or did not load
		t.Fatalf("the client did not start:\n%s", c.out)
	}
	got := k.got(c)
	record("OpenClaw", "2026.9.6", agents.Result{Group: k.group, Case: k.name, Level: agents.User, Got: got, Note: k.note})
	if got != k.want {
		t.Errorf("%s, want %s\n%s", got, k.want, c.out)
	}
}

// Each tool that the client offers its model has a row in belay's table, and stands in the list that `make test`
// compares the table with.
func TestOpenClawToolsAreKnown(t *testing.T) {
	list, err := os.ReadFile("../../phases/testdata/tools/openclaw.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, search := range []bool{false, true} {
		c := newOpenClaw(t, newHost(t, ""))
		if search {
			delete(c.config, "tools")
		}
		c.connect()
		c.run("do as scripted")
		var request struct{ Tools []struct{ Name string } }
		if all := c.model.All(); len(all) == 0 || json.Unmarshal([]byte(all[0]), &request) != nil || len(request.Tools) < 10 {
			t.Fatalf("no tools:\n%s", c.out)
		}
		for _, tool := range request.Tools {
			if _, known := phases.NormalizeTool("openclaw", tool.Name); !known {
				t.Errorf("belay does not know the client's tool %s", tool.Name)
			}
			if !strings.Contains(string(list), "\n"+tool.Name+"\n") {
				t.Errorf("phases/testdata/tools/openclaw.txt has no %s", tool.Name)
			}
		}
	}
}
