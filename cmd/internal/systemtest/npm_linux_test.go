//go:build mcp

package systemtest

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// realServers declares the reference servers, and a hook that calls one of their tools before each command.
const realServers = `version: belay/v1
mcp:
  servers:
    everything:
      command: [/usr/bin/node, /srv/mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js, stdio]
      env: [PATH]
      tools: [echo, get-env]
    files:
      command: [/usr/bin/node, /srv/mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js, /home/notes]
      env: [PATH]
      tools: [read_text_file, write_file]
      reach: {fs_read: [/home/notes/**], fs_write: []}
hooks:
  - name: caller
    module: /etc/belay/caller.wasm
    digest: DIGEST
    capabilities: [request_tool_call, annotate]
    config: {request: REQUEST}
`

// Real servers from npm run under belay-tools, confined: Node.js compiles what it runs, and finds its modules. What the
// filesystem server would allow itself, Landlock does not.
func TestRealServersInSystemMode(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	modules := os.Getenv("BELAY_MCP_MODULES")
	if modules == "" {
		t.Fatal("run scripts/test-mcp: it installs the servers")
	}
	m := newMachine(t)
	for from, to := range map[string]string{"/usr/bin": "usr/bin", "/usr/lib": "usr/lib", "/lib": "lib", "/lib64": "lib64",
		modules: "srv/mcp/node_modules"} {
		m.must(os.MkdirAll(m.path(to), 0o755))
		m.must(unix.Mount(from, m.path(to), "", unix.MS_BIND, ""))
		// Whatever removes the machine's directory, these files stay.
		m.must(unix.Mount("", m.path(to), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		t.Cleanup(func() { _ = unix.Unmount(m.path(to), unix.MNT_DETACH) })
	}
	for _, name := range []string{"urandom", "random"} {
		m.must(os.WriteFile(m.path("dev", name), nil, 0o666))
		m.must(unix.Mount("/dev/"+name, m.path("dev", name), "", unix.MS_BIND, ""))
		t.Cleanup(func() { _ = unix.Unmount(m.path("dev", name), unix.MNT_DETACH) })
	}
	m.must(os.MkdirAll(m.path("home/notes"), 0o777))
	m.must(os.Chmod(m.path("home/notes"), 0o777)) // Landlock alone keeps the server from writing there
	m.must(os.WriteFile(m.path("home/notes/a.txt"), []byte("hello file"), 0o644))
	m.must(os.MkdirAll(m.path("srv/probe"), 0o755))
	m.install(systemYAML, "version: belay/v1\n")
	bound := m.bindCaller(realServers)
	bind := func(request string) {
		m.must(os.WriteFile(m.path("etc/belay/belay.yaml"), []byte(strings.Replace(bound, "REQUEST", request, 1)), 0o644))
	}
	bind(`{tool: mcp__everything__echo, args: {message: hello from npm}}`)
	m.start()
	m.startTools()
	for _, c := range []struct{ what, request, says, not string }{
		{"echo", `{tool: mcp__everything__echo, args: {message: hello from npm}}`, "hello from npm", "\x00"},
		{"its environment", `{tool: mcp__everything__get-env}`, "belay-tool-", "BELAY_"},
		{"a file that reach names", `{tool: mcp__files__read_text_file, args: {path: /home/notes/a.txt}}`, "hello file", "\x00"},
		{"a file that it would write", `{tool: mcp__files__write_file, args: {path: /home/notes/b.txt, content: x}}`, "EACCES", "Success"},
		{"a file outside", `{tool: mcp__files__read_text_file, args: {path: /etc/belay/belay.yaml}}`, "outside allowed", "version"},
	} {
		bind(c.request)
		outcome, answer := "", ""
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if outcome, answer = m.probe(alice, ""); strings.Contains(answer, c.says) { // once the daemon has the file
				break
			}
		}
		if !strings.Contains(answer, c.says) || strings.Contains(answer, c.not) {
			t.Errorf("%s: %s: %s\n%s", c.what, outcome, answer, m.log)
		}
		t.Logf("%s: %s: %.100s", c.what, outcome, answer)
	}
	if n := len(processesOf(m.toolsUID())); n < 4 {
		t.Errorf("%d processes of belay-tools", n)
	}
	m.stop(syscall.SIGTERM)
}
