package dispatch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Hooks are told what a settings file holds when a session begins and when it changes: hooks,
// environment, plugins and what names belay count, and permissions do not.
func TestSettingsAreTold(t *testing.T) {
	project := t.TempDir()
	file := filepath.Join(project, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	tell := func(event, more string) string {
		var told string
		h := &host{invoke: func(inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
			list := inv.Metadata["settings"]
			for i := range 4 {
				at := phases.Join("", string(rune('0'+i)))
				if p, _ := phases.GetString(list, at+"/path"); p == file {
					told, _ = phases.GetString(list, at+"/counts")
				}
			}
			return allow(inv, o)
		}}
		payload := []byte(`{"session_id":"s-1","transcript_path":"/none/projects/x/s.jsonl","cwd":"` + project +
			`","hook_event_name":"` + event + `"` + more + `}`)
		told = "not told"
		dispatch.Runtime(t.Context(), h, claudecode.New(), payload, adapters.Options{})
		return told
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := `,"source":"project_settings","file_path":"` + file + `"`
	if got := tell("ConfigChange", change); got != "" {
		t.Errorf("a file that is not there: %q", got)
	}
	write(`{"hooks":{"PreToolUse":[1]},"permissions":{"allow":["Bash(ls)"]},"env":{"A":"b"}}`)
	start := tell("SessionStart", `,"source":"startup"`)
	if start == "" || start == "not told" || start == "unreadable" {
		t.Fatalf("at the start: %q", start)
	}
	for text, same := range map[string]bool{
		`{"permissions":{"allow":["Bash(ls)","Bash(npm test)"]},"env":{"A":"b"},"hooks":{"PreToolUse":[ 1 ]},"model":"x"}`: true,
		`{"hooks":{"PreToolUse":[2]},"env":{"A":"b"}}`:                                                                     false,
		`{"hooks":{"PreToolUse":[1]},"env":{"A":"c"}}`:                                                                     false,
		`{"hooks":{"PreToolUse":[1]},"env":{"A":"b"},"disableAllHooks":true}`:                                              false,
		`{"hooks":{"PreToolUse":[1]},"env":{"A":"b"},"disableAllHooks":false}`:                                             true,
		`{"hooks":{"PreToolUse":[1]},"env":{"A":"b"},"enabledPlugins":{"x":true}}`:                                         false,
		`{"hooks":{"PreToolUse":[1]},"env":{"A":"b"},"permissions":{"deny":["x/Belay"]}}`:                                  false,
		`{"hooks":{"PreToolUse":[1]},"env":{"A":"b"},"hooks":{}}`:                                                          false,
		`{"hooks":`: false,
		`{}`:        false,
	} {
		write(text)
		if got := tell("ConfigChange", change); (got == start) != same || got == "not told" {
			t.Errorf("%s: %q, at the start %q", text, got, start)
		}
	}
	if got := tell("UserPromptSubmit", `,"prompt":"hi"`); got != "not told" {
		t.Errorf("a message is told %q", got)
	}
}

// toldOf returns what hooks are told of a settings file when it changes.
func toldOf(t *testing.T, file string) (told string) {
	t.Helper()
	h := &host{invoke: func(inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
		told, _ = phases.GetString(inv.Metadata["settings"], "/0/counts")
		return allow(inv, o)
	}}
	payload := []byte(`{"session_id":"s-1","transcript_path":"/none/projects/x/s.jsonl","cwd":"/",` +
		`"hook_event_name":"ConfigChange","source":"project_settings","file_path":"` + file + `"}`)
	dispatch.Runtime(t.Context(), h, claudecode.New(), payload, adapters.Options{})
	return told
}
