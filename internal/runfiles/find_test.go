package runfiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/runfiles"
	"github.com/belay-hooks/belay/phases"
)

// project makes a project with these files; a text of "-> X" is a link to X.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func call(t *testing.T, dir string, args map[string]any) *phases.Invocation {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"tool": "exec", "args": args})
	if err != nil {
		t.Fatal(err)
	}
	return &phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s", CWD: dir, Action: raw}
}

// of is what is told of files that this process sees.
func of(t testing.TB, inv *phases.Invocation) []runfiles.File {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return runfiles.Of(t.Context(), inv, runfiles.From{Source: filesource.System{}, Home: home, Temp: os.TempDir()})
}

// What a command runs is found behind each program that runs files, and what these run in turn.
func TestFilesThatRun(t *testing.T) {
	dir := project(t, map[string]string{
		"a.sh": "echo a\n", "sub/b.sh": "echo b\n", "outer.sh": "./a.sh\nbash sub/b.sh\n", "loop.sh": "bash loop.sh\n",
		"p.py": "print(1)\n", "tool": "#!/usr/bin/env python3\nprint(2)\n", "built": "\x7fELF\x00\x01",
		"pkg/__main__.py": "main()\n",
		"Makefile":        "X := $(HOME)/x\nall: one\n\techo all\none:\n\t@echo $(X) $$y\nclean:\n\trm -rf bin\n",
		"package.json":    `{"scripts":{"pretest":"echo pre","test":"npm run unit","unit":"jest","clean":"rm -rf dist"}}`,
		"fix.patch":       "--- a/x\n+++ b/x\n", "jobs": "@daily echo\n", "list": "x\ny\n", "l.sh": "-> a.sh",
		"out.sh": "-> /etc/passwd",
	})
	file := func(path, kind, text string) string { return path + " " + kind + " " + text }
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"ls", nil},
		{"bash a.sh", []string{file("a.sh", "shell", "echo a\n")}},
		{"bash -x -o pipefail a.sh one two", []string{file("a.sh", "shell", "echo a\n")}},
		{"bash -c 'ls' a.sh", nil},
		{"sudo -E sh ./a.sh; . ./a.sh", []string{file("a.sh", "shell", "echo a\n")}},
		{"cd sub && bash b.sh", []string{file("sub/b.sh", "shell", "echo b\n")}},
		{"./outer.sh", []string{file("outer.sh", "shell", "./a.sh\nbash sub/b.sh\n"), file("a.sh", "shell", "echo a\n"),
			file("sub/b.sh", "shell", "echo b\n")}},
		{"bash loop.sh", []string{file("loop.sh", "shell", "bash loop.sh\n")}},
		{"bash l.sh", []string{file("l.sh", "shell", "echo a\n")}},
		{"bash out.sh; bash gone.sh; ./built; bash /etc/profile", nil},
		{"bash < a.sh; cat sub/b.sh | sh",
			[]string{file("a.sh", "shell", "echo a\n"), file("sub/b.sh", "shell", "echo b\n")}},
		{`bash -c "$(cat a.sh)"`, []string{file("a.sh", "shell", "echo a\n")}},
		{"python3 -u p.py x", []string{file("p.py", "code", "print(1)\n")}},
		{"python3 -m pkg", []string{file("pkg/__main__.py", "code", "main()\n")}},
		{"python3 -c 'print(1)' p.py; uv run python p.py", []string{file("p.py", "code", "print(1)\n")}},
		{"./tool", []string{file("tool", "code", "#!/usr/bin/env python3\nprint(2)\n")}},
		{"make", []string{file("Makefile", "shell", "echo all\necho $HOME/x $y\n")}},
		{"make -j4 clean", []string{file("Makefile", "shell", "rm -rf bin\n")}},
		{"npm test", []string{file("package.json", "shell", "echo pre\nnpm run unit\njest\n"),
			file("package.json", "shell", "jest\n")}},
		{"npm ci", nil},
		{"git apply --stat fix.patch", []string{file("fix.patch", "patch", "--- a/x\n+++ b/x\n")}},
		{"patch -p1 < fix.patch; patch -p1 -i fix.patch", []string{file("fix.patch", "patch", "--- a/x\n+++ b/x\n")}},
		{"crontab jobs", []string{file("jobs", "cron", "@daily echo\n")}},
		{"at -f a.sh now", []string{file("a.sh", "shell", "echo a\n")}},
		{"xargs rm < list", []string{file("list", "names", "x\ny\n")}},
		{"ssh host bash a.sh", nil},
	} {
		var got []string
		for _, f := range of(t, call(t, dir, map[string]any{"command": c.command})) {
			if !strings.HasPrefix(f.Digest, "sha256:") || f.Why != "" {
				t.Errorf("%s: %+v", c.command, f)
			}
			got = append(got, file(f.Path, f.Kind, f.Text))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.command, got, c.want)
		}
	}
	if got := of(t, call(t, dir, map[string]any{"cmd": []string{"bash", "a.sh"}})); len(got) != 1 {
		t.Errorf("a command of words: %+v", got)
	}
	post := call(t, dir, map[string]any{"command": "bash a.sh"})
	post.Phase = phases.PostTool
	if got := of(t, post); got != nil {
		t.Errorf("after the call: %+v", got)
	}
}

// A file that cannot be told whole is told as such, and the sum of what is told stays below what the
// metadata of a call may have.
func TestRunsAreBounded(t *testing.T) {
	files := map[string]string{
		"long.sh":  strings.Repeat("echo this is a long script\n", 2000) + "rm ~/.claude/settings.json\n",
		"names.sh": strings.Repeat("bash half.sh\n", 5000), "half.sh": "#" + strings.Repeat("x", 20<<10) + "\n",
		"half2.sh": "#" + strings.Repeat("y", 20<<10) + "\n", "half3.sh": "echo " + strings.Repeat("z", 20<<10) + "\n",
		"huge.sh": strings.Repeat("echo xx\n", 17<<17), "built": "\x00" + strings.Repeat("x", 17<<20),
		"bundle.js": strings.Repeat("let a = 1;\n", 1<<19) + "x('.claude/settings.json')\n",
	}
	many := ""
	for i := range 40 {
		name := "many" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ".sh"
		files[name] = "echo\n"
		many += "bash " + name + "\n"
	}
	files["many.sh"] = many
	dir := project(t, files)
	told := func(command string) []runfiles.File {
		list := of(t, call(t, dir, map[string]any{"command": command}))
		raw, err := json.Marshal(list)
		if err != nil || len(raw) > 56<<10 {
			t.Errorf("%s: %d bytes, %v", command, len(raw), err)
		}
		return list
	}
	if l := told("bash long.sh"); len(l) != 1 || l[0].Kind != "code" ||
		!strings.Contains(l[0].Text, "rm ~/.claude/settings.json") {
		t.Errorf("a long script: %+v", l)
	}
	if l := told("node bundle.js"); len(l) != 1 || l[0].Kind != "code" || !strings.Contains(l[0].Text, "settings.json") {
		t.Errorf("a long program: %+v", l)
	}
	if l := told("bash half.sh; bash half2.sh; bash half3.sh"); len(l) != 3 || l[2].Why == "" || l[2].Text != "" {
		t.Errorf("three scripts: %+v", l)
	}
	if l := told("bash huge.sh"); len(l) != 1 || l[0].Why != "it is too long" {
		t.Errorf("a huge script: %+v", l)
	}
	if l := told("./built"); len(l) != 0 {
		t.Errorf("a program that was built: %+v", l)
	}
	if l := told("bash many.sh"); len(l) != 17 || l[16].Why == "" {
		t.Errorf("many scripts: %d", len(l))
	}
}

// A script that is run by scripts, more deeply than is looked, is told as one that cannot be judged.
func TestDeepScriptsAreNotForgotten(t *testing.T) {
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("s%d.sh", i)] = fmt.Sprintf("bash s%d.sh\n", i+1)
	}
	list := of(t, call(t, project(t, files), map[string]any{"command": "bash s0.sh"}))
	if last := list[len(list)-1]; len(list) != 6 || last.Path != "s5.sh" || last.Why == "" || last.Text != "" {
		t.Errorf("%+v", list)
	}
}

// Whatever lies in a file, what is told of it is text, bounded, and names the file.
func FuzzOf(f *testing.F) {
	for _, s := range []string{
		"all: x\n\techo $(HOME)\nx:\n\t@rm y\n", `{"scripts":{"test":"npm run test"}}`, "--- a/x\n+++ b/x\n", "bash f\n",
		"\x00", "é\xff",
		"define x\nendef\n%.o: %.c\n\tcc $<\n", `{"scripts":{"a":1,"a":2}}`, "!rm x\n", strings.Repeat("belay ", 4096),
	} {
		for _, c := range []string{"bash f", "make -f f", "python3 f", "git apply f", "npm test", "crontab f", "xargs rm < f",
			"./f"} {
			f.Add(c, s)
		}
	}
	f.Fuzz(func(t *testing.T, command, text string) {
		dir := project(t, map[string]string{"f": text, "package.json": text})
		inv := call(t, dir, map[string]any{})
		raw, err := json.Marshal(map[string]any{"tool": "exec",
			"args": map[string]any{"command": strings.ToValidUTF8(command, "?")}})
		if err != nil {
			t.Skip(err)
		}
		inv.Action = raw
		list := of(t, inv)
		told, err := json.Marshal(list)
		if err != nil || len(told) > 64<<10-4<<10 && len(list) < 4 {
			t.Fatalf("%d bytes: %v", len(told), err)
		}
		for _, file := range list {
			if file.Path == "" || file.Kind == "" || file.Text != "" && file.Why != "" {
				t.Errorf("%+v", file)
			}
		}
	})
}
