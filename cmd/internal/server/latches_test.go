package server_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func claude(session, event string) string {
	more := map[string]string{"PreToolUse": `,"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t-1"`,
		"Notification": `,"message":"hi"`, "SessionStart": `,"source":"startup"`,
		"SubagentStart": `,"agent_id":"a","agent_type":"t"`}[event]
	return `{"session_id":"` + session +
		`","transcript_path":"/t","cwd":"/","permission_mode":"default","hook_event_name":"` + event + `"` + more + `}`
}

func (d *daemon) tell(t *testing.T, session, event string) string {
	t.Helper()
	resp, body := d.do(t,
		call{method: "POST", path: "/adapters/claude-code?event=" + event, body: claude(session, event),
			header: map[string]string{"Accept": daemonapi.AnswerType}})
	if resp.StatusCode != 200 {
		t.Errorf("%s: status %d: %s", event, resp.StatusCode, body)
	}
	return body
}

const startGuard = `version: belay/v1
hooks:
  - name: freeze
    module: builtin:kill-switch
    phases: [pre_plan]
    config: {frozen: false}
    capabilities: [block]
`

func withRetention(s *setup) { s.belay.Retain = true }

// An overload latches the sessions whose events it refused, and its end frees those that
// no hook would have stopped. A host that retains nothing leaves the others latched.
func TestOverloadEndsWithItsLatches(t *testing.T) {
	d, h := holding(t, withConfig(startGuard),
		withServer(func(o *server.Options) { o.Running, o.Queue, o.Patience = 1, 1, time.Hour }))
	c := dial(t, d.dir)
	answers := h.fill(t, d, c)
	for session, event := range map[string]string{"s-notified": "Notification", "s-spawned": "SubagentStart",
		"s-judged": "SessionStart"} {
		if body := d.tell(t, session, event); !strings.Contains(body, `"enforced":"latched"`) {
			t.Errorf("%s: %s", event, body)
		}
	}
	d.do(t, call{method: "POST", path: "/adapters/claude-code?event=SubagentStart",
		body: `{"session_id":"s-garbled","a":1,"a":2}`})
	want := map[string]phases.LatchEnd{"s-notified": phases.EndsWithCause, "s-spawned": phases.EndsWithCause,
		"s-judged": phases.EndsByPerson, "s-garbled": phases.EndsByPerson}
	list, err := c.Latches(t.Context())
	if err != nil || len(list) != len(want) {
		t.Fatalf("latches %+v, %v", list, err)
	}
	for _, l := range list {
		if kind := map[bool]phases.LatchKind{true: phases.LatchPayload,
			false: phases.LatchOverload}[l.Session == "s-garbled"]; l.Cause != kind || l.Ends != want[l.Session] || l.ID == "" ||
			l.Event == "" || l.Scope != "session" {
			t.Errorf("%+v", l)
		}
	}
	if st, err := c.Status(t.Context()); err != nil || len(st.Latches) != len(want) {
		t.Errorf("while it lasts, status lists %+v, %v", st.Latches, err)
	}
	close(h.letGo)
	for range 2 {
		<-answers
	}
	eventually(t, "the end of the overload", func() bool {
		return strings.Join(d.latched(t), " ") == "s-garbled s-judged"
	})
	lifted, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventLatch, Decision: kernel.DecisionLifted})
	if err != nil || len(lifted) != 2 || lifted[0].Reason != "the overload is over" {
		t.Errorf("%+v, %v", lifted, err)
	}
	if body := d.tell(t, "s-notified", "Notification"); !strings.Contains(body, `"decision":"allow"`) {
		t.Errorf("afterwards: %s", body)
	}
}

// After an overload the daemon judges the events that it refused: a session
// whose events the guard passes is free, and one that it blocks is held by the
// guard's own decision.
func TestOverloadIsJudgedAfterwards(t *testing.T) {
	for name, frozen := range map[string]bool{"the guard passes": false, "the guard blocks": true} {
		t.Run(name, func(t *testing.T) {
			config := strings.Replace(startGuard, "frozen: false", fmt.Sprintf("frozen: %v, reason: closed today", frozen), 1)
			d, h := holding(t, withRetention, withConfig(config),
				withServer(func(o *server.Options) { o.Running, o.Queue, o.Patience = 1, 1, time.Hour }))
			c := dial(t, d.dir)
			answers := h.fill(t, d, c)
			for n := range 3 {
				if body := d.tell(t, fmt.Sprint("s-", n), "SessionStart"); !strings.Contains(body, `"enforced":"latched"`) {
					t.Errorf("%s", body)
				}
			}
			if list, err := c.Latches(t.Context()); err != nil || len(list) != 3 || list[0].Ends != phases.EndsByJudging {
				t.Fatalf("%+v, %v", list, err)
			}
			close(h.letGo)
			for range 2 {
				<-answers
			}
			eventually(t, "each event is judged", func() bool {
				list, _ := d.host.Latches(t.Context())
				for _, l := range list {
					if l.Ends == phases.EndsByJudging {
						return false
					}
				}
				return (len(list) == 3) == frozen && (len(list) == 0) == !frozen
			})
			for n := range 3 {
				session := fmt.Sprint("s-", n)
				body := d.tell(t, session, "PreToolUse")
				if !frozen {
					if strings.Contains(body, "deny") {
						t.Errorf("%s: %s", session, body)
					}
					continue
				}
				if !strings.Contains(body, "closed today") || !strings.Contains(body, "of kind decision") ||
					!strings.Contains(body, "belay latch clear claude-code "+session) {
					t.Errorf("%s: %s", session, body)
				}
			}
			if list, _ := d.host.Latches(t.Context()); frozen && (len(list) != 3 || list[0].DecidedBy != "freeze") {
				t.Errorf("%+v", list)
			}
		})
	}
}

// What a daemon retained ends with it: the next one says so, and a person has to decide.
func TestWhatADaemonRetainedEndsWithIt(t *testing.T) {
	d := startDaemon(t, withRetention, withConfig(startGuard))
	v, _ := d.host.Refuse(t.Context(),
		kernel.Refusal{Unblockable: true, Why: phases.LatchOverload,
			Fault: phases.NewFault(phases.KindDeadline, "too many", nil),
			Invocation: phases.Invocation{Phase: phases.PrePlan, Runtime: "claude-code", Session: "s-1",
				Action: jsontext.Value(`{"kind":"session_start"}`)}})
	if list, err := d.host.Latches(t.Context()); v.Enforced != phases.EnforcedLatched || err != nil || len(list) != 1 ||
		list[0].Ends != phases.EndsByJudging {
		t.Fatalf("%+v, %v", list, err)
	}
	d.stop(t)
	if err := d.host.Close(); err != nil {
		t.Fatal(err)
	}
	next := serveDir(t, d.dir, withRetention)
	eventually(t, "the next daemon has looked", func() bool {
		list, _ := next.host.Latches(t.Context())
		return len(list) == 1 && list[0].Ends == phases.EndsByPerson &&
			strings.Contains(list[0].Reason, "does not have it any more")
	})
	if body := next.tell(t, "s-1", "PreToolUse"); !strings.Contains(body, "belay latch clear claude-code s-1") {
		t.Errorf("%s", body)
	}
}

// A request that its connection cut off latches nothing, wherever it was cut and however.
func TestTransportFailuresLatchNothing(t *testing.T) {
	d := startDaemon(t, withServer(func(o *server.Options) { o.Body = 200 * time.Millisecond }))
	payload := claude("s-1", "SubagentStart")
	head := func(more string) string {
		return "POST /adapters/claude-code?event=SubagentStart HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\n" + more + "\r\n\r\n"
	}
	length := fmt.Sprintf("Content-Length: %d", len(payload))
	for name, text := range map[string]string{
		"no header":          "POST /ad",
		"half of the header": head(length)[:60],
		"no body":            head(length),
		"eight bytes":        head(length) + payload[:8],
		"behind the session": head(length) + payload[:30],
		"one byte less":      head(length) + payload[:len(payload)-1],
		"bytes":              head(length) + "\x00\xff\xfe",
		"a chunk":            head("Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s", len(payload), payload[:40]),
		"no last chunk":      head("Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n", len(payload), payload),
		"no chunk":           head("Transfer-Encoding: chunked") + "zz\r\n",
	} {
		for how, end := range map[string]func(*net.UnixConn) error{
			"closed":      (*net.UnixConn).Close,
			"half closed": (*net.UnixConn).CloseWrite,
			"kept open":   func(*net.UnixConn) error { return nil },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				c, err := net.Dial("unix", d.server.Socket())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
				if err := end(c.(*net.UnixConn)); err != nil {
					t.Fatal(err)
				}
				_ = c.SetReadDeadline(time.Now().Add(time.Second)) // a header that does not come is waited for longer
				_, _ = io.Copy(io.Discard, c)
			})
		}
	}
	// A request that was still read when its test ended is over after this.
	time.Sleep(400 * time.Millisecond)
	if got := d.latched(t); len(got) != 0 {
		t.Errorf("latched %q", got)
	}
	if st, err := d.host.Status(t.Context()); err != nil || !st.Healthy || len(st.Latches) != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
