//go:build unix

package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/files"
)

func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		before fs.FileMode // 0: not there
		o      files.Options
		want   fs.FileMode
	}{
		"new":             {0, files.Options{Perm: 0o640, NoUmask: true}, 0o640},
		"replaced":        {0o644, files.Options{Perm: 0o600}, 0o600},
		"kept":            {0o606, files.Options{Perm: 0o600, Existing: true}, 0o606},
		"kept, not there": {0, files.Options{Perm: 0o600, Existing: true}, 0o600},
	} {
		path := filepath.Join(dir, name)
		if c.before != 0 {
			if err := os.WriteFile(path, nil, c.before); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.before); err != nil {
				t.Fatal(err)
			}
		}
		f, err := files.Create(path, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != c.want {
			t.Errorf("%s: %v, %v, want %v", name, fi.Mode().Perm(), err, c.want)
		}
	}
}
