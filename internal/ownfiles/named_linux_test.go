package ownfiles

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/cursor"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/openclaw"
	interceptors "github.com/belay-hooks/belay/adapters/openclaw-interceptors"
	"github.com/belay-hooks/belay/adapters/opencode"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

// What a program reads without being told its name is told where the call runs that program, and what a script or a
// skill runs is told after it. After a call nothing is told as a script: the payload holds what the call has printed.
func TestFilesThatNeedNotBeNamed(t *testing.T) {
	w := newWorld(t, map[string]string{"~/p/Makefile": "all:", "~/p/package.json": "{}", "~/p/justfile": "all:",
		"~/p/pkg/__main__.py": "main", "~/p/a.sh": "sh b.sh", "~/p/b.sh": "echo", "~/.claude/skills/s/SKILL.md": "!`sh c.sh`",
		"~/p/c.sh": "of a skill"})
	for command, told := range map[string]string{"make -j4": "Makefile", "cmake .": "", "/usr/bin/gmake": "Makefile",
		"npm test": "package.json", "just all": "justfile", "python3 -m pkg": "pkg/__main__.py", "ls": ""} {
		for _, name := range []string{"Makefile", "package.json", "justfile", "pkg/__main__.py"} {
			got := read(w.teller(w.commands(command), nil), files.Script, w.at("~/p/"+name))
			if (got != "(untold)") != (name == told) {
				t.Errorf("%s: %s: %q", command, name, got)
			}
		}
	}
	r := w.teller(w.commands("sh a.sh"), nil)
	for _, c := range []struct {
		purpose    files.Purpose
		path, want string
	}{{files.Script, "~/p/b.sh", "(untold)"}, {files.Script, "~/p/a.sh", "sh b.sh"}, {files.Script, "~/p/b.sh", "echo"},
		{files.Script, "~/p/c.sh", "(untold)"}, {files.Skill, "~/.claude/skills/s/SKILL.md", "!`sh c.sh`"},
		{files.Script, "~/p/c.sh", "of a skill"}} {
		if got := read(r, c.purpose, w.at(c.path)); got != c.want {
			t.Errorf("%s: %q", c.path, got)
		}
	}
	after := w.event(map[string]any{"hook_event_name": "PostToolUse", "tool_response": "a.sh b.sh"})
	if got := read(w.teller(after, nil), files.Script, w.at("~/p/a.sh")); got != "(untold)" {
		t.Errorf("after a call: %q", got)
	}
}

// Of each runtime the events count before which commands have not run, and no others.
func TestEventsBeforeCalls(t *testing.T) {
	list, err := filepath.Glob("../../adapters/*/testdata/events/*.json")
	if err != nil || len(list) < 100 {
		t.Fatalf("%d events, %v", len(list), err)
	}
	all := []adapters.Adapter{claudecode.New(), codex.New(), cursor.New(), geminicli.New(), opencode.New(), openclaw.New(),
		interceptors.New()}
	before := 0
	for _, at := range list {
		src, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Runtime string         `json:"runtime"`
			Input   jsontext.Value `json:"input"`
			Rest    jsontext.Value `json:",inline"`
		}
		if err := json.Unmarshal(src, &e); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		i := slices.IndexFunc(all, func(a adapters.Adapter) bool { return a.Runtime() == e.Runtime })
		if i < 0 {
			t.Fatalf("%s: no runtime %q", at, e.Runtime)
		}
		ev, err := all[i].Decode(e.Input, adapters.Options{})
		if err != nil {
			continue // it is refused without a look
		}
		want := ev.Name == "UserPromptExpansion" || slices.ContainsFunc(ev.Steps, func(s adapters.Step) bool {
			return s.Invocation.Phase == phases.PreTool
		})
		q := (&world{t: t}).frame(daemonapi.FrameEvent, daemonapi.AppendEvent(nil, e.Runtime, "", e.Input))
		if got := ruleOf(q, func(string) string { return "" }).calls; got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
		if want {
			before++
		}
	}
	if before < 15 {
		t.Errorf("only %d events are before calls", before)
	}
}
