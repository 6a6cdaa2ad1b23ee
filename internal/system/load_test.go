//go:build unix

package system_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

// The file counts only where its owner alone can have written it: each way that another user could have is refused,
// and is never taken for a machine without system mode.
func TestLoad(t *testing.T) {
	path := func(root, rel string) string { return filepath.Join(root, rel) }
	for name, c := range map[string]struct {
		change func(root string) error
		class  error
	}{
		"as installed": {func(string) error { return nil }, nil},
		"no file": {func(r string) error { return os.Remove(path(r, system.ConfigFile)) },
			system.ErrNone},
		"no directory": {func(r string) error { return os.RemoveAll(path(r, system.ConfigDir)) },
			system.ErrNone},
		"others write the file": {func(r string) error { return os.Chmod(path(r, system.ConfigFile), 0o646) },
			system.ErrUntrusted},
		"a group writes the file": {func(r string) error { return os.Chmod(path(r, system.ConfigFile), 0o664) },
			system.ErrUntrusted},
		"others write the directory": {func(r string) error { return os.Chmod(path(r, system.ConfigDir), 0o757) },
			system.ErrUntrusted},
		"others write /etc": {func(r string) error { return os.Chmod(path(r, "/etc"), 0o777) },
			system.ErrUntrusted},
		"others write the top directory": {func(r string) error { return os.Chmod(r, 0o777) }, system.ErrUntrusted},
		"a link to the file": {func(r string) error {
			return errors.Join(os.Rename(path(r, system.ConfigFile), path(r, "/real")),
				os.Symlink(path(r, "/real"), path(r, system.ConfigFile)))
		}, system.ErrUntrusted},
		"a link to nothing": {func(r string) error {
			return errors.Join(os.Remove(path(r, system.ConfigFile)), os.Symlink("nowhere", path(r, system.ConfigFile)))
		}, system.ErrUntrusted},
		"a link to the directory": {func(r string) error {
			return errors.Join(os.Rename(path(r, system.ConfigDir), path(r, "/real")),
				os.Symlink(path(r, "/real"), path(r, system.ConfigDir)))
		}, system.ErrUntrusted},
		"a pipe": {func(r string) error {
			return errors.Join(os.Remove(path(r, system.ConfigFile)), syscall.Mkfifo(path(r, system.ConfigFile), 0o600))
		}, system.ErrUntrusted},
		"a directory": {func(r string) error {
			return errors.Join(os.Remove(path(r, system.ConfigFile)), os.Mkdir(path(r, system.ConfigFile), 0o755))
		}, system.ErrUntrusted},
		"not valid": {func(r string) error {
			return os.WriteFile(path(r, system.ConfigFile), []byte("version: 2\n"), 0o600)
		}, system.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := errors.Join(os.Chmod(root, 0o755), os.MkdirAll(path(root, system.ConfigDir), 0o755),
				os.WriteFile(path(root, system.ConfigFile), []byte("version: belay-system/v1\n"), 0o644),
				c.change(root)); err != nil {
				t.Fatal(err)
			}
			got, err := system.LoadAt(root, os.Geteuid())
			if !errors.Is(err, c.class) || (err == nil) != (got != nil) {
				t.Errorf("%+v, %v; want %v", got, err, c.class)
			}
			if c.class == nil {
				if _, err := system.LoadAt(root, os.Geteuid()+1); !errors.Is(err, system.ErrUntrusted) {
					t.Errorf("a file of another user: %v", err)
				}
			}
		})
	}
}

// Root and the owner of the state directory are above those who ask. Where there is no such directory, root alone is.
func TestAbove(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		dir  string
		uid  int
		want bool
	}{
		{dir, 0, true}, {dir, os.Geteuid(), true}, {dir, os.Geteuid() + 1, false},
		{filepath.Join(dir, "none"), 0, true}, {filepath.Join(dir, "none"), 4242, false},
	} {
		if got := system.Above(c.dir, c.uid); got != c.want {
			t.Errorf("%s, uid %d: %v", c.dir, c.uid, got)
		}
	}
}
