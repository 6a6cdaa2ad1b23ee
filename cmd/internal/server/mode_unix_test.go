//go:build unix

package server_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/server"
)

func umask(mask int) int { return syscall.Umask(mask) }

// The socket is for its owner whatever the umask, and the state directory must be.
func TestSocketMode(t *testing.T) {
	old := umask(0)
	d := startDaemon(t)
	umask(old)
	for path, want := range map[string]fs.FileMode{
		"belay.sock": 0o600, "frame.sock": 0o600, "belay.lock": 0o600, "keys": 0o700,
		"keys/invoke.token": 0o600, "keys/review.token": 0o600, "keys/admin.token": 0o600, "keys/invoke.hash": 0o600,
		"keys/admin.hash": 0o600,
	} {
		fi, err := os.Stat(filepath.Join(d.dir, path))
		if err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, fi.Mode(), err, want)
		}
	}
	d.stop(t)
	long := filepath.Join(d.dir, strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(long, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Open(d.host, server.Options{Dir: long}); !errors.Is(err, server.ErrState) {
		t.Errorf("a path that no socket can have: %v", err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "belay.sock"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrState) {
		t.Errorf("a file in the way is no socket to replace: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(d.dir, "belay.sock")); string(b) != "mine" {
		t.Errorf("the file in the way is gone: %v", err)
	}
	if err := os.Chmod(d.dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrState) {
		t.Errorf("an open directory is served: %v", err)
	}
}
