package hookbuild

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write sdk.txtar anew from hooks-sdk")

// sdkFiles are the files of an SDK that a hook's author needs, by their names below
// hooks-sdk: no tests, no build results.
func sdkFiles(t *testing.T, lang string) []txtar.File {
	t.Helper()
	var files []txtar.File
	root := filepath.Join("..", "..", "hooks-sdk")
	err := filepath.WalkDir(filepath.Join(root, lang), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "target" || name == "tests" || name == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_test.c") || name == "Cargo.lock" ||
			name == ".gitignore" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files = append(files, txtar.File{Name: filepath.ToSlash(rel), Data: b})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSDKArchive(t *testing.T) {
	a := &txtar.Archive{Files: sdkFiles(t, "go"), Comment: []byte(
		"Written by `go test ./internal/hookbuild -run TestSDKArchive -update` from hooks-sdk/go.\n")}
	want := txtar.Format(a)
	if *update {
		if err := os.WriteFile("sdk.txtar", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	// A source line that looks like a file marker would split its file.
	if back := txtar.Parse(want); !slices.EqualFunc(back.Files, a.Files, func(x, y txtar.File) bool {
		return x.Name == y.Name && bytes.Equal(x.Data, y.Data)
	}) {
		t.Fatal("the SDK's files do not survive the archive")
	}
	if !bytes.Equal(goArchive, want) {
		t.Errorf("sdk.txtar is not what hooks-sdk/go holds; run this test with -update:\n%s",
			cmp.Diff(string(goArchive), string(want)))
	}
}

// A new hook gets every file of its SDK, as it is in this repository.
func TestSDKIsComplete(t *testing.T) {
	for _, lang := range []string{"assemblyscript", "c", "go", "rust"} {
		want := map[string][]byte{}
		for _, f := range sdkFiles(t, lang) {
			want[strings.TrimPrefix(f.Name, lang+"/")] = f.Data
		}
		got, err := sdk(lang)
		if diff := cmp.Diff(want, got); len(want) == 0 || err != nil || diff != "" {
			t.Errorf("%s: %v, (-hooks-sdk +copied):\n%s", lang, err, diff)
		}
	}
	if got, err := sdk("wat"); len(got) != 0 || err != nil {
		t.Errorf("wat: %d files, %v", len(got), err)
	}
}
