package belay_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A secret that is the name of something is not recorded as that name: runtime,
// session, agent, run, user, tool, server, member, event. One session stays one session.
func TestNamesOnRecordHoldNoSecret(t *testing.T) {
	token := "ghp_" + someChars(t, 36, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "belay.yaml"), guarded+"events:\n  sinks:\n    - jsonl: {path: "+dir+
		"/out/events.jsonl}\n")
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	host := open(t, dir, belay.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	named := func(phase, action string) phases.Invocation {
		inv, err := phases.DecodeInvocation(
			[]byte(strings.ReplaceAll(`{"phase":"`+phase+
				`","runtime":"T","session":"T","agent":"T","run":"T","user":"T","cwd":"/T","action":`+action+`}`, "T", token)))
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	wire := []phases.Invocation{
		named("pre_tool", `{"tool":"T","call_id":"T","args":{"T":{"T":1}}}`),
		named("pre_tool", `{"tool":"mcp__T__T","call_id":"T","args":{}}`),
		named("pre_tool", `{"tool":"exec","call_id":"T","args":{"command":"git push"}}`),
		named("pre_send", `{"provider":"T","model":"T","messages":[],"headers":{"T":"x"}}`),
		named("state_transition", `{"machine":"T","from":"T","to":"T","data":{}}`),
		named("spawn", `{"parent":"T","child":{"agent":"T","prompt":"x"}}`),
		named("audit", `{"kind":"T","data":{"T":"T"}}`),
	}
	for _, inv := range wire {
		if v, _ := host.Invoke(t.Context(), inv); v.Event == nil {
			t.Fatalf("%s: %+v", inv.Phase, v)
		}
	}
	escapes := strings.Repeat("\x1b[31m", 200_000) + token
	for _, fault := range []*phases.Fault{nil, phases.NewFault(phases.KindProtocol, "unknown event "+escapes, nil)} {
		_, _ = host.Refuse(t.Context(), kernel.Refusal{Raw: []byte(escapes), Fault: fault, Unblockable: true,
			Invocation: phases.Invocation{Phase: phases.Phase(token), Runtime: token, Session: token, Agent: escapes,
				User: token, Run: escapes}})
	}
	latches, err := host.Latches(t.Context())
	if err != nil || len(latches) != 1 {
		t.Fatalf("%+v %v", latches, err)
	}
	if v, _ := host.Invoke(t.Context(), wire[0]); v.Decision != phases.Block || v.Enforced != phases.EnforcedLatched {
		t.Errorf("a session with another name than its latch: %+v", v)
	}
	if err := os.Rename(filepath.Join(dir, "out"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	_, _ = host.Invoke(t.Context(), wire[0])
	_, _ = host.Refuse(t.Context(),
		kernel.Refusal{Fault: phases.NewFault(phases.KindProtocol, "unknown event "+token, nil),
			Invocation: phases.Invocation{Session: token}})
	if err := belay.Spool(dir,
		kernel.Refusal{Fault: phases.NewFault(phases.KindProtocol, "unknown event "+token, nil),
			Invocation: phases.Invocation{Session: token}}); err != nil {
		t.Fatal(err)
	}
	if content(t, filepath.Join(dir, "spool.jsonl")) == "" {
		t.Error("nothing in the spool")
	}
	for _, f := range traces(t, dir, token) {
		t.Error(f)
	}
	if health, err := host.Status(t.Context()); err != nil || strings.Contains(fmt.Sprint(health), token) {
		t.Errorf("%+v %v", health, err)
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	_, _ = host.Invoke(t.Context(), wire[1])
	host.Close()
	for _, f := range traces(t, dir, token) {
		t.Error("afterwards: " + f)
	}
	if got := log.String(); strings.Contains(got, token) || strings.Contains(got, "\x1b") {
		t.Error("in the log: " + got[:min(len(got), 2000)])
	}
}
