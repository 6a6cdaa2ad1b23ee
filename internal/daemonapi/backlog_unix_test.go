//go:build linux

package daemonapi_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// A caller of the machine's daemon waits for a place while others take all of them, and has one when the daemon accepts
// again; a place that does not come in time is an error.
func TestDialWaitsForAPlace(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, daemonapi.SocketName)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	s := daemonapi.SocketAt(path)
	for err = nil; err == nil; {
		var conn daemonapi.Conn
		if conn, err = s.Dial(t.Context()); err == nil {
			defer conn.Close()
		}
	}
	s.Wait = 20 * time.Millisecond
	if _, err := s.Dial(t.Context()); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("no place in time: %v", err)
	}
	s.Wait = 10 * time.Second
	time.AfterFunc(20*time.Millisecond, func() {
		if conn, _, err := unix.Accept(fd); err == nil {
			_ = unix.Close(conn)
		}
	})
	began := time.Now()
	conn, err := s.Dial(t.Context())
	if err != nil || time.Since(began) > 5*time.Second {
		t.Fatalf("a place was free: %v after %v", err, time.Since(began))
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Errorf("the connection has no deadlines: %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read of what does not come: %v", err)
	}
}

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
