package sink

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever stands where the events should go: either it becomes the events, all
// of them, or it is refused and left as it is. No foreign line is lost.
func FuzzFile(f *testing.F) {
	src := &source{}
	for range 4 {
		src.add(10)
	}
	text := src.text()
	for _, s := range []string{"", text, text[:60], text[:len(text)-3], text + "\x00\x00", text + `{"seq":5}` + "\n",
		`{"seq":1}` + "\n", `{"level":"info"}` + "\n", "\n", "\n\n", "{", strings.Replace(text, "x", "y", 1)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, before []byte) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		err := follow(t, src, Options{Path: path})
		after := read(t, path)
		switch {
		case err != nil && !errors.Is(err, ErrForeign):
			t.Fatalf("error without class: %v", err)
		case err != nil && after != string(before):
			t.Fatalf("%q was refused and made into %q", before, after)
		case err == nil && after != text:
			t.Fatalf("%q was made into %q", before, after)
		case err == nil && !isStart(text, string(before)):
			t.Fatalf("%q was taken for the start of the log", before)
		}
	})
}

// isStart says that the first line is the log's own, as far as it was written:
// a crash leaves zeros for the rest.
func isStart(text, before string) bool {
	for i := range len(before) {
		if i < len(text) && before[i] == '\n' && text[i] == '\n' {
			return true
		}
		if before[i] != 0 && (i >= len(text) || before[i] != text[i]) {
			return false
		}
	}
	return true
}
