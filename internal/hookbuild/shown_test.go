package hookbuild

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shownNames are the files that a reviewer would see, in one line.
func shownNames(t *testing.T, dir string) string {
	t.Helper()
	list, err := ReadShown(dir, 64, 128<<10)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list {
		names = append(names, f.Path)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The source of a hook that was built, in each language: without what the build left behind.
func TestShownSourceOfBuiltHooks(t *testing.T) {
	for lang, want := range map[string]string{
		"rust": "Cargo.lock Cargo.toml README.md belay.yaml cases/programs.yaml invocation.json sdk src/lib.rs",
		"go":   "README.md belay.yaml cases/programs.yaml go.mod invocation.json main.go main_test.go sdk",
	} {
		dir := filepath.Join(t.TempDir(), "hook")
		if err := New(dir, "hook", lang); err != nil {
			t.Fatal(err)
		}
		left := map[string]string{
			"hook.wasm": "\x00asm", "hook.wasm.build.json": "{}", "build/cargo/a.d": strings.Repeat("x", 1<<20),
			"target/debug/b.d": "x", "build/module.wasm": "\x00asm", "node_modules/a/index.js": "x",
		}
		if lang == "rust" {
			left["Cargo.lock"] = "version = 3\n"
		}
		put(t, dir, left)
		if got := shownNames(t, dir); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", lang, got, want)
		}
		// Without a .gitignore it is the same, and a changed file of the SDK is shown.
		if err := os.Remove(filepath.Join(dir, ".gitignore")); err != nil {
			t.Fatal(err)
		}
		put(t, dir, map[string]string{"sdk/README.md": "changed"})
		if got := shownNames(t, dir); got != strings.Replace(want, " sdk", " sdk sdk/README.md", 1) {
			t.Errorf("%s without .gitignore:\ngot  %s\nwant %s", lang, got, want)
		}
	}
}

// ignoreCases are .gitignore files and the files that they leave in, as git has it.
var ignoreCases = []struct {
	name  string
	files map[string]string // ".gitignore" and others
	want  string
}{
	{"nothing", map[string]string{"a": "", "b/c": ""}, "a b/c"},
	{"names at any depth", map[string]string{".gitignore": "secret.txt\n", "secret.txt": "", "a/secret.txt": "",
		"a/b": ""},
		"a/b"},
	{"anchored", map[string]string{".gitignore": "/secret.txt\na/x\n", "secret.txt": "", "a/secret.txt": "", "a/x": "",
		"b/a/x": ""}, "a/secret.txt b/a/x"},
	{"folders only", map[string]string{".gitignore": "out/\n", "out": "", "a/out/x": "", "a/y": ""}, "a/y out"},
	{"comments, blanks, carriage returns", map[string]string{".gitignore": "# a\n\n\\#b\nc \r\nd\\ \n", "a": "", "#b": "",
		"c": "", "d ": "", "d": ""}, "a d"},
	{"stars", map[string]string{".gitignore": "*.log\nx?z\n[ab].t\n", "1.log": "", "s/2.log": "", "xyz": "", "xz": "",
		"a.t": "", "c.t": ""}, "c.t xz"},
	{"two stars", map[string]string{".gitignore": "**/tmp\na/**/z\nq/**\n", "tmp": "", "b/tmp": "", "a/z": "",
		"a/1/2/z": "", "b/z": "", "q/1": ""}, "b/z"},
	{"taken back", map[string]string{".gitignore": "*.txt\n!keep.txt\n", "a.txt": "", "keep.txt": "", "s/keep.txt": ""},
		"keep.txt s/keep.txt"},
	{"the last line wins", map[string]string{".gitignore": "!a.txt\n*.txt\n", "a.txt": "", "b": ""}, "b"},
	{"nothing in a folder that is left out is taken back", map[string]string{".gitignore": "s/\n!s/keep.txt\n",
		"s/keep.txt": "", "a": ""}, "a"},
	{"a folder taken back does not take its files back", map[string]string{".gitignore": "*.env\n!conf/\n!more\n",
		"conf/prod.env": "", "conf/x": "", "more/prod.env": "", "prod.env": ""}, "conf/x"},
	{"a list of what stays", map[string]string{".gitignore": "*\n!*.c\n!src/\n!src/**\n", "a.c": "", "b.h": "",
		"src/x.h": "", "src/deep/y": "", "lib/z.c": ""}, "a.c src/deep/y src/x.h"},
	{"below a folder", map[string]string{".gitignore": "*.t\n", "s/.gitignore": "!keep.t\n/x\n", "keep.t": "",
		"s/keep.t": "", "s/x": "", "s/d/x": "", "x": ""}, "s/d/x s/keep.t x"},
	{"a mark at the front", map[string]string{".gitignore": "\xef\xbb\xbfa\n", "a": "", "b": ""}, "b"},
	{"exclamation marks", map[string]string{".gitignore": "\\!a\n", "!a": "", "a": ""}, "a"},
}

func TestShownSourceGoesByGitignore(t *testing.T) {
	git, err := exec.LookPath("git")
	for _, c := range ignoreCases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.files)
			if got := shownNames(t, dir); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			if git == "" {
				return // the list is git's, and stands without it
			}
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), git, args...)
				cmd.Dir = dir
				cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", args, err, out)
				}
				return string(out)
			}
			run("init", "-q")
			var names []string
			for name := range strings.SplitSeq(run("ls-files", "-z", "-co", "--exclude-standard"), "\x00") {
				if name != "" && !strings.HasSuffix(name, ".gitignore") {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("git says\n     %s\nwant %s", got, c.want)
			}
		})
	}
	if err != nil {
		t.Log("git is not there to compare with")
	}
}

// A hook in a larger repository goes by its .gitignore files, too.
func TestShownSourceGoesByTheWorkTree(t *testing.T) {
	top := t.TempDir()
	put(t, top, map[string]string{
		".git/info/exclude": "notes\n", ".gitignore": "*.key\n/hooks/one/gen\n", "hooks/.gitignore": "one/out\n",
		"hooks/one/a.key": "", "hooks/one/gen/x": "", "hooks/one/out": "", "hooks/one/notes": "", "hooks/one/hook.c": "",
	})
	if got := shownNames(t, filepath.Join(top, "hooks", "one")); got != "hook.c" {
		t.Errorf("got %s", got)
	}
	put(t, top, map[string]string{"hooks/one/.gitignore": "*\n"})
	if _, err := ReadShown(filepath.Join(top, "hooks", "one"), 64, 1024); !errors.Is(err, ErrSource) ||
		!strings.Contains(err.Error(), ".gitignore leaves out all of it") {
		t.Errorf("got %v", err)
	}
	// One that cannot be read is an error: what it leaves out is not known.
	if err := os.Remove(filepath.Join(top, "hooks", ".gitignore")); err != nil {
		t.Fatal(err)
	}
	put(t, top, map[string]string{"hooks/.gitignore/x": ""})
	if _, err := ReadShown(filepath.Join(top, "hooks", "one"), 64, 1024); !errors.Is(err, ErrSource) {
		t.Errorf("got %v", err)
	}
}

func TestShownSourceIsBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // of the names, or of the error
	}{
		{"what is no text", map[string]string{"a.c": "x", "b.bin": "a\x00b", "c.bin": "\xff" + strings.Repeat("x", 9000)},
			"a.c"},
		{"a text that is too large", map[string]string{"a.c": "x", "big.json": strings.Repeat("ä", 4000)},
			"big.json alone is more than 4 KiB"},
		{"too many", map[string]string{"a": "1", "b": "22", "c": "333", "d": "4444", "e": ""},
			"more than 4 files or 4 KiB; .gitignore leaves files out, and so does a folder with less in it " +
				"(the largest are d, 4 bytes; c, 3 bytes; b, 2 bytes)"},
		{"nothing", map[string]string{"a.wasm": ""}, "there are no text files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.files)
			list, err := ReadShown(dir, 4, 4<<10)
			got := ""
			if err != nil {
				got = err.Error()
			}
			for _, f := range list {
				got += f.Path
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
