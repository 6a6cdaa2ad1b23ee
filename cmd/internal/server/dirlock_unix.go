//go:build unix

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// dirLock is the lock of a directory, until it is closed or the process ends. Safe for
// concurrent use.
type dirLock struct {
	dir, path string
	held      *os.File // the directory

	mu   sync.Mutex
	file *os.File // at path
}

// takeDirLock locks the directory and the file of that name in it, which it makes. It tries as
// long as patience says, and once at least. The error is errHeld, or of the file system.
// A file system that has no locks for directories leaves the file.
func takeDirLock(dir, name string, patience time.Duration) (*dirLock, error) {
	l := &dirLock{dir: dir, path: filepath.Join(dir, name)}
	var err error
	if l.held, err = os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, err
	}
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if err = l.try(); err == nil {
			return l, nil
		}
		if !errors.Is(err, errHeld) || time.Now().After(until) {
			return nil, errors.Join(err, l.held.Close())
		}
	}
}

func (l *dirLock) try() error {
	switch err := unix.Flock(int(l.held.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil, errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK),
		errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBADF):
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return errHeld
	default:
		return err
	}
	f, err := lockFile(l.path)
	if err == nil {
		l.file = f
	}
	return err
}

// lockFile locks the file that has the name once it is locked. The error is errHeld, or of
// the file system.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is in the place of a lock and is not a regular file: move it away", path)
	}
	if err == nil {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) ||
			errors.Is(err, unix.EINTR) {
			err = errHeld
		}
	}
	if err == nil && !named(path, file) {
		err = errHeld // another process has put a file there meanwhile, or taken this one away
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// For people who look; nothing reads it.
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return file, nil
}

// named reports whether the open file is the one at path.
func named(path string, f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(fi, there)
}

// check looks whether the lock still excludes others. A file that was removed or replaced
// is made and locked anew, which renewed tells. The error is errLost, after which another
// process may have the directory, or of the file system, after which check may be tried again.
func (l *dirLock) check() (renewed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine, err := l.held.Stat()
	if err != nil {
		return false, err
	}
	if there, err := os.Stat(l.dir); err != nil || !os.SameFile(mine, there) {
		return false, errors.Join(errLost, err)
	}
	if named(l.path, l.file) {
		return false, nil
	}
	f, err := lockFile(l.path)
	if errors.Is(err, errHeld) {
		return false, errors.Join(errLost, err)
	}
	if err != nil {
		return false, err
	}
	_ = l.file.Close()
	l.file = f
	return true, nil
}

// Close unlocks. The file stays: removing it would let two processes hold a lock each.
func (l *dirLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.file.Close(), l.held.Close())
}
