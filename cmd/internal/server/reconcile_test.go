package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

// loggedSession is a daemon with the directory of a runtime, and one session's log in it.
type loggedSession struct {
	*daemon
	client *client.Client
	dir    string // of the runtime
	log    string
}

func logSession(t *testing.T, options ...option) *loggedSession {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &loggedSession{dir: dir, log: filepath.Join(dir, "projects", "p", "s-1.jsonl")}
	s.daemon = startDaemon(t, append(options, withServer(func(o *server.Options) {
		o.LogDelay = time.Millisecond
		o.LogDir = func(runtime string) string {
			if runtime != "claude-code" {
				return ""
			}
			return dir
		}
	}))...)
	if err := os.MkdirAll(filepath.Dir(s.log), 0o700); err != nil {
		t.Fatal(err)
	}
	if s.client, err = client.Dial(s.daemon.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.client.Close() })
	return s
}

// call writes a call with its result to the log.
func (s *loggedSession) call(t *testing.T, id string) {
	t.Helper()
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"type":"assistant","sessionId":"s-1","timestamp":"2099-01-01T00:00:00Z",` +
		`"message":{"content":[` +
		`{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"echo ` + id + `"}}]}}` + "\n" +
		`{"type":"user","sessionId":"s-1","message":{"content":[{"type":"tool_result","tool_use_id":"` + id +
		`","content":"x"}]}}` + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// event has the daemon answer an event of the session.
func (s *loggedSession) event(t *testing.T, name, log, more string) {
	t.Helper()
	a, err := s.client.Ask(t.Context(), "claude-code", name, []byte(`{"session_id":"s-1","transcript_path":"`+log+
		`","cwd":"/home","permission_mode":"default","hook_event_name":"`+name+`"`+more+`}`))
	if err != nil || strings.TrimSpace(a.Stdout) != "{}" && a.Stdout != "" || a.Exit != 0 {
		t.Fatalf("%s: %+v, %v", name, a, err)
	}
}

// compared waits for the comparison of that number, and returns it.
func (s *loggedSession) compared(t *testing.T, n int) phases.Event {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list, err := s.client.Events(t.Context(), wire.Query{Type: phases.EventReconcile})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) >= n {
			return list[n-1]
		}
	}
	t.Fatalf("no comparison %d\n%s", n, s.daemon.log.String())
	return phases.Event{}
}

const (
	started = `,"source":"resume"`
	ended   = `,"reason":"other"`
	bashed  = `,"tool_name":"Bash","tool_input":{"command":"echo a"},"tool_use_id":"a"`
)

// At the end of a session, and at its start, its log is compared, and what came of it is an event.
func TestLogsAreComparedAtStartAndEnd(t *testing.T) {
	s := logSession(t)
	s.event(t, "PreToolUse", s.log, bashed)
	s.call(t, "a")
	s.event(t, "SessionEnd", s.log, ended)
	if e := s.compared(t, 1); e.Decision != "agrees" || e.Session != "s-1" {
		t.Errorf("%+v", e)
	}
	s.call(t, "off")
	s.event(t, "SessionStart", s.log, started)
	if e := s.compared(t, 2); e.Decision != "differs" || !strings.Contains(string(e.Output), `"call":"off"`) {
		t.Errorf("%+v", e)
	}
	st, err := s.client.Status(t.Context())
	if err != nil || st.Reconciled.Differ != 1 || st.Reconciled.Calls != 2 || len(st.Latches) != 0 {
		t.Errorf("%+v, %v", st.Reconciled, err)
	}
}

// A log that cannot be read blocks nothing, and is no agreement.
func TestLogsThatCannotBeRead(t *testing.T) {
	for name, log := range map[string]string{"elsewhere": "/etc/passwd", "gone": "$DIR/projects/p/none.jsonl",
		"another session": "$DIR/projects/p/s-2.jsonl",
		"a directory":     "$DIR/projects/p/dir.jsonl", "relative": "s-1.jsonl"} {
		t.Run(name, func(t *testing.T) {
			s := logSession(t)
			at := filepath.Dir(s.log)
			if err := errors.Join(os.Mkdir(filepath.Join(at, "dir.jsonl"), 0o700),
				os.WriteFile(filepath.Join(at, "s-2.jsonl"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			s.event(t, "SessionEnd", strings.ReplaceAll(log, "$DIR", s.dir), ended)
			if e := s.compared(t, 1); e.Decision != "unknown" || e.Session != "s-1" ||
				!strings.Contains(e.Reason, "cannot be read") {
				t.Errorf("%+v", e)
			}
		})
	}
}

// failingLog is a host that cannot log comparisons.
type failingLog struct{ server.Host }

func (failingLog) Reconciled(context.Context, *wire.Reconciliation) error { panic("no") }

// A comparison that fails in belay itself ends neither the daemon nor an answer.
func TestComparisonsThatFail(t *testing.T) {
	s := logSession(t, withHost(func(h server.Host) server.Host { return failingLog{h} }))
	s.call(t, "a")
	s.event(t, "SessionEnd", s.log, ended)
	if _, err := s.client.Reconcile(t.Context(), "claude-code", s.log); err == nil {
		t.Error("a comparison that was not logged is answered")
	}
	s.event(t, "PreToolUse", s.log, bashed)
}

// The route takes a log of a runtime in its directory, from a person's roles.
func TestReconcileRoute(t *testing.T) {
	s := logSession(t)
	s.call(t, "off")
	list, err := s.client.Reconcile(t.Context(), "claude-code", s.log)
	if err != nil || len(list) != 1 || list[0].Found != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if e := s.compared(t, 1); e.Decision != "differs" {
		t.Errorf("%+v", e)
	}
	for runtime, log := range map[string]string{"claude-code": "/etc/passwd", "codex": s.log, "none": s.log} {
		var refused *client.Error
		if _, err := s.client.Reconcile(t.Context(), runtime, log); !errors.As(err, &refused) ||
			refused.Code != wire.CodeRequest {
			t.Errorf("%s %s: %v", runtime, log, err)
		}
	}
	r, body := s.do(t, call{method: "POST", path: "/v1/events/reconcile", header: bearer(s.token(t, client.RoleInvoke)),
		body: `{"runtime":"claude-code","log":"` + s.log + `"}`})
	if r.StatusCode != 403 {
		t.Errorf("the role of agents: %d %s", r.StatusCode, body)
	}
}
