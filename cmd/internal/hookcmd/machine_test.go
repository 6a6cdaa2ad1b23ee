package hookcmd_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
)

// On a machine in system mode nothing stands in for its daemon: an event is blocked while that is away, also where a
// state directory of the user would decide. With a state directory named, belay finds out whether that counts.
func TestMachine(t *testing.T) {
	const payload = `{"session_id":"s","transcript_path":"/t","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash",` +
		`"tool_input":{"command":"ls"},"tool_use_id":"t"}`
	for name, c := range map[string]struct {
		args   []string
		home   string
		handed bool
	}{
		"nothing named": {[]string{"--runtime", "claude-code"}, "", false},
		"--state":       {[]string{"--runtime", "claude-code", "--state", t.TempDir()}, "", true},
		"BELAY_HOME":    {[]string{"--runtime", "claude-code"}, t.TempDir(), true},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			handed := false
			code := hookcmd.Command{In: strings.NewReader(payload), Out: &out, Err: &errs,
				SystemMode: func() bool { return true },
				Getenv:     func(v string) string { return map[string]string{"BELAY_HOME": c.home, "HOME": t.TempDir()}[v] },
				HandOver: func([]string) error {
					handed = true
					return errors.New("not in this test")
				}}.Main(t.Context(), c.args)
			if handed != c.handed {
				t.Errorf("handed over: %v", handed)
			}
			if code != 2 || !strings.Contains(out.String(), `"permissionDecision":"deny"`) {
				t.Errorf("exit %d: %s %s", code, out.String(), errs.String())
			}
			if !c.handed && !strings.Contains(out.String(), "`belay system status` says whom to call") {
				t.Errorf("the person is not told what to do: %s", out.String())
			}
		})
	}
}
