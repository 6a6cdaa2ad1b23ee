package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func dial(t *testing.T, dir string) *client.Client {
	t.Helper()
	c, err := client.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func invocation(session, command string) phases.Invocation {
	args, err := json.Marshal(map[string]any{"tool": "exec", "call_id": "c",
		"args": map[string]string{"command": command}})
	if err != nil {
		panic(err)
	}
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: session, Action: args}
}

// recordOf reads all logged verdicts, by event id.
func recordOf(t *testing.T,
	events func(context.Context, wire.Query) ([]phases.Event, error)) map[string]phases.Event {
	t.Helper()
	out := map[string]phases.Event{}
	q := wire.Query{Type: phases.EventVerdict, Limit: wire.MaxLimit}
	for {
		list, err := events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			out[e.ID] = e
			q.After = e.Seq
		}
		if len(list) < wire.MaxLimit {
			return out
		}
	}
}

// Many at once: every answer is the right one, and its event is logged before
// it comes.
func TestManyAtOnce(t *testing.T) {
	d := startDaemon(t, withConfig(guardConfig))
	c := dial(t, d.dir)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 8 {
				command, want := "ls", phases.Allow
				if (i+n)%2 == 0 {
					command, want = "rm -rf /", phases.Block
				}
				v, err := c.Invoke(t.Context(), invocation(fmt.Sprintf("s-%d", i), command))
				if err != nil || v.Decision != want || v.Event == nil {
					t.Errorf("%d/%d: %s %s, %v", i, n, v.Decision, v.Reason, err)
					return
				}
				got, err := d.host.Events(t.Context(), wire.Query{ID: v.Event.ID})
				if err != nil || len(got) != 1 || got[0].Decision != string(want) || got[0].Session != fmt.Sprintf("s-%d", i) {
					t.Errorf("%d/%d: not logged as answered: %v %v", i, n, got, err)
				}
			}
		})
	}
	wg.Wait()
}

// Reloads in the middle of it: whatever configuration an action meets is a whole
// one, and both of these block the command.
func TestReloadUnderLoad(t *testing.T) {
	d := startDaemon(t, withConfig(guardConfig), withServer(func(o *server.Options) { o.Watch = -1 }))
	c := dial(t, d.dir)
	other := strings.Replace(guardConfig, "priority: 100", "priority: 40", 1)
	done := make(chan struct{})
	var wg sync.WaitGroup
	var decided atomic.Int64
	for i := range 6 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v, err := c.Invoke(t.Context(), invocation(fmt.Sprintf("s-%d", i), "rm -rf /"))
				if err != nil || v.Decision != phases.Block || v.DecidedBy != "command-guard" {
					t.Errorf("%s by %s: %s, %v", v.Decision, v.DecidedBy, v.Reason, err)
					return
				}
				decided.Add(1)
			}
		})
	}
	revisions := map[string]bool{}
	for n := range 12 {
		text := guardConfig
		switch n % 3 {
		case 0:
			text = other
		case 2:
			text = "version: nonsense\n" // refused: the one before stays
		}
		if err := os.WriteFile(filepath.Join(d.dir, "belay.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := c.Reload(t.Context())
		var p *client.Error
		if bad := n%3 == 2; bad != (errors.As(err, &p) && p.Code == wire.CodeConfig) {
			t.Fatalf("reload %d: %v", n, err)
		}
		revisions[r.Revision] = true
	}
	for decided.Load() < 50 && !t.Failed() {
		time.Sleep(5 * time.Millisecond)
	}
	close(done)
	wg.Wait()
	delete(revisions, "")
	if len(revisions) != 2 {
		t.Errorf("revisions: %v", revisions)
	}
}

// A changed belay.yaml is taken up without being asked to.
func TestChangedFileIsTakenUp(t *testing.T) {
	d := startDaemon(t, withServer(func(o *server.Options) { o.Watch = 10 * time.Millisecond }))
	c := dial(t, d.dir)
	if v, err := c.Invoke(t.Context(), invocation("s", "rm -rf /")); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%v %v", v.Decision, err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "belay.yaml"), []byte(guardConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new configuration", func() bool {
		v, err := c.Invoke(t.Context(), invocation("s", "rm -rf /"))
		return err == nil && v.Decision == phases.Block
	})
	if err := os.WriteFile(filepath.Join(d.dir, "belay.yaml"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the problem in the status", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && strings.Contains(strings.Join(st.Problems, " "), "stays in use")
	})
	if v, err := c.Invoke(t.Context(), invocation("s", "rm -rf /")); err != nil || v.Decision != phases.Block {
		t.Errorf("a broken file changed the decision: %v %v", v.Decision, err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}

const serveEnv = "BELAY_TEST_SERVE"

// childServe is a daemon in a process of its own, to be killed.
func childServe(dir string) int {
	host, err := belay.Open(context.Background(), dir, belay.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := server.Open(host, server.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	limitDescriptors()
	fmt.Println("serving", os.Getpid())
	_ = s.Serve(context.Background())
	return 0
}

func startChild(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), serveEnv+"="+dir), env...)
	cmd.Stderr = &lockedBuffer{}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "serving "+strconv.Itoa(cmd.Process.Pid)+"\n" {
		t.Fatalf("the daemon does not start: %q %v", line, err)
	}
	return cmd
}

// The daemon is killed under load, again and again: the log holds every verdict
// that a caller got, and the next daemon takes its place.
func TestKilledUnderLoad(t *testing.T) {
	dir := stateDir(t, guardConfig)
	acknowledged := map[string]phases.Decision{}
	var mu sync.Mutex
	for round := range 3 {
		child := startChild(t, dir)
		c := dial(t, dir)
		enough := make(chan struct{})
		stop := sync.OnceFunc(func() { close(enough) })
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					command := "ls"
					if n%2 == 0 {
						command = "rm -rf /"
					}
					v, err := c.Invoke(context.Background(), invocation(fmt.Sprintf("s-%d", i), command))
					if err != nil {
						if v.Decision != phases.Block {
							t.Errorf("an error beside %s", v.Decision)
						}
						stop()
						return // killed
					}
					mu.Lock()
					acknowledged[v.Event.ID] = v.Decision
					if len(acknowledged) >= 60*(round+1) {
						stop()
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		_ = child.Process.Kill()
		_ = child.Wait()
		wg.Wait()
		if _, err := client.Dial(dir); !errors.Is(err, client.ErrNotRunning) {
			t.Errorf("after the daemon was killed: %v", err)
		}
	}
	host, err := belay.Open(t.Context(), dir, belay.Options{NoHooks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	record := recordOf(t, host.Events)
	for id, decision := range acknowledged {
		if e, ok := record[id]; !ok || e.Decision != string(decision) {
			t.Errorf("acknowledged %s of event %s is not logged", decision, id)
		}
	}
	t.Logf("%d acknowledged, %d logged", len(acknowledged), len(record))
}

// held is a host that keeps invocations until it is told to let them go.
type held struct {
	server.Host
	began  chan struct{}
	letGo  chan struct{}
	broken atomic.Pointer[string] // "panic", "empty", "allow with an error"
}

func (h *held) InvokeWith(ctx context.Context, inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
	if how := h.broken.Load(); how != nil {
		switch *how {
		case "panic":
			panic("as the test wants it")
		case "empty":
			return phases.Verdict{}, nil
		}
		return phases.Verdict{Decision: phases.Allow, Action: inv.Action}, errors.New("as the test wants it")
	}
	h.began <- struct{}{}
	<-h.letGo
	return h.Host.InvokeWith(ctx, inv, o)
}

func holding(t *testing.T, options ...option) (*daemon, *held) {
	t.Helper()
	h := &held{began: make(chan struct{}, 64), letGo: make(chan struct{})}
	return startDaemon(t, append(options, withHost(func(inner server.Host) server.Host {
		h.Host = inner
		return h
	}))...), h
}

// fill has a daemon with room for one, and a queue of one, decide an action and keep another
// waiting. The answers come when h is let go.
func (h *held) fill(t *testing.T, d *daemon, c *client.Client) <-chan phases.Decision {
	t.Helper()
	answers := make(chan phases.Decision, 2)
	ask := func() {
		v, _ := c.Invoke(context.Background(), invocation("other", "ls"))
		answers <- v.Decision
	}
	go ask()
	<-h.began
	go ask()
	admin := bearer(d.token(t, client.RoleAdmin))
	eventually(t, "one is waiting", func() bool {
		_, body := d.do(t, call{method: "GET", path: "/v1/status", header: admin})
		return strings.Contains(body, `"waiting":1`)
	})
	return answers
}

// A caller that finds the queue full is refused at once, in its runtime's
// words, and the refusal is recorded.
func TestOverload(t *testing.T) {
	d, h := holding(t, withServer(func(o *server.Options) { o.Running, o.Queue, o.Patience = 1, 1, time.Hour }))
	c := dial(t, d.dir)
	answers := h.fill(t, d, c)
	resp, body := d.do(t, call{method: "POST", path: "/v1/invoke", body: asking("ls")})
	documented(t, "POST", "/v1/invoke", resp, body)
	if resp.StatusCode != 503 || !strings.Contains(body, `"decision":"block"`) ||
		!strings.Contains(body, `"event":{"seq":`) {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	for event, want := range map[string]string{"PreToolUse": `"permissionDecision":"deny"`, "Stop": `"continue":false`,
		"UserPromptSubmit": `"decision":"block"`} {
		resp, body := d.do(t,
			call{method: "POST", path: "/adapters/claude-code?event=" + event, body: `{"session_id":"s","hook_event_name":"` +
				event + `"}`})
		if resp.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d: %s", event, resp.StatusCode, body)
		}
	}
	list, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventFailure, Kind: phases.KindDeadline})
	if err != nil || len(list) != 4 {
		t.Errorf("%d refusals logged, %v", len(list), err)
	}
	close(h.letGo)
	for range 2 {
		if got := <-answers; got != phases.Allow {
			t.Errorf("who waited got %s", got)
		}
	}
}

// A stop refuses what comes and finishes what has begun.
func TestStopDrains(t *testing.T) {
	d, h := holding(t)
	answer := make(chan phases.Verdict, 1)
	c := dial(t, d.dir)
	go func() {
		v, _ := c.Invoke(context.Background(), invocation("s", "ls"))
		answer <- v
	}()
	<-h.began
	d.cancel()
	eventually(t, "new callers are refused", func() bool {
		_, err := client.Dial(d.dir)
		return err != nil
	})
	select {
	case v := <-answer:
		t.Fatalf("what had begun was cut off: %s", v.Reason)
	default:
	}
	// The daemon runs and does not answer: that must not look like no daemon.
	if _, err := client.Dial(d.dir); !errors.Is(err, client.ErrSick) {
		t.Errorf("while it stops: %v", err)
	}
	if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrRunning) {
		t.Errorf("a second one while it stops: %v", err)
	}
	close(h.letGo)
	if v := <-answer; v.Decision != phases.Allow || v.Event == nil {
		t.Errorf("what had begun: %s %s", v.Decision, v.Reason)
	}
	d.stop(t)
	if _, err := client.Dial(d.dir); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("afterwards: %v", err)
	}
	again, err := server.Open(d.host, server.Options{Dir: d.dir})
	if err != nil {
		t.Fatalf("the next one: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := again.Serve(ctx); err != nil {
		t.Error(err)
	}
}

// A host that fails in whatever way never comes out as "go on".
func TestFailingHost(t *testing.T) {
	d, h := holding(t)
	for _, how := range []string{"panic", "empty", "allow with an error"} {
		h.broken.Store(&how)
		resp, body := d.do(t, call{method: "POST", path: "/v1/invoke", body: asking("ls")})
		if resp.StatusCode != 200 || !strings.Contains(body, `"decision":"block"`) {
			t.Errorf("%s: status %d: %s", how, resp.StatusCode, body)
		}
		payload := `{"session_id":"s","transcript_path":"/t","cwd":"/","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`
		resp, body = d.do(t, call{method: "POST", path: "/adapters/claude-code?event=PreToolUse", body: payload})
		if resp.StatusCode != 200 || !strings.Contains(body, `"permissionDecision":"deny"`) {
			t.Errorf("%s: status %d: %s", how, resp.StatusCode, body)
		}
	}
}

// Health is red when the store cannot write, and says nothing else.
func TestHealthIsRed(t *testing.T) {
	d := startDaemon(t, withListener)
	d.host.Close()
	resp, body := d.do(t, call{tcp: true, method: "GET", path: "/healthz"})
	if resp.StatusCode != http.StatusServiceUnavailable ||
		ageOf.ReplaceAllString(strings.TrimSpace(body),
			"") != `{"ok":false,"state":"failing","sinks":[{"kind":"store","durable":true,"ok":false,"trouble":"unavailable"}]}` {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	documented(t, "GET", "/healthz", resp, body)
	v, err := dial(t, d.dir).Invoke(t.Context(), invocation("s", "ls"))
	if v.Decision != phases.Block {
		t.Errorf("without a store: %s, %v", v.Decision, err)
	}
}
