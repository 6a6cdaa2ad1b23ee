package hookbuild

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every template is whole: a manifest that decodes, cases, a README without
// unfilled places, and the SDK.
func TestTemplates(t *testing.T) {
	for _, lang := range Languages() {
		t.Run(lang, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "deep", "guard")
			if err := New(dir, "acme/guard", lang); err != nil {
				t.Fatal(err)
			}
			m, err := readManifest(dir)
			if err != nil || m.Name != "acme/guard" {
				t.Fatalf("%+v %v", m, err)
			}
			if got, err := Detect(dir); got != lang || err != nil {
				t.Errorf("it is taken for %q (%v)", got, err)
			}
			cases, _ := filepath.Glob(filepath.Join(dir, "cases", "*.yaml"))
			if len(cases) != 1 {
				t.Errorf("cases: %q", cases)
			}
			if sdk, _ := filepath.Glob(filepath.Join(dir, "sdk", "*")); (len(sdk) == 0) != (lang == "wat") {
				t.Errorf("sdk: %q", sdk)
			}
			err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				if strings.HasSuffix(path, ".tmpl") {
					t.Errorf("%s kept its ending", path)
				}
				b, err := os.ReadFile(path)
				for _, place := range []string{"HOOK_NAME", "HOOK_FILE", "CRATE_NAME", "LANGUAGE", "SOURCES", "EVAL_FLAGS"} {
					if bytes.Contains(b, []byte(place)) {
						t.Errorf("%s still has %s", path, place)
					}
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(full, "notes")
	for _, c := range []struct {
		name, dir, hook, lang string
		class                 error
	}{
		{"a directory in use", full, "guard", "c", ErrWrite},
		{"a file", file, "guard", "c", ErrWrite},
		{"below a file", filepath.Join(file, "x"), "guard", "c", ErrWrite},
		{"unknown language", filepath.Join(full, "new"), "guard", "cobol", ErrSource},
		{"no language", filepath.Join(full, "new"), "guard", "", ErrSource},
		{"a name with a path", filepath.Join(full, "new"), "../guard", "c", ErrSource},
		{"a name with a line break", filepath.Join(full, "new"), "guard\nabi: 2", "c", ErrSource},
		{"no name", filepath.Join(full, "new"), "", "rust", ErrSource},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := New(c.dir, c.hook, c.lang); !errors.Is(err, c.class) {
				t.Errorf("got %v", err)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(full, "*"))
	hidden, _ := filepath.Glob(filepath.Join(full, ".*"))
	if err != nil || len(left)+len(hidden) != 1 {
		t.Errorf("something was left behind: %q %q", left, hidden)
	}
}
