//go:build unix

package server

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/client"
)

// lockPatience outlasts a client that looks for a moment whether the lock is held.
const lockPatience = 500 * time.Millisecond

// lock makes this process the only daemon of the state directory until the file
// is closed, by a crash as well. The error is ErrRunning when there is one already.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, client.LockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(until) {
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, ErrRunning
			}
			return nil, err
		}
	}
	// For people who look; nothing reads it.
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return f, nil
}

func ownedByUs(fi os.FileInfo) bool {
	sys, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// fileID tells a file from another that took its name.
func fileID(fi os.FileInfo) uint64 {
	if sys, ok := fi.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}
