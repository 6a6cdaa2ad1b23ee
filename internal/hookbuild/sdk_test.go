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

// sdkFiles are the files of the SDKs that a hook's author needs: no tests, no
// build results.
func sdkFiles(t *testing.T) *txtar.Archive {
	t.Helper()
	a := &txtar.Archive{Comment: []byte(
		"Written by `go test ./internal/hookbuild -run TestSDKArchive -update` from hooks-sdk.\n")}
	root := filepath.Join("..", "..", "hooks-sdk")
	for _, lang := range []string{"c", "go", "rust"} {
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
			a.Files = append(a.Files, txtar.File{Name: filepath.ToSlash(rel), Data: b})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestSDKArchive(t *testing.T) {
	a := sdkFiles(t)
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
	if !bytes.Equal(sdkArchive, want) {
		t.Errorf("sdk.txtar is not what hooks-sdk holds; run this test with -update:\n%s",
			cmp.Diff(string(sdkArchive), string(want)))
	}
}
