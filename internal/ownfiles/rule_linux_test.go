package ownfiles

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// Each row is a request of a daemon, its purpose and the answer.
func TestRule(t *testing.T) {
	w := newWorld(t, tree())
	question := w.commands(
		"sh run.sh; ./in.sh; sh out.sh diary.sh; . .env; python3 -m sub.deep; sh up/id_ed25519; sh ../q/run.sh; sh sub; make",
	)
	for _, c := range []struct {
		purpose files.Purpose
		path    string
		want    string
	}{
		{files.Script, "~/p/run.sh", "run"},
		{files.Script, "~/p/in.sh", "run"},
		{files.Script, "~/p/sub/deep.py", "deep"},
		{files.Script, "~/p/.env", "KEY=1"}, // the call runs it
		{files.Script, "~/p/Makefile", "all:"},
		{files.Script, "~/p/package.json", "(untold)"},
		{files.Script, "~/p/sub", "(no file)"},
		{files.Script, "~/p/other.sh", "(untold)"}, // the call does not say it
		{files.Script, "~/p/out.sh", "(untold)"},   // a link out of the project
		{files.Script, "~/p/diary.sh", "(untold)"},
		{files.Script, "~/p/up/id_ed25519", "(untold)"},
		{files.Script, "~/.ssh/id_ed25519", "(untold)"},
		{files.Script, "~/q/run.sh", "(untold)"},
		{files.Script, "~/.bashrc", "(untold)"},
		{files.Script, "/etc/passwd", "(untold)"},
		{files.Script, "/proc/self/environ", "(untold)"},
		{files.Script, "~/.claude/settings.json", "(untold)"},
		{files.Settings, "~/.claude/settings.json", "{}"},
		{files.Settings, "~/p/.claude/settings.local.json", "{1}"},
		{files.Settings, "~/p/.claude/settings.json", "(untold)"}, // a project's link to keys
		{files.Settings, "~/.aws/settings.json", "(untold)"},
		{files.Settings, "~/.claude/.credentials.json", "(untold)"},
		{files.Settings, "~/p/run.sh", "(untold)"},
		{files.Settings, "/etc/claude-code/managed-settings.json", "(absent)"},
		{files.Skill, "~/.claude/skills/a/SKILL.md", "skill"},
		{files.Skill, "~/.claude/skills/b/SKILL.md", "skill b"},  // the person's own link
		{files.Skill, "~/.claude/skills/c/SKILL.md", "(untold)"}, // to a file of another name
		{files.Skill, "~/.claude/skills/a/notes.txt", "(untold)"},
		{files.Skill, "~/.claude/commands/x/y.md", "command"},
		{files.Skill, "~/.claude/commands/key.md", "(untold)"},
		{files.Skill, "~/.claude/agents/z.md", "agent"},
		{files.Skill, "~/.claude/plugins/m/pl/commands/c.md", "plugin"},
		{files.Skill, "~/.claude/plugins/m/pl/config.json", "(untold)"},
		{files.Skill, "~/.claude/history.jsonl", "(untold)"},
		{files.Skill, "~/p/.claude/skills/s/SKILL.md", "skill"}, // a link to what would be told by its name
		{files.Skill, "~/p/.claude/commands/d.md", "(untold)"},
		{files.Skill, "~/p/.claude/skills/k/SKILL.md", "(untold)"},
		{files.Skill, "~/p/.claude/skills/o/SKILL.md", "(untold)"},
		{files.Skill, "~/p/lib/.claude/skills/l/SKILL.md", "below"},
		{files.Skill, "~/q/.claude/skills/q/SKILL.md", "(untold)"},
		{files.Skill, "~/p/run.sh", "(untold)"},
		{files.Transcript, "~/.claude/projects/p/s.jsonl", "log"},
		{files.Transcript, "~/.claude/projects/p/s/subagents/agent-1.jsonl", "agent log"},
		{files.Transcript, "~/.claude/projects/p/s/subagents/agent-2.jsonl", "(untold)"},
		{files.Transcript, "~/.claude/projects/p/other.jsonl", "(untold)"},
		{files.Transcript, "~/.ssh/id_ed25519", "(untold)"},
	} {
		if got := read(w.teller(question, nil), c.purpose, w.at(c.path)); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.purpose, c.path, got, c.want)
		}
	}
	everything := w.teller(question, nil)
	_ = filepath.WalkDir(w.home, func(at string, _ os.DirEntry, err error) error {
		for p := files.Script; p <= files.Transcript+1; p++ {
			if got := read(everything, p, at); strings.HasPrefix(got, "secret") {
				t.Errorf("%d %s: %q", p, at, got)
			}
		}
		return err
	})
}

// Whichever directory a payload names, no key and no set-up of the person is told with it.
func TestProjects(t *testing.T) {
	w := newWorld(t, tree())
	w.put("~/.cursor/worktrees/x/.git", "gitdir: y")
	w.put("~/.cursor/worktrees/x/run.sh", "worktree")
	w.put("~/.cursor/mcp.json", "secret")
	w.put("~/run.sh", "in the home")
	w.put("~/.ssh/repo/.git/HEAD", "x")
	w.put("~/.ssh/repo/run.sh", "secret")
	w.put("~/link", "-> ~/p")
	const names = "sh id_ed25519 .bashrc mcp.json run.sh environ settings.json .credentials.json"
	for _, c := range []struct{ cwd, path, want string }{
		{"~", "~/run.sh", "in the home"},
		{"~", "~/p/run.sh", "run"},
		{"~", "~/.bashrc", "(untold)"},
		{"~", "~/.ssh/id_ed25519", "(untold)"},
		{"~", "~/.claude/.credentials.json", "(untold)"},
		{"~/.ssh", "~/.ssh/id_ed25519", "(untold)"},
		{"~/.ssh/repo", "~/.ssh/repo/run.sh", "(untold)"},
		{"~/.cursor", "~/.cursor/mcp.json", "(untold)"},
		{"~/.cursor/worktrees/x", "~/.cursor/worktrees/x/run.sh", "worktree"},
		{"~/.cursor/worktrees/x", "~/.cursor/mcp.json", "(untold)"},
		{"~/p/sub", "~/p/run.sh", "run"}, // of the repository around it
		{"~/link", "~/link/run.sh", "run"},
		{"~/..", "~/p/run.sh", "(untold)"},
		{"/", "~/p/run.sh", "(untold)"},
		{"/", "/proc/self/environ", "(untold)"},
		{"/proc/self", "/proc/self/environ", "(untold)"},
		{"p", "~/p/run.sh", "(untold)"},
		{"", "~/p/run.sh", "(untold)"},
		{"~/none", "~/p/run.sh", "(untold)"},
	} {
		q := w.event(map[string]any{"cwd": w.at(c.cwd), "tool_input": map[string]string{"command": names}})
		if got := read(w.teller(q, nil), files.Script, w.at(c.path)); got != c.want {
			t.Errorf("in %s: %s: %q, want %q", c.cwd, c.path, got, c.want)
		}
	}
	// An environment that names another home opens nothing: the system knows the one that counts, too. Here the test's own
	// user has none of these files, so that the rule is shown with the home that it would find.
	r := w.teller(
		w.commands("sh id_ed25519"),
		map[string]string{"HOME": "/nonexistent", "CLAUDE_CONFIG_DIR": w.at("~/.ssh")},
	)
	for p := files.Script; p <= files.Transcript; p++ {
		if got := read(r, p, w.at("~/.ssh/id_ed25519")); got != "(untold)" {
			t.Errorf("%d: %q", p, got)
		}
	}
}

// A payload that cannot be read names nothing, and an invocation of a program names neither settings nor transcripts.
func TestQuestionsThatNameNothing(t *testing.T) {
	w := newWorld(t, tree())
	invocation := w.frame(daemonapi.FrameInvoke, []byte(`{"phase":"pre_tool","runtime":"claude-code","transcript_path":"`+
		w.at(
			"~/.claude/projects/p/s.jsonl",
		)+`","cwd":"`+w.at("~/p")+`","action":{"tool":"exec","args":{"command":"sh run.sh"}}}`))
	if got := read(w.teller(invocation, nil), files.Script, w.at("~/p/run.sh")); got != "run" {
		t.Errorf("%q", got)
	}
	questions := map[string][]byte{"an invocation": invocation, "nothing": nil,
		"two directories": w.frame(
			daemonapi.FrameEvent,
			daemonapi.AppendEvent(nil, claudeCode, "", []byte(`{"cwd":"/","cwd":"`+
				w.at("~/p")+`","x":"run.sh"}`)),
		),
		"another runtime": w.frame(daemonapi.FrameEvent, daemonapi.AppendEvent(nil, "codex", "", []byte(`{"cwd":"/"}`)))}
	for name, q := range questions {
		r := w.teller(q, nil)
		for p := files.Script; p <= files.Transcript; p++ {
			if got := read(r, p, w.at("~/.claude/settings.json")); got != "(untold)" {
				t.Errorf("%s, %d: %q", name, p, got)
			}
			if n := r.List(daemonapi.List{For: p, Pattern: w.at("~/.claude/skills/*/SKILL.md")}); n.Told {
				t.Errorf("%s, %d: %v", name, p, n)
			}
		}
		if got := read(r, files.Transcript, w.at("~/.claude/projects/p/s.jsonl")); got != "(untold)" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Where temporary files lie, only the user's own are told.
func TestTemporaryFiles(t *testing.T) {
	w := newWorld(t, nil)
	dir := filepath.Dir(filepath.Dir(w.home))
	own := filepath.Join(dir, "own.sh")
	if err := os.WriteFile(own, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.teller(w.commands("sh own.sh passwd"), nil)
	if got := read(r, files.Script, own); got != "(untold)" {
		t.Errorf("outside: %q", got)
	}
	r.ruled().temps = []string{dir, "/etc"}
	if got := read(r, files.Script, own); got != "own" {
		t.Errorf("own: %q", got)
	}
	foreign := filepath.Join(dir, "passwd")
	if os.Geteuid() == 0 {
		if err := errors.Join(os.WriteFile(foreign, []byte("x"), 0o644), os.Chown(foreign, 4242, 4242)); err != nil {
			t.Fatal(err)
		}
	} else {
		foreign = "/etc/passwd"
	}
	if got := read(r, files.Script, foreign); got != "(untold)" {
		t.Errorf("of another user: %q", got)
	}
}
