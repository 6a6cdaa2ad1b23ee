// Package goldens is what the tests of every adapter do with their testdata: it reads the payloads in there, and holds
// what the adapter makes of each to golden files.
package goldens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// Sample is one payload of testdata.
type Sample struct {
	Name    string // DIRECTORY.FILE, such as captured.PreToolUse.Bash
	Event   string
	Payload []byte
}

// Samples returns every payload of directories of testdata. In events stand written examples, whose input is the
// payload; in others, payloads as a running client sent them. The member, a JSON Pointer, names a payload's event.
func Samples(t testing.TB, member string, dirs ...string) []Sample {
	t.Helper()
	var out []Sample
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no payloads in testdata/%s: %v", dir, err)
		}
		for _, f := range files {
			b := ReadFile(t, f)
			if dir == "events" {
				v, ok := phases.Get(b, "/input")
				if !ok {
					t.Fatalf("%s has no input", f)
				}
				b = v
			}
			event, ok := phases.GetString(b, member)
			if !ok {
				t.Fatalf("%s names no event", f)
			}
			out = append(out, Sample{dir + "." + strings.TrimSuffix(filepath.Base(f), ".json"), event, b})
		}
	}
	return out
}

// PayloadOf returns the payload of that name.
func PayloadOf(t testing.TB, samples []Sample, name string) []byte {
	t.Helper()
	for _, s := range samples {
		if s.Name == name {
			return s.Payload
		}
	}
	t.Fatalf("no sample %s", name)
	return nil
}

// ReadFile returns what a file holds.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
