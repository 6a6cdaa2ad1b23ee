//go:build agents

package agents_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
	"github.com/belay-hooks/belay/phases"
)

// claudeVersions are those that docs/runtimes/claude-code.md speaks of. The first runs all cases at all levels, the
// others run the verdicts, failures and ways past at the person's.
func claudeVersions() []string { return []string{"2.1.329", "2.1.330"} }

// claudeClient is one set-up of Claude Code: a home, a project, belay's hooks at one level.
type claudeClient struct {
	t             *testing.T
	host          *host
	bin           string // the client
	level         agents.Level
	home, project string
	managed       string   // its directory etc is laid over the system's
	program       string   // belay-hook, as it is registered
	flags         []string // of every run
	env           []string // beside those that every run has
	skillShell    bool     // managed settings let embedded commands run
	model         *Messages
	out           string // of the last run
	err           error
}

// claudeBinaries returns the clients by version. BELAY_CLAUDE names them, as PATH names directories.
func claudeBinaries(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, bin := range filepath.SplitList(os.Getenv("BELAY_CLAUDE")) {
		cmd := exec.Command(bin, "--version")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DISABLE_AUTOUPDATER=1"}
		text, err := cmd.Output()
		version, _, _ := strings.Cut(string(text), " ")
		if err != nil || !slices.Contains(claudeVersions(), version) {
			t.Fatalf("%s is %q (%v), and %s are those that were looked at", bin, text, err, claudeVersions())
		}
		out[version] = bin
	}
	if len(out) == 0 {
		t.Fatal("BELAY_CLAUDE names no client; scripts/test-agents installs them")
	}
	return out
}

func newClaude(t *testing.T, h *host, bin string, level agents.Level) *claudeClient {
	t.Helper()
	root := h.root("claude")
	c := &claudeClient{t: t, host: h, bin: bin, level: level, home: h.home(root),
		project: filepath.Join(root, "project"), managed: filepath.Join(root, "managed"),
		program: filepath.Join(h.bin, "belay-hook"), model: newMessages(t)}
	for _, dir := range []string{c.home, c.project, c.managed, filepath.Join(c.home, ".claude"),
		filepath.Join(c.project, ".claude"), filepath.Join(c.managed, "etc")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *claudeClient) write(path, text string) {
	c.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.project, path)
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	if err != nil {
		c.t.Fatal(err)
	}
}

// text is the file's content, or "".
func (c *claudeClient) text(name string) string {
	b, _ := os.ReadFile(filepath.Join(c.project, name))
	return string(b)
}

// wrote reports whether the tools left the file in the project.
func (c *claudeClient) wrote(name string) bool {
	_, err := os.Stat(filepath.Join(c.project, name))
	return err == nil
}

// connect registers belay's hooks at the client's level, as a person would.
func (c *claudeClient) connect() {
	c.t.Helper()
	if c.host.system {
		var flags []string
		if c.skillShell {
			flags = append(flags, "--allow-skill-shell")
		}
		c.host.connect("claude-code", flags...)
		return
	}
	// Printed, not written: as root belay writes no person's settings, and the managed ones are this test's alone.
	args := []string{"connect", "claude-code", "--" + string(c.level), "--print", "--json", "--hook", c.program,
		"--state", c.host.state}
	if c.skillShell && c.level == agents.Managed {
		args = append(args, "--allow-skill-shell")
	}
	cmd := exec.Command(filepath.Join(c.host.bin, "belay"), args...)
	cmd.Dir, cmd.Env = c.project, append(os.Environ(), "HOME="+c.home)
	out, err := cmd.Output()
	var plan struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"files"`
	}
	if err := errors.Join(err, json.Unmarshal(out, &plan)); err != nil || len(plan.Files) == 0 {
		c.t.Fatalf("belay connect: %v\n%s", err, out)
	}
	for _, f := range plan.Files {
		if strings.HasPrefix(f.Path, "/etc/") {
			f.Path = filepath.Join(c.managed, f.Path)
		}
		c.write(f.Path, f.Content)
	}
}

// settings is the file that connect wrote.
func (c *claudeClient) settings() string {
	switch c.level {
	case agents.User:
		return filepath.Join(c.home, ".claude", "settings.json")
	case agents.Project:
		return filepath.Join(c.project, ".claude", "settings.json")
	case agents.Local:
		return filepath.Join(c.project, ".claude", "settings.local.json")
	}
	return c.host.etc(c.managed, "claude-code/managed-settings.json")
}

// allowed are the tools that the client runs without a question of its own.
const allowed = "Bash,Edit,Write,Read,Glob,Grep,NotebookEdit,Monitor,PowerShell,REPL,Agent,Skill,WebFetch," +
	"EnterWorktree," +
	"mcp__notes__say,mcp__notes__bash"

// run has the client work on the prompt without a person.
func (c *claudeClient) run(prompt string, flags ...string) {
	c.t.Helper()
	args := append(append(claudeArgs(c.bin, prompt), c.flags...), flags...)
	if c.level == agents.Managed {
		args = overEtc(c.managed, args)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "TMPDIR=" + c.host.dir(),
		"BELAY_HOME=" + c.host.dir()}, claudeEnv(c.t, c.model.URL)...)
	c.out, c.err = c.host.run(c.project, append(env, c.env...), args...)
}

// claudeArgs are the arguments with which the client works on the prompt without a person.
func claudeArgs(bin, prompt string) []string {
	return []string{bin, "-p", prompt, "--model", "claude-scripted", "--allowedTools", allowed,
		"--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose"}
}

// claudeEnv are the variables that lead the client to the scripted model, and keep it there: a request to any
// other host fails the test.
func claudeEnv(t *testing.T, url string) []string {
	wall := newWall(t)
	t.Cleanup(func() {
		wall.mu.Lock()
		defer wall.mu.Unlock()
		for _, host := range wall.tried {
			t.Errorf("the client tried to reach %s", host)
		}
	})
	return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy-key-of-a-test",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1", "HTTPS_PROXY=" + wall.URL, "HTTP_PROXY=" + wall.URL,
		"NO_PROXY=127.0.0.1,localhost"}
}

// sessionOf is the id of the session that the client's output names last, or "".
func sessionOf(out string) (id string) {
	for line := range strings.Lines(out) {
		var v struct {
			Session string `json:"session_id"`
		}
		if json.Unmarshal([]byte(line), &v) == nil && v.Session != "" {
			id = v.Session
		}
	}
	return id
}

// resume goes on with the session that ran last.
func (c *claudeClient) resume(prompt string, flags ...string) {
	c.t.Helper()
	id := sessionOf(c.out)
	if id == "" {
		c.t.Fatalf("the client names no session:\n%s", c.out)
	}
	c.run(prompt, append([]string{"--resume", id}, flags...)...)
}

// bash is a call of the client's shell.
func bash(command string) Call {
	return Call{Tool: "Bash", Input: map[string]any{"command": command, "description": "as scripted"}}
}

// Each tool that the client tells about has a row in belay's table, and stands in the list that `make test` compares
// the table with.
func TestClaudeToolsAreKnown(t *testing.T) {
	list, err := os.ReadFile("../../phases/testdata/tools/claude-code.txt")
	if err != nil {
		t.Fatal(err)
	}
	for version, bin := range claudeBinaries(t) {
		c := newClaude(t, newHost(t, ""), bin, agents.User)
		c.connect()
		c.run("do as scripted")
		var init struct {
			Subtype string
			Tools   []string
		}
		for line := range strings.Lines(c.out) {
			if json.Unmarshal([]byte(line), &init) == nil && init.Subtype == "init" {
				break
			}
		}
		if len(init.Tools) < 10 {
			t.Fatalf("%s names %q:\n%s", version, init.Tools, c.out)
		}
		for _, tool := range init.Tools {
			if _, known := phases.NormalizeTool("claude-code", tool); !known {
				t.Errorf("%s: belay does not know the client's tool %s", version, tool)
			}
			if !strings.Contains(string(list)+"\n", "\n"+tool+"\n") && !strings.Contains(string(list), "\n"+tool+" ") {
				t.Errorf("%s: phases/testdata/tools/claude-code.txt has no %s", version, tool)
			}
		}
	}
}
