package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

const alicesLog = "/home/alice/.claude/projects/p/s-1.jsonl"

// logged is a line of a log with a call and one with its result.
func logged(id string) string {
	return `{"type":"assistant","sessionId":"s-1","timestamp":"2099-01-01T00:00:00Z","message":{"content":[` +
		`{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"echo a"}}]}}` + "\n" +
		`{"type":"user","sessionId":"s-1","message":{"content":[{"type":"tool_result","tool_use_id":"` + id +
		`","content":"x"}]}}` + "\n"
}

// A tenant's log is compared while the question is open that names it, through the caller. What the caller does not
// tell is no agreement, and the daemon reads no log by itself.
func TestTenantsLogIsCompared(t *testing.T) {
	d, dial := asCaller(t)
	alice := &home{t: t, files: map[string]string{alicesLog: logged("a")}}
	event := func(name, log, more string, tells daemonapi.Teller) {
		t.Helper()
		payload := `{"session_id":"s-1","transcript_path":"` + log + `","cwd":"/home/alice/p","permission_mode":"default",` +
			`"hook_event_name":"` + name + `"` + more + `}`
		q := daemonapi.AppendEvent(nil, "claude-code", "", []byte(payload))
		if _, body, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameEvent, tells2(tells), string(q)),
			tells); err != nil || strings.Contains(string(body), "deny") {
			t.Fatalf("%s, %v", body, err)
		}
	}
	compared := func(n int, decision, holds string) {
		t.Helper()
		list, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventReconcile, Limit: 10})
		if err != nil || len(list) != n {
			t.Fatalf("%d comparisons, %v: %s", len(list), err, d.log)
		}
		if e := list[n-1]; e.Decision != decision || e.Session != "s-1" ||
			!strings.Contains(string(e.Output)+e.Reason, holds) {
			t.Errorf("%s %s: %s", e.Decision, e.Reason, e.Output)
		}
	}
	event("PreToolUse", alicesLog, `,"tool_name":"Bash","tool_input":{"command":"echo a"},"tool_use_id":"a"`, alice)
	event("SessionEnd", alicesLog, `,"reason":"other"`, alice)
	compared(1, "agrees", "")
	for _, r := range alice.reads {
		if r.For != files.Transcript {
			t.Errorf("%+v", r)
		}
	}
	alice.files[alicesLog] += logged("off")
	event("SessionStart", alicesLog, `,"source":"resume"`, alice)
	compared(2, "differs", `"call":"off"`)
	agent := strings.TrimSuffix(alicesLog, ".jsonl") + "/subagents/agent-x.jsonl"
	alice.files[agent] = strings.ReplaceAll(
		logged("by-agent"),
		`"sessionId":"s-1"`,
		`"sessionId":"s-1","agentId":"x","isSidechain":true`,
	)
	event("SessionEnd", alicesLog, `,"reason":"other"`, alice)
	compared(3, "differs", `"call":"by-agent"`)
	delete(alice.files, agent)

	event("SessionEnd", alicesLog, `,"reason":"other"`, daemonapi.LookFunc(alice.Look))
	compared(4, "unknown", "does not tell")
	event("SessionStart", alicesLog, `,"source":"resume"`, daemonapi.LookFunc(alice.Look))
	compared(4, "unknown", "does not tell")
	event("SessionEnd", "/etc/passwd", `,"reason":"other"`, alice)
	compared(5, "unknown", "cannot be read")
	alice.files[alicesLog] = strings.Repeat("x", 64<<20+1)
	event("SessionEnd", alicesLog, `,"reason":"other"`, alice)
	compared(6, "unknown", "too large")
	delete(alice.files, alicesLog)
	event("SessionEnd", alicesLog, `,"reason":"other"`, alice)
	compared(7, "unknown", "cannot be read")
}

// What became of a call whose result belay was not told of stands in the tenant's transcript: the end of it is read
// through the caller, also of a long one.
func TestTenantsTranscriptTellsOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		log     string
		links   bool // the caller tells of links alone
		unknown int
	}{
		"stopped by the person": {`"[Request interrupted by user for tool use]"`, false, 0},
		"read by the model":     {`"x"`, false, 1},
		"not told":              {`"[Request interrupted by user for tool use]"`, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d, dial := asCaller(t)
			log := strings.Repeat(`{"type":"summary","summary":"`+strings.Repeat("x", 1000)+`"}`+"\n", 5<<10) +
				strings.ReplaceAll(logged("a"), `"content":"x"`, `"content":`+c.log)
			alice := &home{t: t, files: map[string]string{alicesLog: log}}
			var tells daemonapi.Teller = alice
			if c.links {
				tells = daemonapi.LookFunc(alice.Look)
			}
			for _, event := range []string{`"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo a"},"tool_use_id":"a"`,
				`"UserPromptSubmit","prompt":"go on"`} {
				q := daemonapi.AppendEvent(nil, "claude-code", "", []byte(`{"session_id":"s-1","cwd":"/home/alice/p",`+
					`"transcript_path":"`+alicesLog+`","permission_mode":"default","hook_event_name":`+event+`}`))
				if _, _, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameEvent, tells2(tells), string(q)),
					tells); err != nil {
					t.Fatal(err)
				}
			}
			list, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventMismatch, Limit: 10})
			if err != nil || len(list) != c.unknown {
				t.Errorf("%d calls whose result was not decided, %v", len(list), err)
			}
			read := 0
			for _, r := range alice.reads {
				read += r.Length
			}
			if !c.links && (read == 0 || read > 6<<20) {
				t.Errorf("%d bytes are read of %d", read, len(log))
			}
		})
	}
}

// slowLog tells of everything but the log in time.
type slowLog struct{ *home }

func (s slowLog) Read(r daemonapi.Read) daemonapi.Content {
	if r.For == files.Transcript {
		time.Sleep(lateRead)
	}
	return s.home.Read(r)
}

// lateRead is longer than the daemon waits for one read.
const lateRead = 1200 * time.Millisecond

// A caller who does not tell of a log, behind the decision, has not misled that: the comparison alone says it.
func TestALogThatIsNotToldIsNoLieAboutTheQuestion(t *testing.T) {
	d, dial := asCaller(t)
	q := daemonapi.AppendEvent(nil, "claude-code", "", []byte(`{"session_id":"s-1","transcript_path":"`+alicesLog+
		`","cwd":"/home/alice/p","permission_mode":"default","hook_event_name":"SessionEnd","reason":"other"}`))
	if _, body, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameEvent, tells, string(q)),
		slowLog{&home{t: t, files: map[string]string{alicesLog: logged("a")}}}); err != nil {
		t.Fatalf("%s, %v", body, err)
	}
	if list, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventReconcile, Limit: 10}); err != nil ||
		len(list) != 1 || list[0].Decision != "unknown" {
		t.Fatalf("%+v, %v", list, err)
	}
	d.accesses(t, 0)
}
