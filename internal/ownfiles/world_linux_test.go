package ownfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// world is a home with files. Those that begin with "secret" are never told.
type world struct {
	t    *testing.T
	home string
}

// newWorld makes a home with these files; a text of "-> X" is a link to X, where ~ stands for the home.
func newWorld(t *testing.T, tree map[string]string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, filepath.Join(dir, "home", "alice")}
	for name, text := range tree {
		w.put(name, text)
	}
	return w
}

func (w *world) put(name, text string) {
	w.t.Helper()
	at := w.at(name)
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	switch target, link := strings.CutPrefix(text, "-> "); {
	case err != nil:
	case link:
		err = os.Symlink(w.at(target), at)
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(at, 0o700)
	default:
		err = os.WriteFile(at, []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) at(name string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok {
		return w.home + rest
	}
	return name
}

// event is a question of Claude Code with these members beside the usual ones.
func (w *world) event(members map[string]any) []byte {
	w.t.Helper()
	p := map[string]any{"session_id": "s", "hook_event_name": "PreToolUse", "cwd": w.at("~/p"),
		"transcript_path": w.at("~/.claude/projects/p/s.jsonl")}
	for k, v := range members {
		p[k] = v
	}
	b, err := json.Marshal(p)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.frame(daemonapi.FrameEvent, daemonapi.AppendEvent(nil, claudeCode, "", b))
}

func (w *world) frame(kind daemonapi.FrameKind, body []byte) []byte {
	q := daemonapi.AppendHeader(nil, daemonapi.Header{Kind: kind, Length: len(body)})
	q = append(q, body...)
	daemonapi.TellsFiles(q)
	return q
}

func (w *world) commands(command string) []byte {
	return w.event(map[string]any{"tool_input": map[string]string{"command": command}})
}

// teller answers for a question. Where temporary files lie is no part of this world, which lies there itself.
func (w *world) teller(question []byte, env map[string]string) *Teller {
	t := New(question, func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		return map[string]string{"HOME": w.home}[name]
	})
	t.ruled().temps = nil
	w.t.Cleanup(t.Close)
	return t
}

// read is what is told of a file: its text, or how it is not told.
func read(t *Teller, p files.Purpose, path string) string {
	switch c := t.Read(daemonapi.Read{For: p, Again: true, Length: daemonapi.MaxRead, Path: path}); c.State {
	case daemonapi.ContentFile:
		return string(c.Data)
	case daemonapi.ContentAbsent:
		return "(absent)"
	case daemonapi.ContentOther:
		return "(no file)"
	default:
		return "(untold)"
	}
}

// tree is a home as people have it, with what must not be told.
func tree() map[string]string {
	return map[string]string{
		"~/p/.git/HEAD": "ref", "~/p/run.sh": "run", "~/p/sub/deep.py": "deep", "~/p/.env": "KEY=1", "~/p/Makefile": "all:",
		"~/p/other.sh": "other", "~/p/in.sh": "-> ~/p/run.sh", "~/p/out.sh": "-> ~/.ssh/id_ed25519",
		"~/p/diary.sh": "-> ~/diary.txt", "~/p/up": "-> ~/.ssh", "~/.ssh/id_ed25519": "secret key", "~/.ssh/config": "secret",
		"~/.bashrc": "secret", "~/diary.txt": "secret diary", "~/q/run.sh": "secret of another project",
		"~/.claude/settings.json": "{}", "~/.claude/skills/a/SKILL.md": "skill",
		"~/.claude/skills/b":          "-> ~/.agents/skills/b",
		"~/.agents/skills/b/SKILL.md": "skill b", "~/.claude/skills/c/SKILL.md": "-> ~/diary.txt",
		"~/.claude/commands/x/y.md": "command", "~/.claude/agents/z.md": "agent",
		"~/.claude/.credentials.json": "secret token",
		"~/.claude/commands/key.md":   "-> ~/.ssh/id_ed25519", "~/.claude/history.jsonl": "secret history",
		"~/.claude/plugins/m/pl/commands/c.md": "plugin", "~/.claude/plugins/m/pl/config.json": "secret",
		"~/.claude/skills/a/notes.txt": "secret", "~/p/.claude/settings.json": "-> ~/.aws/settings.json",
		"~/p/.claude/settings.local.json": "{1}", "~/p/.claude/skills/s/SKILL.md": "-> ~/.claude/skills/a/SKILL.md",
		"~/p/.claude/commands/d.md": "-> ~/diary.txt", "~/p/.claude/skills/k/SKILL.md": "-> ~/.ssh/skills/k/SKILL.md",
		"~/p/.claude/skills/o/SKILL.md": "-> ~/o/skills/o/SKILL.md", "~/o/skills/o/SKILL.md": "secret",
		"~/.ssh/skills/k/SKILL.md": "secret", "~/.aws/settings.json": "secret", "~/p/lib/.claude/skills/l/SKILL.md": "below",
		"~/q/.claude/skills/q/SKILL.md": "secret of another project",
		"~/.claude/projects/p/s.jsonl":  "log", "~/.claude/projects/p/s/subagents/agent-1.jsonl": "agent log",
		"~/.claude/projects/p/s/subagents/agent-2.jsonl": "-> ~/.ssh/id_ed25519",
		"~/.claude/projects/p/other.jsonl":               "secret log",
	}
}
