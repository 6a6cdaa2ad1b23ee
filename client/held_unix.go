//go:build unix

package client

import (
	"os"

	"golang.org/x/sys/unix"
)

// held reports whether a daemon holds the lock. When that cannot be told, it does.
func held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		return true
	}
	defer f.Close() // and with it the lock, if it was free
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
