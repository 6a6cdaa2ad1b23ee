//go:build linux

package daemonapi_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// A daemon that takes in no more connections runs all the same: a hook command that took it for none would decide by
// itself, beside it. The dial does not wait either.
func TestADaemonWithAFullBacklogRuns(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, dial := range map[string]func() (daemonapi.Conn, error){
		daemonapi.SocketName:      func() (daemonapi.Conn, error) { return daemonapi.DialDir(t.Context(), dir) },
		daemonapi.FrameSocketName: func() (daemonapi.Conn, error) { return daemonapi.DialFrames(t.Context(), dir) },
	} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, name)}), unix.Listen(fd, 1))
		if err != nil {
			t.Fatal(err)
		}
		for err = nil; err == nil; {
			var conn daemonapi.Conn
			if conn, err = dial(); err == nil {
				defer conn.Close()
			}
		}
		if !errors.Is(err, daemonapi.ErrSick) || !errors.Is(err, syscall.EAGAIN) || errors.Is(err, daemonapi.ErrNotRunning) ||
			errors.Is(err, daemonapi.ErrNoFrames) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
