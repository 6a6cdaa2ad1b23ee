//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

// process is `belay serve` as a process of its own, on a state directory that
// outlives it.
type process struct {
	dir   string
	cmd   *exec.Cmd
	log   bytes.Buffer
	ended sync.Once
}

func serveProcess(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{dir: dir, cmd: exec.Command("belay", append([]string{"--state", dir, "serve"}, args...)...)}
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if c, err := client.Dial(dir); err == nil {
			h, err := c.Health(t.Context())
			c.Close()
			if err == nil && h.OK {
				return p
			}
		}
		if time.Now().After(deadline) {
			p.kill()
			t.Fatalf("the daemon does not answer: %s", p.log.String())
		}
	}
}

// kill ends the daemon in the middle of whatever it does, and returns when it has
// ended. Wait may be called once only: two of them wait for each other for good.
func (p *process) kill() {
	p.ended.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		_ = p.cmd.Wait()
	})
}

// belay runs a command on the state directory and returns its output and its
// exit status.
func (p *process) belay(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "belay", append([]string{"--state", p.dir}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode()
}

// shot is one invocation with its answer, if there was one.
type shot struct {
	id      string
	command string
	v       phases.Verdict
	err     error
}

func newShot(t testing.TB, command string) (*shot, phases.Invocation) {
	id := uuid.Must(uuid.NewV7()).String()
	args := fmt.Sprintf(`{"tool":"exec","call_id":"c","args":{"command":%q}}`, command)
	return &shot{id: id, command: command},
		phases.Invocation{ID: id, Phase: phases.PreTool, Runtime: "custom", Session: "s", Action: []byte(args)}
}

// volley has many callers ask until stop, and returns everything that was sent.
func volley(t *testing.T, dir string, callers int, stop <-chan struct{}) []*shot {
	var mu sync.Mutex
	var all []*shot
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			c, err := client.Dial(dir)
			if err != nil {
				return // it was killed already
			}
			defer c.Close()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				s, inv := newShot(t, []string{"ls", "rm -rf /"}[(i+n)%2])
				mu.Lock()
				all = append(all, s)
				mu.Unlock()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				s.v, s.err = c.Invoke(ctx, inv)
				cancel()
				if s.err != nil && s.v.Event == nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return all
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// initState makes a state directory with a hook and a durable file of JSON lines.
func initState(t *testing.T, dir string) {
	t.Helper()
	p := &process{dir: dir}
	if out, code := p.belay(t, "init"); code != 0 {
		t.Fatal(out)
	}
	path := filepath.Join(dir, "belay.yaml")
	text := fileText(t, path) + "\nevents:\n  sinks:\n    - jsonl: {path: " + dir +
		"/events.jsonl}\n    - checkpoint: {path: " + dir + "/marks}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sound checks a state directory that no process uses: its log verifies, and
// the file holds the events of the store.
func sound(t *testing.T, p *process) {
	t.Helper()
	out, code := p.belay(t, "events", "verify")
	if code != 0 || !strings.HasPrefix(strings.TrimSpace(out[strings.Index(out, "events verify"):]), "events verify: ok") {
		t.Fatalf("verify: exit %d: %s", code, out)
	}
	exported, code := p.belay(t, "events", "export", "--output", p.dir+"/exported")
	if code != 0 {
		t.Fatal(exported)
	}
	if got, want := fileText(t, p.dir+"/events.jsonl"), fileText(t, p.dir+"/exported"); got != want {
		t.Fatalf("the sink has %d bytes, the store %d", len(got), len(want))
	}
	if err := os.Remove(p.dir + "/exported"); err != nil {
		t.Fatal(err)
	}
}
