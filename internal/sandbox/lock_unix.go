//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile takes an exclusive lock that other processes honour, and tries for as
// long as patience says.
func lockFile(path string, patience time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && !hasName(path, f) { // removed meanwhile: a lock on it excludes no process that comes later
			_ = f.Close()
			return lockFile(path, time.Until(until))
		}
		if err == nil {
			return func() { _ = f.Close() }, nil // closing unlocks
		}
		if time.Now().After(until) {
			_ = f.Close()
			return nil, fmt.Errorf("%w: locked by another process: %w", errCache, err)
		}
	}
}

// hasName reports whether the open file is the one at path.
func hasName(path string, f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(fi, there)
}

func ownedByUs(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
