//go:build agents

package agents_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/belay-hooks/belay/internal/agents"
)

// codexClient is one set-up of Codex: a home, a project, belay's hooks at one level.
type codexClient struct {
	t                   *testing.T
	host                *host
	level               agents.Level
	home, conf, project string   // HOME, CODEX_HOME, the working directory
	managed             string   // its directory etc is laid over the system's
	program             string   // belay-hook, as it is registered
	config              string   // lines of config.toml
	shell               string   // of the account; "": the one that it has
	env                 []string // of the client, besides
	model               *Responses
	out                 string // of the last run
}

func newCodex(t *testing.T, h *host, level agents.Level, scripts ...Script) *codexClient {
	t.Helper()
	root := h.root("codex")
	home := h.home(root)
	c := &codexClient{t: t, host: h, level: level, home: home, conf: filepath.Join(home, ".codex"),
		project: filepath.Join(root, "project"), managed: filepath.Join(root, "managed"),
		program: filepath.Join(h.bin, "belay-hook"), model: newResponses(t, scripts...)}
	for _, dir := range []string{c.home, c.conf, c.project, c.managed,
		filepath.Join(c.project, ".codex")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *codexClient) write(path, text string) {
	c.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// wrote reports whether the tools left the file in the project.
func (c *codexClient) wrote(name string) bool {
	return c.exists(filepath.Join(c.project, name))
}

func (c *codexClient) exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// trusts is the trust that Codex stores for the commands of a hooks.json at path.
func trusts(path string, events []string, command func(event string) string) string {
	var b strings.Builder
	for _, e := range events {
		label := snake(e)
		timeout := 30
		if e == "SessionEnd" || e == "Interrupt" {
			timeout = 3
		}
		identity, _ := json.Marshal(map[string]any{"event_name": label, "hooks": []any{
			map[string]any{"async": false, "command": command(e), "timeout": timeout, "type": "command"}}})
		sum := sha256.Sum256(identity)
		fmt.Fprintf(&b, "[hooks.state.%q]\ntrusted_hash = %q\n", path+":"+label+":0:0", "sha256:"+hex.EncodeToString(sum[:]))
	}
	return b.String()
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// connect registers belay's hooks at the client's level, as a person would. The trust that Codex asks for is
// stored with them unless trusted is false.
func (c *codexClient) connect(trusted bool) {
	c.t.Helper()
	config := fmt.Sprintf("openai_base_url = %q\nmodel = \"gpt-5-codex\"\n%s[projects.%q]\ntrust_level = \"trusted\"\n",
		c.model.URL+"/v1", c.config, c.project)
	file := filepath.Join(c.conf, "config.toml")
	c.write(file, config)
	if c.host.system {
		c.host.connect("codex")
		return
	}
	// Printed, not written: as root belay writes no person's settings, and the managed ones are this test's alone.
	cmd := exec.Command(filepath.Join(c.host.bin, "belay"), "connect", "codex", "--"+string(c.level), "--print", "--json",
		"--hook", c.program, "--state", c.host.state)
	cmd.Dir, cmd.Env = c.project, append(os.Environ(), "HOME="+c.home, "CODEX_HOME="+c.conf)
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
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			c.t.Fatal(err)
		}
		c.write(f.Path, f.Content)
	}
	if !trusted {
		c.write(file, config)
	}
}

// run has Codex work on the prompt, without a sandbox of its own and without a person.
func (c *codexClient) run(prompt string, flags ...string) {
	c.t.Helper()
	args := []string{"exec", "--skip-git-repo-check"}
	if !slices.Contains(flags, "-s") {
		args = append(args, "-s", "danger-full-access")
	}
	wall := newWall(c.t)
	c.out, _ = c.host.run(c.project, c.environ(wall), c.command(append(append(args, flags...), prompt)...)...)
	wall.report()
}

// command is Codex with these arguments, as it sees the machine.
func (c *codexClient) command(args ...string) []string {
	c.t.Helper()
	bin := os.Getenv("BELAY_CODEX")
	if bin == "" {
		c.t.Fatal("BELAY_CODEX names no client; scripts/test-agents installs one")
	}
	args = append([]string{bin}, args...)
	if c.host.system {
		c.host.account(c.shell)
		return args
	}
	if c.level != agents.Managed && c.shell == "" {
		return args
	}
	// Only this process sees the managed file, and its account's shell, where the system's would stand.
	c.account()
	flag := "-m"
	if os.Getuid() != 0 {
		flag = "-rm"
	}
	return append([]string{"unshare", flag, "sh", "-c",
		"mount -t overlay overlay -o lowerdir=" + c.managed + `/etc:/etc /etc && exec "$@"`, "sh"}, args...)
}

// environ is the environment of Codex.
func (c *codexClient) environ(wall *wall) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "CODEX_HOME=" + c.conf,
		"CODEX_API_KEY=dummy-key-of-a-test",
		"BELAY_HOME=" + c.host.dir(), "HTTPS_PROXY=" + wall.URL, "HTTP_PROXY=" + wall.URL, "NO_PROXY=127.0.0.1,localhost"}
	return append(env, c.env...)
}

// account gives the account of the client its shell. In the client's own namespace it is root's.
func (c *codexClient) account() {
	c.t.Helper()
	etc := filepath.Join(c.managed, "etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if c.shell == "" {
		return
	}
	program, err := exec.LookPath(c.shell)
	if err != nil {
		c.t.Fatalf("%v: scripts/setup installs it", err)
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		c.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(passwd), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "root:") {
			lines[i] = l[:strings.LastIndexByte(l, ':')+1] + program + "\n"
		}
	}
	c.write(filepath.Join(etc, "passwd"), strings.Join(lines, ""))
}

// shell is a call of Codex's shell.
func shell(command string) Call {
	return Call{Tool: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 20000}}
}

// do is the script of one turn with calls.
func do(calls ...Call) Script { return Script{Turns: []Turn{{Calls: calls}}} }

// alone is a directory with belay-hook and no belay beside it: nothing decides in the place of a daemon that is gone.
func alone(t *testing.T, h *host) string {
	t.Helper()
	if h.system {
		return filepath.Join(h.bin, "belay-hook") // nothing decides beside the daemon, whatever lies there
	}
	b, err := os.ReadFile(filepath.Join(h.bin, "belay-hook"))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "belay-hook")
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// codexVersion is the version that docs/runtimes/codex.md speaks of.
const codexVersion = "0.169.0"

func TestCodexVersion(t *testing.T) {
	out, err := exec.Command(os.Getenv("BELAY_CODEX"), "--version").Output()
	if err != nil || strings.TrimSpace(string(out)) != "codex-cli "+codexVersion {
		t.Fatalf("this is %s (%v), and %s is the one that was looked at", out, err, codexVersion)
	}
}
