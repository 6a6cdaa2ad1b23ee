//go:build agents

package agents_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
)

// geminiVersion is the version that docs/runtimes/gemini-cli.md speaks of.
const geminiVersion = "0.61.0"

// geminiClient is one set-up of Gemini CLI: a home, a trusted project, belay's hooks at one level.
type geminiClient struct {
	t             *testing.T
	host          *host
	level         agents.Level
	home, project string
	managed       string // its directory etc is laid over the system's
	program       string // belay-hook, as it is registered
	untrusted     bool   // the person does not trust the project
	env           []string
	model         *Generate
	out           string // of the last run
	err           error
}

func newGemini(t *testing.T, h *host, level agents.Level) *geminiClient {
	t.Helper()
	root := h.root("gemini")
	c := &geminiClient{t: t, host: h, level: level, home: h.home(root),
		project: filepath.Join(root, "project"), managed: filepath.Join(root, "managed"),
		program: filepath.Join(h.bin, "belay-hook"), model: newGenerate(t)}
	for _, dir := range []string{filepath.Join(c.home, ".gemini"), filepath.Join(c.project, ".gemini"),
		filepath.Join(c.managed, "etc")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *geminiClient) write(path, text string) {
	c.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// ours writes a file of the project.
func (c *geminiClient) ours(name, text string) {
	c.t.Helper()
	c.write(filepath.Join(c.project, name), text)
}

func (c *geminiClient) wrote(name string) bool {
	_, err := os.Stat(filepath.Join(c.project, name))
	return err == nil
}

// settings is the file that holds belay's hooks.
func (c *geminiClient) settings() string {
	switch c.level {
	case agents.Project:
		return filepath.Join(c.project, ".gemini", "settings.json")
	case agents.Managed, agents.System:
		return c.host.etc(c.managed, "gemini-cli/settings.json")
	}
	return filepath.Join(c.home, ".gemini", "settings.json")
}

// line is the command by which the client asks belay before a tool runs.
func (c *geminiClient) line() string {
	if !c.host.system {
		return c.program + " --runtime gemini-cli --for BeforeTool --state " + c.host.state
	}
	var all struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string `json:"command"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	b, err := os.ReadFile(c.settings())
	if err = errors.Join(err, json.Unmarshal(b, &all)); err != nil || len(all.Hooks["BeforeTool"]) != 1 {
		c.t.Fatalf("%v\n%s", err, b)
	}
	return all.Hooks["BeforeTool"][0].Hooks[0].Command
}

// connect registers belay's hooks at the client's level, as a person would.
func (c *geminiClient) connect() {
	c.t.Helper()
	person, _ := json.Marshal(map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"mcpServers": map[string]any{"notes": map[string]any{"command": os.Args[0],
			"env": map[string]any{"BELAY_AGENTS_MCP": "1"}}},
		"general": map[string]any{"enableAutoUpdate": false}})
	c.write(filepath.Join(c.home, ".gemini", "settings.json"), string(person))
	if !c.untrusted {
		trusted, _ := json.Marshal(map[string]string{c.project: "TRUST_FOLDER"})
		c.write(filepath.Join(c.home, ".gemini", "trustedFolders.json"), string(trusted))
	}
	if c.host.system {
		c.host.connect("gemini-cli")
		return
	}
	// Printed, not written: as root belay writes no person's settings, and the managed ones are this test's alone.
	cmd := exec.Command(filepath.Join(c.host.bin, "belay"), "connect", "gemini-cli", "--"+string(c.level), "--print",
		"--json", "--hook", c.program, "--state", c.host.state)
	cmd.Dir, cmd.Env = c.project, append(os.Environ(), "HOME="+c.home, "GEMINI_CLI_HOME=")
	out, err := cmd.Output()
	var plan struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"files"`
	}
	if err := errors.Join(err, json.Unmarshal(out, &plan)); err != nil || len(plan.Files) != 1 {
		c.t.Fatalf("belay connect: %v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Dir(c.settings()), 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.write(c.settings(), plan.Files[0].Content)
}

// run has Gemini CLI work on the prompt without a person, all its own questions answered with yes.
func (c *geminiClient) run(prompt string, flags ...string) { c.runIn(c.project, prompt, flags...) }

func (c *geminiClient) runIn(dir, prompt string, flags ...string) {
	c.t.Helper()
	bin := os.Getenv("BELAY_GEMINI")
	if bin == "" {
		c.t.Fatal("BELAY_GEMINI names no client; scripts/test-agents installs one")
	}
	wall := newWall(c.t)
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "GEMINI_API_KEY=dummy-key-of-a-test",
		"GOOGLE_GEMINI_BASE_URL=" + c.model.URL, "HTTPS_PROXY=" + wall.URL, "HTTP_PROXY=" + wall.URL,
		"NO_PROXY=127.0.0.1,localhost"}, c.env...)
	args := append([]string{"node", bin, "-y", "-m", "gemini-2.5-flash"}, flags...)
	args = append(args, "-p", prompt)
	if !c.host.system {
		args = overEtc(c.managed, args)
	}
	c.out, c.err = c.host.run(dir, env, args...)
	wall.report()
}

// geminiShell is a call of Gemini CLI's shell.
func geminiShell(command string) Call {
	return Call{Tool: "run_shell_command", Input: map[string]any{"command": command, "description": "as scripted"}}
}

func TestGeminiVersion(t *testing.T) {
	out, err := exec.Command("node", os.Getenv("BELAY_GEMINI"), "--version").Output()
	if err != nil || strings.TrimSpace(string(out)) != geminiVersion {
		t.Fatalf("this is %s (%v), and %s is the one that was looked at", out, err, geminiVersion)
	}
}
