//go:build unix

package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// A daemon that finds another process's lock in the place of its own stops, and leaves
// the socket alone, which is the other one's by then.
func TestADaemonThatLostItsDirectoryStops(t *testing.T) {
	d := startDaemon(t)
	path := filepath.Join(d.dir, daemonapi.LockName)
	f, err := os.OpenFile(path+".other", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB),
		os.Rename(path+".other", path)); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-d.ended:
		d.once.Do(d.cancel) // it has ended by itself
	case <-time.After(30 * time.Second):
		t.Fatal("the daemon goes on")
	}
	if !errors.Is(err, server.ErrRunning) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(d.server.Socket()); err != nil {
		t.Errorf("the socket: %v", err)
	}
	if _, err := client.Dial(d.dir); !errors.Is(err, client.ErrSick) {
		t.Errorf("while another process holds the lock: %v", err)
	}
}

// A client takes a daemon whose lock file was removed for one that is there.
func TestTheLockOfTheDirectoryIsSeenByClients(t *testing.T) {
	d := startDaemon(t)
	for _, name := range []string{daemonapi.LockName, daemonapi.SocketName} {
		if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0) // bound, without a listener
	if err == nil {
		t.Cleanup(func() { _ = syscall.Close(l) })
		err = errors.Join(syscall.Bind(l, &syscall.SockaddrUnix{Name: filepath.Join(d.dir, daemonapi.SocketName)}),
			os.Chmod(filepath.Join(d.dir, daemonapi.SocketName), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(d.dir); err == nil || errors.Is(err, client.ErrNotRunning) {
		t.Errorf("%v", err)
	}
}
