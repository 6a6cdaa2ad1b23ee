package connect_test

import (
	"errors"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// No file makes connecting panic, or write what cannot be read, or what disconnecting does not take
// out again.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{"", "{}", "{\n  \"hooks\": {\"PreToolUse\": [], \"Stop\": [{\"hooks\": [{}]}]}\n}\n",
		"a = 1 # belay connect\n", "[features]\nx = 1\n\n[hooks.state.\"k\"]\ntrusted_hash = \"h\"",
		"# belay connect\n[features]\nhooks = true\nx = 2",
		"x = \"\"\"\n# belay connect\n[features]\nhooks = true\n\"\"\"\n", "\n# belay connect\n[[hooks.Stop]]\n"} {
		f.Add([]byte(s))
	}
	files := []struct {
		runtime string
		level   connect.Level
		path    string
	}{
		{"claude-code", connect.Managed, "/image/etc/claude-code/managed-settings.json"},
		{"codex", connect.User, "/home/dev/.codex/hooks.json"},
		{"codex", connect.User, "/home/dev/.codex/config.toml"},
		{"codex", connect.Managed, "/image/etc/codex/requirements.toml"},
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, file := range files {
			d := disk{file.path: src}
			connect.Examine(file.runtime, place(), "/x", d.read)
			bare := disk{file.path: src}
			if _, err := bare.do(file.runtime, file.level, hook(), false); err != nil {
				classed(t, err)
				continue
			}
			if _, err := d.do(file.runtime, file.level, hook(), true); err != nil {
				classed(t, err)
				continue
			}
			plan, err := d.do(file.runtime, file.level, hook(), true)
			if err != nil || plan.Changes() {
				t.Fatalf("%s: connecting %q twice: %v", file.path, src, err)
			}
			if _, err := d.do(file.runtime, file.level, hook(), false); err != nil {
				t.Fatalf("%s: what was written over %q cannot be taken out: %v", file.path, src, err)
			}
			if string(bare[file.path]) == string(src) && string(d[file.path]) != string(src) {
				t.Fatalf("%s: %q became %q", file.path, src, d[file.path])
			}
		}
	})
}

func classed(t *testing.T, err error) {
	t.Helper()
	for _, class := range []error{connect.ErrConflict, connect.ErrUsage, jsonedit.ErrInvalid, jsonedit.ErrShape} {
		if errors.Is(err, class) {
			return
		}
	}
	t.Fatalf("an error without class: %v", err)
}
