package hookcmd_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/notes"
)

// A payload that cannot be read asks for the latch of the one session that it names at its
// top, and for none when it names none, two, or was cut off: then its bytes are strict up to
// their end.
func TestUnreadPayloadsHoldTheirOwnSession(t *testing.T) {
	start := `{"session_id":"s-1","hook_event_name":"SubagentStart","agent_id":"a","agent_type":"t"}`
	large := `"tool_input":{"session_id":"s-2","content":"` + strings.Repeat(`\"session_id\":\"s-2\",`, 250_000) + `"}`
	for name, c := range map[string]struct {
		in      io.Reader
		session string
		latches bool
	}{
		"too large": {strings.NewReader(`{"session_id":"s-1","hook_event_name":"SubagentStart",` + large +
			`}`), "s-1", true},
		"too large, named last": {strings.NewReader(`{"hook_event_name":"SubagentStart",` + large +
			`,"session_id":"s-1"}`), "s-1", true},
		"too large, two sessions": {strings.NewReader(`{"session_id":"s-1",` + large + `,"session_id":"s-2"}`), "", false},
		"too large, named inside": {strings.NewReader(`{"hook_event_name":"SubagentStart",` + large + `}`), "", false},
		"too large, garbage":      {strings.NewReader(strings.Repeat("garbage ", hookcmd.MaxInput/7)), "", false},
		"too large, and then cut": {io.MultiReader(strings.NewReader(`{"session_id":"s-1",`+large), brokenReader{}), "s-1",
			true},
		"cut off": {io.MultiReader(
			strings.NewReader(`{"session_id":"s-1","hook_event_name":"SubagentStart",`), brokenReader{}), "s-1", false},
		"ended":           {strings.NewReader(start[:len(start)-1]), "s-1", false},
		"ended in a name": {strings.NewReader(start[:30]), "s-1", false},
		"ended in a letter": {strings.NewReader(`{"session_id":"s-1","hook_event_name":"SubagentStart","x":"` +
			"\xc3"), "s-1", false},
		"ended behind a fault": {strings.NewReader(`{"session_id":"s-1","hook_event_name":"SubagentStart","x":01,"y":"`),
			"s-1", true},
		"ended behind a doubling":  {strings.NewReader(`{"session_id":"s-1","x":1,"x":2,"y":"`), "s-1", true},
		"ended behind no text":     {strings.NewReader(`{"session_id":"s-1","x":"` + "\xff" + `","y":"`), "s-1", true},
		"more than a payload":      {strings.NewReader(start + start[:9]), "s-1", true},
		"empty":                    {strings.NewReader(" \n"), "", false},
		"too large, no valid name": {strings.NewReader(`{"session_id":"s\u0000",` + large + `}`), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			daemon(t, dir, ok("text/html", "<p>{}</p>")) // it answers nothing that counts
			// A busy machine takes longer than 200 ms to read 5 MB, and an unread payload names no session.
			r := runPatiently(t, dir, c.in, hookcmd.PayloadPatience, "--runtime", "claude-code", "--for", "SubagentStart")
			if r.code != 2 || r.err == "" {
				t.Errorf("not blocked: %+v", r)
			}
			left, _ := notes.Read(filepath.Join(dir, notes.SpoolName))
			if len(left) != 1 || left[0].Session != c.session || left[0].Unblockable != c.latches {
				t.Errorf("notes %+v", left)
			}
		})
	}
}

// A call of 5 MB is refused in its tool's own form wherever the tool's name stands, and holds no session.
func TestLargeCallIsRefusedWithoutALatch(t *testing.T) {
	large := `"tool_input":{"content":"` + strings.Repeat(`\"tool_name\":\"X\",`, 250_000) + `"}`
	for name, payload := range map[string]string{
		"named first": `{"session_id":"s-1","hook_event_name":"PostToolUse","tool_name":"Edit",` + large + `}`,
		"named last":  `{` + large + `,"tool_name":"Edit","hook_event_name":"PostToolUse","session_id":"s-1"}`,
	} {
		dir := stateDir(t)
		daemon(t, dir, ok("text/html", "<p>{}</p>"))
		r := runPatiently(t, dir, strings.NewReader(payload), hookcmd.PayloadPatience, "--runtime", "claude-code", "--for",
			"PostToolUse")
		if r.code != 0 || !strings.Contains(r.out, "withheld by belay") || strings.Contains(r.out, `"continue":false`) {
			t.Errorf("%s: %+v", name, r)
		}
		left, _ := notes.Read(filepath.Join(dir, notes.SpoolName))
		if len(left) != 1 || left[0].Session != "s-1" || left[0].Unblockable {
			t.Errorf("%s: notes %+v", name, left)
		}
	}
}
