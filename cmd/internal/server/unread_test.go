package server_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// latched are the sessions that are, whatever their runtime: "(all)" is a whole one.
func (d *daemon) latched(t *testing.T) []string {
	t.Helper()
	list, err := d.host.Latches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range list {
		if l.Session == "" {
			l.Session = "(all)"
		}
		out = append(out, l.Session)
	}
	slices.Sort(out)
	return out
}

// A payload that cannot be read blocks its event and latches the session that it names.
// No garbage of one process holds the sessions of others.
func TestUnreadPayloadsLatchTheirOwnSession(t *testing.T) {
	large := `"tool_input":{"session_id":"other","content":"` + strings.Repeat(`\"session_id\":\"other\",`, 230_000) + `"}`
	for name, c := range map[string]struct {
		payload string
		want    string // the session that is latched
	}{
		"garbage":                 {"garbage", ""},
		"bytes":                   {"\x00\xff\xfe", ""},
		"empty":                   {" ", ""},
		"no event of ours":        {`{"session_id":"s-1","hook_event_name":"Frobnicate"}`, "s-1"},
		"not UTF-8":               {"{\"a\":\"\xff\",\"session_id\":\"s-1\"}", "s-1"},
		"doubled names":           {`{"a":1,"a":2,"session_id":"s-1"}`, "s-1"},
		"cut off":                 {`{"session_id":"s-1","tool_input":{"a":`, "s-1"},
		"two sessions":            {`{"session_id":"s-1","session_id":"other"}`, ""},
		"named inside":            {`{"tool_input":{"session_id":"other"},"a":1,"a":1}`, ""},
		"5 MB":                    {`{"session_id":"s-1","hook_event_name":"SubagentStart",` + large + `}`, "s-1"},
		"5 MB, named last":        {`{"hook_event_name":"SubagentStart",` + large + `,"session_id":"s-1"}`, "s-1"},
		"5 MB, named inside":      {`{"hook_event_name":"SubagentStart",` + large + `}`, ""},
		"5 MB, two sessions":      {`{"session_id":"s-1",` + large + `,"session_id":"s-2"}`, ""},
		"a name of control bytes": {`{"session_id":"s\u0000\u202e","a":1,"a":2}`, ""},
		"a name without end":      {`{"session_id":"` + strings.Repeat("s", 300_000) + `"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t)
			reply, body := d.do(t,
				call{method: "POST", path: "/adapters/claude-code?event=SubagentStart", body: c.payload,
					header: map[string]string{"Accept": daemonapi.AnswerType}})
			if reply.StatusCode != 200 || !strings.Contains(body, `"exit":2`) || !strings.Contains(body, `"decision":"block"`) {
				t.Errorf("%d %.300s", reply.StatusCode, body)
			}
			if got := strings.Join(d.latched(t), " "); got != c.want {
				t.Errorf("latched %q, want %q", got, c.want)
			}
			if want := `"enforced":"none"`; (c.want == "") != strings.Contains(body, want) {
				t.Errorf("%.300s", body)
			}
			reply, body = d.do(t, call{method: "POST", path: "/adapters/claude-code?event=PreToolUse", body: c.payload})
			if reply.StatusCode != 200 || !strings.Contains(body, `"permissionDecision":"deny"`) {
				t.Errorf("an event that can be blocked: %d %.300s", reply.StatusCode, body)
			}
			if reply, body = d.do(t, call{method: "POST", path: "/v1/invoke", body: c.payload}); reply.StatusCode == 200 {
				t.Errorf("an invocation: %s", body)
			}
			if got := strings.Join(d.latched(t), " "); got != c.want {
				t.Errorf("then latched %q, want %q", got, c.want)
			}
			if st, err := d.host.Status(t.Context()); err != nil || (st.Unheld > 0) != (c.want == "") || !st.Healthy {
				t.Errorf("status %+v, %v", st, err)
			}
		})
	}
}

// A call with 5 MB is refused in the form of its event, which the runtime obeys: no session is held
// for it, unless nothing fits that could stand in the place of the tool's output.
func TestLargeCallsLatchNothing(t *testing.T) {
	large := `"tool_input":{"content":"` + strings.Repeat("a", 5<<20) + `"}`
	for name, c := range map[string]struct{ event, head, tail, answer, want string }{
		"an edit that was made": {"PostToolUse", `"tool_name":"Edit"`, "", `\"updatedToolOutput\":{\"filePath\":\"[withheld`,
			""},
		"a call of a server":   {"PostToolUse", `"tool_name":"mcp__crm__find"`, "", `\"updatedMCPToolOutput\":[`, ""},
		"a file to be written": {"PreToolUse", `"tool_name":"Write"`, "", `\"permissionDecision\":\"deny\"`, ""},
		"a batch":              {"PostToolBatch", `"x":1`, "", `\"decision\":\"block\"`, ""},
		"a tool without a row": {"PostToolUse", `"tool_name":"Skill"`, "", `\"continue\":false`, "s-1"},
		"a tool that is named last": {"PostToolUse", `"x":1`, `,"tool_name":"Edit"`,
			`\"updatedToolOutput\":{\"filePath\":\"[withheld`, ""},
		"no tool":   {"PostToolUse", `"x":1`, "", `\"continue\":false`, "s-1"},
		"two tools": {"PostToolUse", `"tool_name":"Edit"`, `,"tool_name":"Read"`, `\"continue\":false`, "s-1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t)
			reply, body := d.do(t, call{method: "POST", path: "/adapters/claude-code?event=" + c.event,
				body:   `{"session_id":"s-1","hook_event_name":"` + c.event + `",` + c.head + `,` + large + c.tail + `}`,
				header: map[string]string{"Accept": daemonapi.AnswerType}})
			if reply.StatusCode != 200 || !strings.Contains(body, c.answer) || !strings.Contains(body, `"decision":"block"`) {
				t.Errorf("%d %.600s", reply.StatusCode, body)
			}
			if got := strings.Join(d.latched(t), " "); got != c.want {
				t.Errorf("latched %q, want %q", got, c.want)
			}
		})
	}
}

// A body that does not come to its end latches nothing: the network has cut it off.
func TestBodiesCutOffLatchNothing(t *testing.T) {
	d := startDaemon(t, withServer(func(o *server.Options) { o.Body = 200 * time.Millisecond }))
	c, err := net.Dial("unix", d.server.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c,
		"POST /adapters/claude-code?event=SubagentStart HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"session_id\":\"s-1\",")
	b, _ := io.ReadAll(c)
	if !strings.Contains(string(b), "systemMessage") {
		t.Errorf("%s", b)
	}
	if got := d.latched(t); len(got) != 0 {
		t.Errorf("latched %q", got)
	}
}
