package claudecode_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
)

// The settings that people copy register every event in the one form that held: a program
// with its arguments, an absolute path, the state directory, and a block when it fails.
func TestDocumentedSettings(t *testing.T) {
	page := readFile(t, "../../docs/runtimes/claude-code.md")
	_, rest, ok := bytes.Cut(page, []byte("<!-- settings -->\n```json\n"))
	doc, _, ended := bytes.Cut(rest, []byte("```"))
	if !ok || !ended {
		t.Fatal("the page has no settings any more")
	}
	type hook struct {
		Type, Command, OnFailure string
		Args                     []string
		Timeout                  int
	}
	var settings struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []hook
		}
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&settings); err != nil {
		t.Fatal(err)
	}
	for _, event := range claudecode.Events() {
		if _, there := settings.Hooks[event]; there == (event == "WorktreeCreate") {
			t.Errorf("%s: registered %v", event, there)
		}
	}
	wait := claudecode.New().Table().Wait
	for event, entries := range settings.Hooks {
		if !slices.Contains(claudecode.Events(), event) || len(entries) != 1 || len(entries[0].Hooks) != 1 {
			t.Errorf("%s: %+v", event, entries)
			continue
		}
		h := entries[0].Hooks[0]
		args := h.Args
		if h.Type != "command" || !filepath.IsAbs(h.Command) || h.OnFailure != "block" ||
			time.Duration(h.Timeout)*time.Second != wait(event) || len(args) != 6 {
			t.Errorf("%s: %+v", event, h)
			continue
		}
		if want := []string{"--runtime", "claude-code", "--for", event, "--state"}; !slices.Equal(args[:5], want) ||
			!filepath.IsAbs(args[5]) {
			t.Errorf("%s: %q", event, args)
		}
	}
	for _, other := range []string{"../../docs/SERVE.md", "../../README.md", "../../docs/OPERATIONS.md"} {
		if bytes.Contains(readFile(t, other), []byte(`"type": "http"`)) {
			t.Errorf("%s registers a hook over HTTP", other)
		}
	}
}
