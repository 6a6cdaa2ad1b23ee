package connect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// Every event is registered once, in the one form that held: a program with its arguments, an
// absolute path, the state directory, and a block when it fails. WorktreeCreate is not: its hook
// has to make the worktree.
func TestEveryEventIsRegistered(t *testing.T) {
	d := disk{}
	plan, err := d.do("claude-code", connect.User, hook(), true)
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct {
				Type, Command, OnFailure string
				Args                     []string
				Timeout                  int
			}
		}
	}
	dec := json.NewDecoder(strings.NewReader(string(plan.Files[0].New)))
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
		if h.Type != "command" || !filepath.IsAbs(h.Command) || h.OnFailure != "block" ||
			time.Duration(h.Timeout)*time.Second != wait(event) ||
			len(h.Args) != 6 {
			t.Errorf("%s: %+v", event, h)
			continue
		}
		if want := []string{"--runtime", "claude-code", "--for", event, "--state"}; !slices.Equal(h.Args[:5], want) ||
			!filepath.IsAbs(h.Args[5]) {
			t.Errorf("%s: %q", event, h.Args)
		}
	}
}

// No page has people register a hook over HTTP.
func TestNoPageRegistersOverHTTP(t *testing.T) {
	for _, page := range []string{"docs/SERVE.md", "README.md", "docs/OPERATIONS.md", "docs/AGENTS.md",
		"docs/runtimes/claude-code.md", "docs/runtimes/codex.md"} {
		src, err := os.ReadFile(filepath.Join("..", "..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(src), `"type": "http"`) {
			t.Errorf("%s registers a hook over HTTP", page)
		}
	}
}
