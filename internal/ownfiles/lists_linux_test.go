package ownfiles

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// Which names are told.
func TestLists(t *testing.T) {
	w := newWorld(t, tree())
	w.put("~/p/.claude/skills/loop", "-> ~/p/.claude/skills")
	r := w.teller(w.commands("ls"), nil)
	for pattern, want := range map[string][]string{
		"~/.claude/skills/*/SKILL.md": {"~/.claude/skills/a/SKILL.md", "~/.claude/skills/b/SKILL.md",
			"~/.claude/skills/c/SKILL.md"},
		"~/.claude/commands/x/*.md":                       {"~/.claude/commands/x/y.md"},
		"~/p/*/.claude/skills/*/SKILL.md":                 {"~/p/lib/.claude/skills/l/SKILL.md"},
		"~/p/*/*/.claude/skills/l/SKILL.md":               {},
		"/.claude/agents/*.md":                            {},
		"/etc/claude-code/managed-settings.d/*.json":      {},
		"~/.claude/plugins/*/pl/commands/c.md":            {"~/.claude/plugins/m/pl/commands/c.md"},
		"~/.ssh/*":                                        nil,
		"~/.claude/*":                                     nil,
		"~/.claude/plugins/*/*/*.json":                    nil, // finds what is no skill
		"~/*/*.md":                                        {},
		"~/*/*/skills/*/SKILL.md":                         nil,
		"~/q/.claude/skills/*/SKILL.md":                   nil,
		"/*/*/SKILL.md":                                   {},
		"~/p/\\.\\./q/.claude/skills/*/SKILL.md":          nil,
		"~/.claude/skills/\\.\\./*/SKILL.md":              nil,
		"/etc/*.md":                                       nil,
		"~/p/.claude/skills/loop/loop/loop/loop/SKILL.md": {},
	} {
		n := r.List(daemonapi.List{For: files.Skill, Pattern: w.at(pattern)})
		for i := range n.Paths {
			n.Paths[i] = strings.Replace(n.Paths[i], w.home, "~", 1)
		}
		if n.Told != (want != nil) || !slices.Equal(n.Paths, want) {
			t.Errorf("%s: %v %v, want %v", pattern, n.Told, n.Paths, want)
		}
	}
	for pattern, want := range map[string]int{"~/.claude/projects/p/s/subagents/agent-*.jsonl": 2, "~/.claude/projects/p/*.jsonl": -1} {
		if n := r.List(daemonapi.List{For: files.Transcript, Pattern: w.at(pattern)}); n.Told != (want >= 0) ||
			n.Told && len(n.Paths) != want {
			t.Errorf("%s: %+v", pattern, n)
		}
	}
	for _, p := range []files.Purpose{files.Script, files.Settings} {
		if n := r.List(daemonapi.List{For: p, Pattern: w.at("~/.claude/skills/*/SKILL.md")}); n.Told {
			t.Errorf("%d: %+v", p, n)
		}
	}
	for i := range 9 { // names of a directory, of which none matches
		w.put("~/p/sub/n"+string(rune('a'+i)), "")
	}
	r.entries = 40
	if n := r.List(daemonapi.List{For: files.Skill, Pattern: w.at("~/p/sub/x*/SKILL.md")}); !n.Told {
		t.Errorf("a directory that is not too large: %+v", n)
	}
	r.entries = 12
	if n := r.List(daemonapi.List{For: files.Skill, Pattern: w.at("~/p/sub/x*/SKILL.md")}); n.Told {
		t.Errorf("a directory that is too large: %+v", n)
	}
}

// Pipes, devices, directories and files that cannot be read keep no daemon waiting and tell nothing. Of a huge file as
// much is told as is asked for.
func TestOddFiles(t *testing.T) {
	w := newWorld(t, tree())
	w.put("~/p/none.sh", "x")
	huge := w.at("~/p/huge.sh")
	if err := errors.Join(syscall.Mkfifo(w.at("~/p/pipe.sh"), 0o600), os.WriteFile(huge, []byte("begins"), 0o600),
		os.Truncate(huge, 10<<30), os.Symlink("loop.sh", w.at("~/p/loop.sh")), os.Chmod(w.at("~/p/none.sh"), 0),
		os.Symlink("/dev/zero", w.at("~/p/zero.sh"))); err != nil {
		t.Fatal(err)
	}
	r := w.teller(w.commands("sh pipe.sh huge.sh loop.sh none.sh zero.sh run.sh"), nil)
	for name, want := range map[string]string{"pipe.sh": "(no file)", "loop.sh": "(untold)", "zero.sh": "(untold)",
		"none.sh": "(untold)"} {
		if got := read(r, files.Script, w.at("~/p/"+name)); got != want && !(name == "none.sh" && os.Geteuid() == 0) {
			t.Errorf("%s: %q", name, got)
		}
	}
	start := r.Read(daemonapi.Read{For: files.Script, Again: true, Length: 6, Path: huge})
	end := r.Read(daemonapi.Read{For: files.Script, Offset: 10<<30 - 2, Length: 100, Path: huge})
	if start.Size != 10<<30 || string(start.Data) != "begins" || end.Size != start.Size || string(end.Data) != "\x00\x00" {
		t.Errorf("%d %q, %d %q", start.Size, start.Data, end.Size, end.Data)
	}
	// Without opening it anew only the file that is open is told.
	other := daemonapi.Read{For: files.Script, Length: 6, Path: w.at("~/p/run.sh")}
	if c := r.Read(other); c.State != daemonapi.ContentUnknown {
		t.Errorf("%+v", c)
	}
	other.Path, other.For = huge, files.Skill
	if c := r.Read(other); c.State != daemonapi.ContentUnknown {
		t.Errorf("%+v", c)
	}
	if err := os.Truncate(huge, 3); err != nil {
		t.Fatal(err)
	}
	if c := r.Read(daemonapi.Read{For: files.Script, Length: 6, Path: huge}); c.State != daemonapi.ContentUnknown {
		t.Errorf("a file that became shorter: %+v", c)
	}
	for told := 0; told <= maxTold+daemonapi.MaxRead; told += daemonapi.MaxRead {
		r.told += daemonapi.MaxRead // as if it had been read
	}
	if got := read(r, files.Script, w.at("~/p/run.sh")); got != "(untold)" {
		t.Errorf("without end: %q", got)
	}
}
