package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"
	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// soak is a daemon under callers that never rest, and what they were answered.
type soak struct {
	t    *testing.T
	dir  string
	stop chan struct{}
	wg   sync.WaitGroup

	daemon sync.Mutex // held while it is ended and started
	p      *process

	mu       sync.Mutex
	answered map[string]acknowledged // by the event that was named
	sent     int
	refused  map[phases.Kind]int
	wrong    []string
}

// acknowledged is an answer that named its event.
type acknowledged struct {
	invocation string
	seq        int64
	decision   phases.Decision
}

// soakActions are what callers ask about, with the answer of the hooks of `belay init`.
var soakActions = []struct {
	phase  phases.Phase
	action string
	want   phases.Decision
}{
	{phases.PrePlan, `{"kind":"message","text":"hello"}`, phases.Allow},
	{phases.PreSend, `{"provider":"p","model":"m","params":{}}`, phases.Allow},
	{phases.PostReceive, `{"kind":"final","text":"done"}`, phases.Allow},
	{phases.PreTool, `{"tool":"exec","args":{"command":"ls"}}`, phases.Allow},
	{phases.PreTool, `{"tool":"exec","args":{"command":"rm -rf /"}}`, phases.Block},
	{phases.PostTool, `{"tool":"exec","result":"out"}`, phases.Allow},
	{phases.StateTransition, `{"machine":"stage","from":"plan","to":"act"}`, phases.Allow},
	{phases.Spawn, `{"child":{"agent":"helper"}}`, phases.Allow},
	{phases.Audit, `{"kind":"notification","data":{"text":"hi"}}`, phases.Allow},
}

// caller asks about everything in turn, for a session of its own, until the end. An event of
// a runtime that can block nothing comes in between.
func (s *soak) caller(session string) {
	c, err := client.New(client.Options{Socket: filepath.Join(s.dir, daemonapi.SocketName), Timeout: 30 * time.Second})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.Close()
	for n := 0; ; n++ {
		select {
		case <-s.stop:
			return
		case <-time.After(time.Duration(5+rand.IntN(20)) * time.Millisecond):
		}
		a := soakActions[n%len(soakActions)]
		inv := phases.Invocation{ID: uuid.Must(uuid.NewV7()).String(), Phase: a.phase, Runtime: "custom", Session: session,
			Run: "r", Action: []byte(a.action)}
		v, err := c.Invoke(s.t.Context(), inv)
		s.note(inv, a.want, v, err)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
		if n%7 == 0 {
			payload := fmt.Sprintf(
				`{"session_id":%q,"transcript_path":"/t","cwd":"/w","hook_event_name":"Notification","message":"m","notification_type":"idle_prompt"}`, session)
			_, _ = c.Ask(s.t.Context(), "claude-code", "Notification", []byte(payload))
		}
	}
}

// note keeps an answer. A refusal names its kind and is belay's own; everything else is what
// the hooks say.
func (s *soak) note(inv phases.Invocation, want phases.Decision, v phases.Verdict, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	if v.Event != nil {
		s.answered[v.Event.ID] = acknowledged{inv.ID, v.Event.Seq, v.Decision}
	}
	switch {
	case v.Decision == want && err == nil && v.Kind == "", v.Decision == want && want == phases.Block:
	case v.Decision == phases.Block:
		s.refused[v.Kind]++
	default:
		s.wrong = append(s.wrong, fmt.Sprintf("%s %s: %s (%s), want %s", inv.Phase, inv.Action, v.Decision, v.Reason, want))
	}
}

// restart ends the daemon with the signal, and starts another one.
func (s *soak) restart(sig syscall.Signal) {
	s.daemon.Lock()
	defer s.daemon.Unlock()
	s.p.ended.Do(func() {
		_ = s.p.cmd.Process.Signal(sig)
		_ = s.p.cmd.Wait()
	})
	s.p = serveProcess(s.t, s.dir)
}

// faults are what happens to the daemon, one after the other; each ends by itself.
func (s *soak) faults(long time.Duration) map[string]func() {
	conf := filepath.Join(s.dir, "belay.yaml")
	dial := func() net.Conn {
		c, err := net.Dial("unix", filepath.Join(s.dir, daemonapi.SocketName))
		if err != nil {
			return nil
		}
		s.t.Cleanup(func() { c.Close() })
		return c
	}
	limit := func(resource int, to uint64) {
		var now unix.Rlimit
		if err := unix.Prlimit(s.p.cmd.Process.Pid, resource, nil, &now); err != nil {
			s.t.Error(err)
		}
		old := now.Cur
		now.Cur = to
		err := unix.Prlimit(s.p.cmd.Process.Pid, resource, &now, nil)
		time.Sleep(long)
		now.Cur = old
		if err := errors.Join(err, unix.Prlimit(s.p.cmd.Process.Pid, resource, &now, nil)); err != nil {
			s.t.Error(err)
		}
	}
	return map[string]func(){
		"requests that are cut off": func() {
			for n := range 20 {
				c := dial()
				if c == nil {
					continue
				}
				text := "POST /v1/adapters/claude-code HTTP/1.1\r\nHost: belay\r\nContent-Length: 400\r\n\r\n" +
					`{"session_id":"s-1","hook_event_name":"Notif`
				_, _ = io.WriteString(c, text[:min(8+n*7, len(text))])
				c.Close()
			}
		},
		"reloads": func() {
			for range 5 {
				f, err := os.OpenFile(conf, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString("# again\n")
					err = errors.Join(err, f.Close())
				}
				if err != nil {
					s.t.Error(err)
				}
				_, _ = s.p.belay(s.t, "status")
			}
		},
		"followers that stop reading": func() {
			for range 8 {
				c, err := client.Dial(s.dir)
				if err != nil {
					continue
				}
				ctx, cancel := context.WithTimeout(s.t.Context(), 2*long)
				go func() {
					defer c.Close()
					defer cancel()
					_ = c.Follow(ctx, wire.Query{}, func(phases.Event) error { <-ctx.Done(); return ctx.Err() })
				}()
			}
		},
		"a daemon that is stopped for a while": func() {
			pid := s.p.cmd.Process.Pid
			err := syscall.Kill(pid, syscall.SIGSTOP)
			time.Sleep(long)
			if err := errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)); err != nil {
				s.t.Error(err)
			}
		},
		"a daemon that is killed": func() { s.restart(syscall.SIGKILL) },
		"a daemon that is ended":  func() { s.restart(syscall.SIGTERM) },
		"a clock that jumps": func() {
			s.daemon.Lock()
			defer s.daemon.Unlock()
			s.p.ended.Do(func() {
				_ = s.p.cmd.Process.Signal(syscall.SIGTERM)
				_ = s.p.cmd.Wait()
			})
			clockStood(s.t, s.dir, -time.Hour)
			s.p = serveProcess(s.t, s.dir)
			if out, code := s.p.belay(s.t, "events", "query", "--type", "notice", "--json"); code != 0 ||
				!strings.Contains(out, "the clock jumped by +1h0m0s") {
				s.t.Errorf("the jump is not logged: %d, %.500s", code, out)
			}
			clockStood(s.t, s.dir, 2*time.Hour)
		},
		"a removed lock file": func() {
			if err := os.Remove(filepath.Join(s.dir, "belay.lock")); err != nil {
				s.t.Error(err)
			}
			time.Sleep(long)
		},
		"a full disk": func() {
			size := largest(s.t, s.dir)
			limit(unix.RLIMIT_FSIZE, size)
		},
		"no descriptors": func() {
			list, err := os.ReadDir("/proc/" + strconv.Itoa(s.p.cmd.Process.Pid) + "/fd")
			if err != nil {
				s.t.Error(err)
				return
			}
			limit(unix.RLIMIT_NOFILE, uint64(len(list)))
		},
		"idle connections": func() {
			for range 300 {
				dial()
			}
		},
		"a database that another program locks": func() {
			c, err := sqlite3.Open(filepath.Join(s.dir, "belay.db"))
			if err == nil {
				err = errors.Join(c.BusyTimeout(10*time.Second), c.Exec("BEGIN IMMEDIATE"))
				time.Sleep(long)
				err = errors.Join(err, c.Exec("ROLLBACK"), c.Close())
			}
			if err != nil {
				s.t.Error("the lock: ", err)
			}
		},
		"a pipe in place of belay.yaml": func() {
			aside := conf + ".aside"
			err := errors.Join(os.Rename(conf, aside), unix.Mkfifo(conf, 0o600))
			time.Sleep(long)
			if err := errors.Join(err, os.Rename(aside, conf)); err != nil {
				s.t.Error(err)
			}
		},
		"a crowd": func() {
			var crowd sync.WaitGroup
			c, err := client.Dial(s.dir)
			if err != nil {
				return
			}
			defer c.Close()
			for n := range 300 {
				crowd.Go(func() {
					inv := phases.Invocation{ID: uuid.Must(uuid.NewV7()).String(), Phase: phases.Audit, Runtime: "custom",
						Session: "crowd-" + strconv.Itoa(n), Action: []byte(`{"kind":"notification","data":{}}`)}
					v, err := c.Invoke(s.t.Context(), inv)
					s.note(inv, phases.Allow, v, err)
				})
			}
			crowd.Wait()
		},
	}
}

// A daemon meets one fault after the other while callers of all phases never rest. No answer
// is wrong, each one that was acknowledged is in the log, the log verifies, and in the end
// every session is free again: no hook has stopped one. $BELAY_SOAK_TIME makes it longer.
func TestFaultsInTurn(t *testing.T) {
	whole, callers := 12*time.Second, 12
	if text := os.Getenv("BELAY_SOAK_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		whole, callers = d, 48
	}
	dir := shortDir(t)
	initState(t, dir)
	s := &soak{t: t, dir: dir, stop: make(chan struct{}), answered: map[string]acknowledged{},
		refused: map[phases.Kind]int{}}
	s.p = serveProcess(t, dir)
	for n := range callers {
		s.wg.Go(func() { s.caller("s-" + strconv.Itoa(n)) })
	}
	page := fileText(t, filepath.Join("..", "..", "..", "docs", "OPERATIONS.md"))
	for name := range s.faults(0) {
		if !strings.Contains(page, "\n| "+name+" | ") {
			t.Errorf("docs/OPERATIONS.md does not say what a person sees of %q, and what ends it", name)
		}
	}
	began, long := time.Now(), min(whole/40, 3*time.Second)
	for rounds := 0; rounds == 0 || time.Since(began) < whole; rounds++ {
		for name, fault := range s.faults(long) {
			fault()
			s.mu.Lock()
			t.Logf("%7.1fs  %-40s %6d sent, %d answers logged, refused %v", time.Since(began).Seconds(), name, s.sent,
				len(s.answered), s.refused)
			s.mu.Unlock()
			time.Sleep(long)
			if time.Since(began) > whole && rounds > 0 {
				break
			}
		}
	}
	close(s.stop)
	s.wg.Wait()
	for _, w := range s.wrong {
		t.Error(w)
	}
	s.free(callers)
	s.p.kill()
	s.recorded()
	if text := s.p.log.String(); strings.Contains(text, "panic") || strings.Contains(text, "DATA RACE") {
		t.Error(text)
	}
}

// free checks that every session goes on, and that status is green, within half a minute after the last
// fault. The daemon looks at belay.yaml every second: a status asked for sooner still names the pipe that
// stood in its place.
func (s *soak) free(callers int) {
	c, err := client.Dial(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	for n := range callers {
		for _, runtime := range []string{"custom", "claude-code"} {
			var v phases.Verdict
			for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
				inv := phases.Invocation{Phase: phases.PreTool, Runtime: runtime, Session: "s-" + strconv.Itoa(n),
					Action: []byte(`{"tool":"exec","args":{"command":"ls"}}`)}
				if v, err = c.Invoke(s.t.Context(), inv); err == nil && v.Decision == phases.Allow {
					break
				}
			}
			if v.Decision != phases.Allow {
				s.t.Errorf("session s-%d of %s is not free: %s %s, %v", n, runtime, v.Decision, v.Reason, err)
			}
		}
	}
	latches, err := c.Latches(s.t.Context())
	if err != nil || len(latches) != 0 {
		s.t.Errorf("latches %+v, %v", latches, err)
	}
	out, code := "", 1
	for deadline := time.Now().Add(30 * time.Second); code != 0 && time.Now().Before(deadline); {
		if out, code = s.p.belay(s.t, "status"); code != 0 {
			time.Sleep(200 * time.Millisecond)
		}
	}
	if code != 0 {
		s.t.Errorf("status: exit %d: %s", code, out)
	}
}

// recorded compares the acknowledged verdicts with the log.
func (s *soak) recorded() {
	if out, code := s.p.belay(s.t, "events", "verify"); code != 0 {
		s.t.Fatalf("verify: %s", out)
	}
	path := filepath.Join(s.dir, "exported")
	if out, code := s.p.belay(s.t, "events", "export", "--output", path); code != 0 {
		s.t.Fatal(out)
	}
	left := maps.Clone(s.answered)
	for line := range strings.Lines(fileText(s.t, path)) {
		var e phases.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatal(err)
		}
		// A request that was refused unread has an invocation id of belay's
		// own.
		if a, ok := left[e.ID]; ok && e.Seq == a.seq && e.Decision == string(a.decision) &&
			(e.Type != phases.EventVerdict || e.Invocation == a.invocation) {
			delete(left, e.ID)
		}
	}
	for id, a := range left {
		s.t.Errorf("not in the log as it was given: event %s: %+v", id, a)
	}
	s.t.Logf("%d sent, %d acknowledged and in the log, refused by belay itself: %v", s.sent, len(s.answered), s.refused)
}
