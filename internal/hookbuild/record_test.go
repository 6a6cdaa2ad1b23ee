package hookbuild

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// put writes files and the folders that they stand in.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatAModuleIsBuiltFrom(t *testing.T) {
	common := map[string]string{
		"belay.yaml": testSource, "README.md": "", "invocation.json": "{}", "cases/one.yaml": "", "t.wasm": "",
		"t.wasm.sigstore.json": "{}", "t.wasm.build.json": "{}", "build/x.c": "", "build/x.rs": "", "target/x.rs": "",
		"node_modules/a/index.ts": "", ".git/config": "", ".git/x.go": "", ".hidden.c": "",
	}
	for _, c := range []struct {
		name, lang string
		files      map[string]string
		want       string
	}{
		{"c", "c", map[string]string{"hook.c": "#include \"belay.h\"\n#include <string.h>\n", "sdk/belay.h": "", "a.wat": ""},
			"belay.yaml hook.c sdk/belay.h"},
		{"c that includes data", "c", map[string]string{"hook.c": "# include \"table.inc\"\n", "table.inc": ""},
			"belay.yaml hook.c invocation.json table.inc"},
		{"c that embeds data", "c", map[string]string{"hook.c": "#embed <x.bin>\n", "x.bin": ""},
			"belay.yaml hook.c invocation.json x.bin"},
		{"go", "go", map[string]string{"main.go": "", "main_test.go": "", "go.mod": "module x\n", "go.sum": "",
			"sdk/x.go": "", "testdata/y.go": "", "data.txt": ""}, "belay.yaml go.mod go.sum main.go sdk/x.go"},
		{"go that embeds data", "go", map[string]string{"main.go": "//go:embed data.txt\n", "go.mod": "module x\n",
			"data.txt": ""}, "belay.yaml data.txt go.mod invocation.json main.go"},
		{"rust", "rust", map[string]string{"src/lib.rs": "", "Cargo.toml": "", "Cargo.lock": "", "tests/a.rs": "",
			"rust-toolchain.toml": "", ".cargo/config.toml": "", "data.txt": ""},
			".cargo/config.toml Cargo.lock Cargo.toml belay.yaml rust-toolchain.toml src/lib.rs"},
		{"rust that includes data", "rust", map[string]string{"src/lib.rs": `include_str!("../data.txt")`,
			"Cargo.toml": "", "data.txt": ""}, "Cargo.toml belay.yaml data.txt invocation.json src/lib.rs"},
		{"rust with a build script", "rust", map[string]string{"build.rs": "", "Cargo.toml": "", "data.txt": ""},
			"Cargo.toml belay.yaml build.rs data.txt invocation.json"},
		{"wat", "wat", map[string]string{"hook.wat": "", "main.go": ""}, "belay.yaml hook.wat"},
		{"assemblyscript", "assemblyscript", map[string]string{"assembly/index.ts": "", "asconfig.json": "{}",
			"package.json": "{}", "data.txt": ""}, "asconfig.json assembly/index.ts belay.yaml package.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, common)
			put(t, dir, c.files)
			list, err := inputs(dir, c.lang)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range list {
				names = append(names, f.Path)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A module is also built from the crates and modules beside its folder.
func TestInputsBesideAHook(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{
		"go/belay.yaml": testSource, "go/main.go": "",
		"go/go.mod": "module x\nrequire y v1.0.0\nrequire z v1.0.0\nrequire w v1.0.0\nreplace y => ../y\n" +
			"replace z => ./z\nreplace w => " + filepath.ToSlash(filepath.Join(root, "w")) + "\n",
		"w/go.mod": "module w\n", "w/w.go": "",
		"go/z/go.mod": "module z\n", "y/go.mod": "module y\n", "y/y.go": "", "y/notes.txt": "",
		"rs/belay.yaml": testSource, "rs/src/lib.rs": "", "rs/Cargo.toml": `one = { path = "../one" }`,
		"one/Cargo.toml": "", "one/src/lib.rs": "", "one/tests/t.rs": "",
	})
	for lang, want := range map[string]string{
		"go": "../w/go.mod ../w/w.go ../y/go.mod ../y/y.go belay.yaml go.mod main.go z/go.mod",
		"rs": "../one/Cargo.toml ../one/src/lib.rs Cargo.toml belay.yaml src/lib.rs",
	} {
		list, err := inputs(filepath.Join(root, lang), map[string]string{"go": "go", "rs": "rust"}[lang])
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range list {
			names = append(names, f.Path)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got  %s\nwant %s", lang, got, want)
		}
	}
}

// builtHook is a hook in WAT whose module has a record, without a compiler.
func builtHook(t *testing.T, builds Builds) (dir, module string, content []byte) {
	t.Helper()
	dir = t.TempDir()
	put(t, dir, map[string]string{"belay.yaml": testSource, "hook.wat": "(module)", "more.wat": "(module)",
		"t.wasm": "bytes"})
	r := Result{Path: filepath.Join(dir, "t.wasm"), Digest: phases.ByteDigest([]byte("bytes")), Language: "wat",
		Toolchain: "by hand"}
	o := Options{Record: true, Builds: builds}
	if err := sourceBefore(dir, o).record(dir, &r); err != nil {
		t.Fatal(err)
	}
	return dir, r.Path, []byte("bytes")
}

func TestCheckComparesContents(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string) error
		want   string // "" is fresh
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"a newer time alone", func(dir string) error {
			later := time.Now().Add(time.Hour)
			return os.Chtimes(filepath.Join(dir, "hook.wat"), later, later)
		}, ""},
		{"an older time does not hide a change", func(dir string) error {
			file, before := filepath.Join(dir, "hook.wat"), time.Unix(0, 0)
			return errors.Join(os.WriteFile(file, []byte("(module )"), 0o644), os.Chtimes(file, before, before))
		}, "hook.wat has changed"},
		{"the manifest", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(testSource+"\n"), 0o644)
		}, "belay.yaml has changed"},
		{"a new file", func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.wat"), nil, 0o644) },
			"x.wat is new"},
		{"a file that is gone", func(dir string) error { return os.Remove(filepath.Join(dir, "more.wat")) },
			"more.wat is gone"},
		{"many", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "more.wat")),
				os.WriteFile(filepath.Join(dir, "hook.wat"), nil, 0o644), os.WriteFile(filepath.Join(dir, "a.wat"), nil, 0o644),
				os.WriteFile(filepath.Join(dir, "b.wat"), nil, 0o644))
		}, "hook.wat has changed, a.wat is new, b.wat is new, and 1 more"},
		{"what is no source", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644)
		}, ""},
		{"a module from elsewhere", func(dir string) error { return os.Remove(filepath.Join(dir, "t.wasm.build.json")) }, ""},
		{"a folder that is no hook's", func(dir string) error { return os.Remove(filepath.Join(dir, "belay.yaml")) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, module, content := builtHook(t, "")
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			err := Check(module, content)
			if c.want == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			var stale *StaleError
			if !errors.As(err, &stale) || !errors.Is(err, ErrStale) || Differences(stale.Changes) != c.want ||
				stale.Dir != dir ||
				stale.Command() != "belay hook build "+dir {
				t.Errorf("got %v", err)
			}
			if err := Check(module, []byte("other bytes")); err != nil {
				t.Errorf("a record counts for the bytes that it names, and for no others: %v", err)
			}
		})
	}
}

// What changes while the compiler runs is newer than the module, but for what the compiler itself writes.
func TestRecordOfSourceThatChangesMeanwhile(t *testing.T) {
	for file, fresh := range map[string]bool{"Cargo.lock": true, "src/lib.rs": false} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"belay.yaml": testSource, "Cargo.toml": "", "src/lib.rs": ""})
		r := Result{Path: filepath.Join(dir, "t.wasm"), Digest: phases.ByteDigest(nil), Language: "rust"}
		before := sourceBefore(dir, Options{Record: true})
		put(t, dir, map[string]string{file: "written meanwhile"})
		if err := before.record(dir, &r); err != nil {
			t.Fatal(err)
		}
		if err := Check(r.Path, nil); (err == nil) != fresh {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A module that is written elsewhere is a copy to be retained: it has no record.
func TestOnlyModulesInTheirPlaceHaveRecords(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"belay.yaml": testSource})
	for output, want := range map[string]bool{
		"": true, filepath.Join(dir, "t.wasm"): true, filepath.Join(dir, "x", "..", "t.wasm"): true,
		filepath.Join(dir, "v1.wasm"): false, filepath.Join(dir, "dist", "t.wasm"): false, "t.wasm": false,
	} {
		if got := inPlace(dir, output); got != want {
			t.Errorf("%q: %v", output, got)
		}
	}
}

func TestCommandIsOneOfAShell(t *testing.T) {
	e := StaleError{Dir: "x", Options: Options{StandardGo: true}}
	if got := e.Command(); got != "belay hook build x --standard-go" {
		t.Error(got)
	}
	e = StaleError{Dir: ".", Options: Options{Target: Targets()[1]}}
	if got := e.Command(); got != "belay hook build --target wasip1" {
		t.Error(got)
	}
	for dir, want := range map[string]string{
		".": "belay hook build", "guard": "belay hook build guard", "it's here": `belay hook build 'it'\''s here'`,
	} {
		if got := (&StaleError{Dir: dir}).Command(); got != want {
			t.Errorf("%s: %s", dir, got)
		}
	}
}

// A record comes with the module: only a note of this user's own says that they built it.
func TestOnlyOwnBuildsAreOurs(t *testing.T) {
	builds := Builds(filepath.Join(t.TempDir(), "builds"))
	stale := func(builds Builds) (string, *StaleError) {
		t.Helper()
		dir, module, content := builtHook(t, builds)
		put(t, dir, map[string]string{"hook.wat": "changed"})
		var e *StaleError
		if err := Check(module, content); !errors.As(err, &e) {
			t.Fatal(err)
		}
		return dir, e
	}
	dir, mine := stale(builds)
	if !builds.Ours(mine) || Builds("").Ours(mine) {
		t.Error("a build of one's own is not known")
	}
	_, foreign := stale("")
	if builds.Ours(foreign) {
		t.Error("a record that came with a module counts as a build of one's own")
	}
	// Another record in the same place is another's.
	record := RecordPath(filepath.Join(dir, "t.wasm"))
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"t.wasm.build.json": strings.Replace(string(text), "by hand", "by other hands", 1)})
	var e *StaleError
	if err := Check(mine.Module, []byte("bytes")); !errors.As(err, &e) || builds.Ours(e) {
		t.Errorf("another record in the place of one's own: %v", err)
	}
}

func TestDecodeRecord(t *testing.T) {
	digest := phases.ByteDigest(nil)
	good := `{"format":1,"module":"` + digest + `","language":"c","toolchain":"x","files":[{"path":"../a.c","digest":"` +
		digest + `"},{"path":"b.c","digest":"` + digest + `"}]}`
	if _, err := DecodeRecord([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{`"format":1`, `"format":2`, "/format is 2"},
		{`"format":1`, `"format":1,"format":1`, "duplicate"},
		{`"format":1`, `"format":1,"run":"make"`, "unknown"},
		{`"format":1`, `"format":"1"`, "format"},
		{`"module":"sha256:`, `"module":"sha1:`, "/module is no digest"},
		{`"format":1`, `"format":1,"source":"../elsewhere"`, "unknown"},
		{`"path":"../a.c"`, `"path":"/etc/passwd"`, "/files/0/path"},
		{`"path":"../a.c"`, `"path":"a/../b"`, "/files/0/path"},
		{`"path":"../a.c"`, `"path":""`, "/files/0/path"},
		{`"language":"c"`, `"language":"make"`, "/language"},
		{`"language":"c"`, `"language":"c","target":"x86"`, "/target"},
		{`"toolchain":"x"`, `"toolchain":"` + strings.Repeat("x", 5000) + `"`, "/toolchain"},
		{`"path":"b.c"`, `"path":"../a.c"`, "/files/1/path"},
		{`"path":"b.c"`, `"path":"b\u001b.c"`, "/files/1/path"},
		{`"path":"b.c"`, "\"path\":\"b\xff.c\"", "UTF-8"},
		{`"path":"b.c","digest":"sha256:`, `"path":"b.c","digest":"sha256:G`, "/files/1/digest"},
		{`]}`, `]} {}`, ""},
		{`]}`, ``, ""},
	} {
		if !strings.Contains(good, c[0]) {
			t.Fatalf("%q is not in the text", c[0])
		}
		_, err := DecodeRecord([]byte(strings.Replace(good, c[0], c[1], 1)))
		if !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s for %s: %v", c[1][:min(len(c[1]), 60)], c[0], err)
		}
	}
}

func TestCheckRefusesRecordsThatCannotBeRead(t *testing.T) {
	_, module, content := builtHook(t, "")
	put(t, filepath.Dir(module), map[string]string{"t.wasm.build.json": "{}"})
	if err := Check(module, content); !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), "t.wasm.build.json") {
		t.Errorf("got %v", err)
	}
}

func TestRecordOfRules(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"team.wasm": "bytes", "rules.yaml": "one"})
	module := filepath.Join(dir, "team.wasm")
	check := func() error { return Check(module, []byte("bytes")) }
	if err := RecordRules(module, phases.ByteDigest([]byte("bytes")), filepath.Join(dir, "rules.yaml"),
		[]byte("one")); err != nil || check() != nil {
		t.Fatal(err, check())
	}
	put(t, dir, map[string]string{"rules.yaml": "two"})
	var stale *StaleError
	if err := check(); !errors.As(err, &stale) ||
		stale.Command() != "belay rules build "+filepath.Join(dir, "rules.yaml") ||
		Differences(stale.Changes) != "rules.yaml has changed" {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "rules.yaml")); err != nil || check() != nil {
		t.Errorf("without its rules nothing can be told: %v, %v", err, check())
	}
	// A record leads to no file but the one beside it.
	record := `{"format":1,"module":"` + phases.ByteDigest([]byte("bytes")) +
		`","language":"rules","toolchain":"","files":[`
	for _, files := range []string{``, `{"path":"../x","digest":"` + phases.ByteDigest(nil) + `"}`,
		`{"path":"..","digest":"` + phases.ByteDigest(nil) + `"}`,
		`{"path":"a/x","digest":"` + phases.ByteDigest(nil) + `"}`} {
		if _, err := DecodeRecord([]byte(record + files + "]}")); err == nil || !strings.Contains(err.Error(), "/files") {
			t.Errorf("%s: %v", files, err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"module":"","language":"c","toolchain":"","files":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeRecord(text)
		if err != nil || !slices.Equal(again.Files, r.Files) {
			t.Fatalf("%v: %s", err, text)
		}
	})
}
