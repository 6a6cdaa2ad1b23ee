package hookcmd_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// A note names a session as the log may, in at most phases.MaxIDBytes and with
// no control characters, or names none: it never asks for the latch of another
// session's name.
func TestNotesNameSessionsAsRecordsDo(t *testing.T) {
	longest := strings.Repeat("s", phases.MaxIDBytes)
	for name, c := range map[string]struct{ session, noted string }{
		"as long as may be":        {longest, longest},
		"a byte longer":            {longest + "s", ""},
		"far longer":               {strings.Repeat("never", 100_000), ""},
		"a rune over the end":      {longest[1:] + "é", ""},
		"terminal codes":           {"\x1b[31mnever", ""},
		"terminal codes, C1":       {"\u009b31mnever", ""},
		"a line end":               {"s\nnever", ""},
		"a null":                   {"s\x00never", ""},
		"turned around":            {"s\u202enever", ""},
		"letters of other tongues": {"séance-夜", "séance-夜"},
	} {
		t.Run(name, func(t *testing.T) {
			quoted, err := json.Marshal(c.session)
			if err != nil {
				t.Fatal(err)
			}
			for form, in := range map[string]string{
				"whole":     strings.Replace(payload("SessionStart"), `"s-1"`, string(quoted), 1),
				"too large": `{"session_id":` + string(quoted) + `,"x":"` + strings.Repeat("x", hookcmd.MaxInput) + `"}`,
			} {
				dir := stateDir(t)
				daemon(t, dir, ok("text/html", "<p>{}</p>"))
				cmd := hookcmd.Command{
					In: strings.NewReader(in), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" },
					HandOver: func([]string) error { return os.ErrNotExist }, Patience: time.Minute, PayloadPatience: time.Minute,
				}
				if code := cmd.Main(t.Context(),
					[]string{"--runtime", "claude-code", "--for", "SessionStart", "--state", dir}); code != 2 {
					t.Errorf("%s: not blocked: exit %d", form, code)
				}
				path := filepath.Join(dir, notes.SpoolName)
				left, dropped := notes.Read(path)
				if len(left) != 1 || dropped != 0 || left[0].Session != c.noted || left[0].Unblockable != (c.noted != "") {
					t.Errorf("%s: notes %+v, %d dropped", form, left, dropped)
				}
				line, err := os.ReadFile(path)
				if err != nil || len(line) > 2<<10 || strings.Contains(string(line), "never") ||
					strings.ContainsAny(string(line), "\x1b\x00\u009b\u202e") {
					t.Errorf("%s: %v, %.2000q", form, err, line)
				}
			}
		})
	}
}
