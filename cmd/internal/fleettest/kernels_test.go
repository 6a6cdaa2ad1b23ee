package fleettest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

// member is one kernel of the fleet: a daemon with a state directory, a home and a login of its own.
type member struct {
	s    *stage
	name string
	dir  string
	home string
	dsn  string // the file

	daemon *exec.Cmd
	ended  chan struct{}
	log    safeBuffer
	client *client.Client
}

// safeBuffer is what a daemon says.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newMember makes a state directory whose belay.yaml names the database.
func (s *stage) newMember(name, login, more string) *member {
	s.t.Helper()
	k := &member{s: s, name: name, dir: filepath.Join(s.root, name), home: filepath.Join(s.root, name+"-home"),
		dsn: filepath.Join(s.root, name+".dsn")}
	s.must(os.MkdirAll(k.dir, 0o700))
	s.must(os.MkdirAll(k.home, 0o700))
	s.must(os.WriteFile(k.dsn, []byte(s.dsnOf(login)+"\n"), 0o600))
	k.write(more)
	return k
}

// write writes belay.yaml, with more members of store.postgres.
func (k *member) write(more string) {
	k.s.t.Helper()
	text := fmt.Sprintf(belayYAML, k.dsn, k.name, k.s.schema, more) + k.s.carol.yaml()
	k.s.must(os.WriteFile(filepath.Join(k.dir, "belay.yaml"), []byte(text), 0o600))
}

// belayYAML is what the kernels of the organisation have in common: file of the DSN, name, schema, more.
const belayYAML = `version: belay/v1
unknown_tools: allow
default: {pre_tool: allow, spawn: allow}
store:
  postgres:
    dsn_file: %s
    kernel: %s
    schema: %s
    tls: off
    hold: 3s
%srequire_lease:
  - {tools: [notebook], capability: "tool:notebook"}
approvals: {timeout: 10m}
hooks:
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    match: {tools: "^exec$"}
    via: queue
    capabilities: [block, request_approval, shell_parse, pattern_match]
    config: {rules: {cloud-delete: ask}}
reviewers:
`

// begin starts the daemon, and waits for nothing.
func (k *member) begin() {
	k.s.t.Helper()
	k.daemon = k.command("serve")
	k.daemon.Stderr = &k.log
	k.s.must(k.daemon.Start())
	ended := make(chan struct{})
	k.ended = ended
	go func(c *exec.Cmd) { _ = c.Wait(); close(ended) }(k.daemon)
}

// serves holds once the daemon answers and its store can be written.
func (k *member) serves(wait time.Duration) outcome {
	return within(wait, func() outcome {
		c, err := client.Dial(k.dir)
		if err != nil {
			return outcome{happened: "no answer", saw: err.Error() + "\n" + k.log.String()}
		}
		h, err := c.Health(k.s.ctx())
		if err != nil || !h.OK {
			c.Close()
			return outcome{happened: "red", saw: fmt.Sprintf("%+v, %v\n%s", h, err, k.log.String())}
		}
		if k.client != nil {
			k.client.Close()
		}
		k.client = c
		return outcome{held: true, happened: "it serves"}
	})
}

// kill ends the daemon as kill -9 does, in the middle of what it does.
func (k *member) kill() {
	if k.daemon == nil {
		return
	}
	_ = k.daemon.Process.Kill()
	<-k.ended
	k.daemon = nil
}

// command is a command of belay's on the state directory.
func (k *member) command(args ...string) *exec.Cmd {
	c := exec.Command(k.s.program, append([]string{"--state", k.dir}, args...)...)
	c.Dir = k.s.root
	c.Env = append(os.Environ(), "HOME="+k.home, "XDG_DATA_HOME=", "BELAY_HOME=", "NO_COLOR=1",
		"BELAY_KEY_PASSWORD="+password)
	return c
}

// belay runs a command, and returns what it says with its exit status.
func (k *member) belay(args ...string) (out string, code int) {
	k.s.t.Helper()
	c := k.command(args...)
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	timer := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	_ = c.Run()
	return b.String(), c.ProcessState.ExitCode()
}

// runs runs a command that has to succeed.
func (k *member) runs(args ...string) string {
	k.s.t.Helper()
	out, code := k.belay(args...)
	if code != 0 {
		k.s.t.Fatalf("kernel %s: belay %s: exit %d: %s", k.name, strings.Join(args, " "), code, out)
	}
	return out
}

// ask asks the kernel about an action.
func (k *member) ask(invocation string) phases.Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	v, err := k.client.InvokeJSON(ctx, []byte(invocation))
	if err != nil && v.Reason == "" {
		v.Reason = err.Error()
	}
	return v
}

// What agents of the fleet do.
func runsCommand(session, command string) string {
	return fmt.Sprintf(`{"phase":"pre_tool","runtime":"custom","session":%q,"agent":"coder",`+
		`"action":{"tool":"exec","args":{"command":%q}}}`, session, command)
}

func writesNotebook(session string) string {
	return fmt.Sprintf(`{"phase":"pre_tool","runtime":"custom","session":%q,"agent":"coder",`+
		`"action":{"tool":"notebook","args":{"notebook_path":"/srv/a.ipynb","new_source":"x"}}}`, session)
}

func spawnsHelper(session string) string {
	return fmt.Sprintf(`{"phase":"spawn","runtime":"custom","session":%q,"agent":"coder",`+
		`"action":{"child":{"agent":"helper","prompt":"write it down"},"depth":1}}`, session)
}

// decided is the outcome of a verdict that has to have a decision and a part of its reason.
func decided(v phases.Verdict, want phases.Decision, reason string) outcome {
	o := outcome{held: v.Decision == want && strings.Contains(v.Reason, reason), happened: string(v.Decision),
		saw: fmt.Sprintf("%s %s %q", v.Decision, v.Kind, v.Reason)}
	if v.Decision == phases.Block && !o.held {
		o.happened = "block: " + short(v.Reason, 26)
	}
	return o
}
