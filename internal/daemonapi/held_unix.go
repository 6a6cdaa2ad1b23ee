//go:build unix

package daemonapi

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// held reports whether a daemon holds the lock: on the file at path, or on its directory,
// whose lock outlives a file that was removed. When that cannot be told, it does.
func held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		defer f.Close() // and with it the lock, if it was free
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
			return true
		}
	} else if !os.IsNotExist(err) {
		return true
	}
	d, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer d.Close()
	// others: it has no locks for directories
	return errors.Is(unix.Flock(int(d.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
