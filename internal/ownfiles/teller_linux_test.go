package ownfiles

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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

// Whatever links a tree has, nothing is told that lies outside of what the rule names.
func TestNoLinkLeadsOut(t *testing.T) {
	told := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(20260301, seed))
		w := newWorld(t, map[string]string{"~/p/.git/x": "fine", "~/p/n0": "fine", "~/.ssh/n1": "secret", "~/o/n2": "secret"})
		dirs, all := []string{"~/p", "~/.ssh", "~/o", "~"}, []string{"~/p/n0", "~/.ssh/n1", "~/o/n2"}
		for i := range 30 {
			dir := dirs[rng.IntN(len(dirs))]
			at := dir + "/n" + string(rune('a'+i%26)) + string(rune('0'+i/26))
			secret := "secret"
			if real, err := filepath.EvalSymlinks(w.at(dir)); err == nil && inAny([]string{w.at("~/p")}, real) {
				secret = "fine"
			}
			switch rng.IntN(4) {
			case 0:
				if os.MkdirAll(w.at(at), 0o700) == nil {
					dirs = append(dirs, at)
				}
			case 1:
				_ = os.WriteFile(w.at(at), []byte(secret), 0o600)
			default:
				target := w.at(all[rng.IntN(len(all))])
				if rng.IntN(2) == 0 {
					target = w.at(dirs[rng.IntN(len(dirs))])
				}
				if rel, err := filepath.Rel(w.at(dir), target); err == nil && rng.IntN(2) == 0 {
					target = rel
				}
				_ = os.Symlink(target, w.at(at))
				dirs = append(dirs, at)
			}
			all = append(all, at)
		}
		var names []string
		for _, a := range all {
			names = append(names, filepath.Base(a))
		}
		r := w.teller(w.commands(strings.Join(names, " ")), nil)
		for _, d := range dirs {
			for _, n := range names {
				got := read(r, files.Script, filepath.Join(w.at(d), n))
				if got == "secret" {
					t.Fatalf("seed %d: %s/%s", seed, d, n)
				}
				if got == "fine" {
					told++
				}
			}
		}
	}
	if told < 100 {
		t.Errorf("only %d reads were told: the property shows nothing", told)
	}
}

// A directory or a file that is swapped with a link while it is looked at does not lead out either.
func TestSwappedLinks(t *testing.T) {
	w := newWorld(t, map[string]string{"~/p/d/run.sh": "fine", "~/p/run.sh": "fine", "~/.ssh/run.sh": "secret",
		"~/p/d.link": "-> ~/.ssh", "~/p/run.sh.link": "-> ~/.ssh/run.sh"})
	swap := func(a, b string) {
		_ = syscall.Rename(w.at(a), w.at(a)+".x")
		_ = syscall.Rename(w.at(b), w.at(a))
		_ = syscall.Rename(w.at(a)+".x", w.at(b))
	}
	stop := make(chan bool)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				swap("~/p/d", "~/p/d.link")
				swap("~/p/run.sh", "~/p/run.sh.link")
			}
		}
	})
	r := w.teller(w.commands("sh run.sh"), nil)
	fine := 0
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		for _, at := range []string{"~/p/d/run.sh", "~/p/run.sh"} {
			switch read(r, files.Script, w.at(at)) {
			case "secret":
				t.Fatalf("%s was told", at)
			case "fine":
				fine++
			}
		}
	}
	close(stop)
	done.Wait()
	if fine == 0 {
		t.Error("nothing was told at all")
	}
}

// A name counts where it stands as a word of its own.
func TestSays(t *testing.T) {
	for text, want := range map[string]bool{
		"sh .env": true, "./.env": true, ". .env;": true, ".env": true, "sh .env.": true, `"X/.env"`: true, "<.env": true,
		"process.env": false, ".env.local": false, "x.env": false, ".environ": false, "-.env": false, "": false,
		".env-old":            false,
		"process.env sh .env": true, "é.env": false,
	} {
		if got := says([]byte(text), ".env", ".-"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
