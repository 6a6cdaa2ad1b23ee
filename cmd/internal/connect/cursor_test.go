package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

const cursorUser = "/home/dev/.cursor/hooks.json"

// What leaves a hook of Cursor's open is told of.
func TestCursorEntries(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	for name, c := range map[string]struct {
		spoil func(d disk)
		want  connect.Severity
		text  string
	}{
		"as connected": {func(disk) {}, connect.OK, ""},
		"open on a failure": {replace(cursorUser, `"failClosed": true`, `"failClosed": false`),
			connect.Warn, "has no failClosed"},
		"a short time": {replace(cursorUser, `"timeout": 30`, `"timeout": 3`),
			connect.Warn, "stops waiting after less"},
		"an event is missing": {replace(cursorUser, `--for preToolUse`, `--for preToolUse2`),
			connect.Warn, "it says that it is for"},
		"one tool alone": {replace(cursorUser, `"type": "command"`, `"type": "command", "matcher": "Shell"`),
			connect.Warn, "is asked about Shell only"},
		"another hook": {func(d disk) {
			d["/src/app/.cursor/hooks.json"] = []byte(`{"version":1,"hooks":{"preToolUse":[{"command":"x"}]}}`)
		}, connect.Warn, "has other hooks on preToolUse"},
	} {
		d := disk{}
		_, err := d.do("cursor", connect.User, h, true)
		must(t, err)
		c.spoil(d)
		found := connect.Examine("cursor", place(), h.State, d.read)
		told := false
		for _, f := range found {
			told = told || f.Severity == c.want && strings.Contains(f.Text+f.Advice, c.text)
		}
		if !told {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// What others have in hooks.json stays byte for byte, and a file that belay began is gone again.
func TestCursorFileComesBack(t *testing.T) {
	for _, src := range []string{"", `{"version": 1, "hooks": {"stop": [{"command": "./x"}]}, "more": true}`} {
		d := disk{}
		if src != "" {
			d[cursorUser] = []byte(src)
		}
		_, err := d.do("cursor", connect.User, hook(), true)
		must(t, err)
		if got := string(d[cursorUser]); !strings.Contains(got, "--for preToolUse") ||
			!strings.Contains(got, `"version": 1`) {
			t.Errorf("connected: %s", got)
		}
		_, err = d.do("cursor", connect.User, hook(), false)
		must(t, err)
		if got := string(d[cursorUser]); got != src {
			t.Errorf("%q, not %q", got, src)
		}
	}
}
