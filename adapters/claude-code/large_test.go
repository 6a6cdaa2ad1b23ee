package claudecode_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
)

// A payload that is too large to keep is refused in its own event's and tool's form, wherever the names
// of both stand in it: such an edit holds no session.
func TestOrderOfALargePayloadMakesNoDifference(t *testing.T) {
	content := strings.Repeat(`\"tool_name\":\"Monitor\",`, 400)
	for tool, latches := range map[string]bool{"Edit": false, "Write": false, "Bash": false, "mcp__a__b": false,
		"Unheard": true, "": true} {
		rapid.Check(t, func(t *rapid.T) {
			members := []string{`"session_id":"s-1"`, `"hook_event_name":"PostToolUse"`, `"cwd":"/p"`,
				`"tool_name":"` + tool + `"`, `"tool_input":{"tool_name":"Unheard","content":"` + content + `"}`}
			b := []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), ",") + "}")
			a := claudecode.New()
			opts := adapters.Options{Scan: adapters.ScanFor(a), MaxBytes: 2 << 10}
			_, _ = opts.Scan.Write(b)
			ans := a.Failure(b[:opts.Limit()+1], opts, &adapters.PayloadError{Class: adapters.ErrTooLarge,
				Event: "PostToolUse", Reason: "too large"})
			if (ans.Latch != "") != latches || ans.Session != "s-1" {
				t.Fatalf("%s latches %q, session %q", tool, ans.Latch, ans.Session)
			}
			if out := string(ans.Stdout); !latches && !strings.Contains(out, "withheld by belay") {
				t.Fatalf("%s: %s", tool, out)
			}
		})
	}
}

// The same for a change of settings that cannot be refused, and is held by the session instead.
func TestLargeChangeOfManagedSettingsLatches(t *testing.T) {
	a := claudecode.New()
	for source, latches := range map[string]bool{"policy_settings": true, "user_settings": false} {
		b := []byte(`{"file_path":"` + strings.Repeat("x", 5<<20) + `","session_id":"s-1","hook_event_name":"ConfigChange",` +
			`"source":"` + source + `"}`)
		opts := adapters.Options{Scan: adapters.ScanFor(a)}
		_, _ = opts.Scan.Write(b)
		if ans := a.Failure(b[:1<<20], opts, nil); (ans.Latch != "") != latches || ans.Session != "s-1" || ans.Exit != 2 {
			t.Errorf("%s: %+v", source, ans)
		}
	}
}
