package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// patience is how long an edit waits for its turn. An edit takes milliseconds, on a
// slow disk some tenths of a second.
const patience = 20 * time.Second

// Lock makes the caller the only process of belay that edits the file, until unlock
// is called or the process ends. The file need not exist, its directory must. The
// error is ErrBusy after 20 seconds, ErrUnsafe, or one of the file system. A caller
// that holds the lock must not edit the same file.
func Lock(path string) (unlock func(), err error) { return lockFor(path, patience) }

func lockFor(path string, wait time.Duration) (unlock func(), err error) {
	for until := time.Now().Add(wait); ; {
		real, err := resolve(path)
		if err != nil {
			return nil, err
		}
		unlock, holder, err := tryLock(lockName(real))
		if err != nil {
			return nil, err
		}
		if unlock != nil {
			if there, err := resolve(path); err == nil && there == real {
				return unlock, nil
			}
			unlock() // the link leads elsewhere now
		}
		if time.Now().After(until) {
			return nil, busy(path, lockName(real), holder, wait)
		}
		time.Sleep(2*time.Millisecond + rand.N(8*time.Millisecond))
	}
}

// lockName is beside the file itself: processes that come by different links meet.
func lockName(real string) string {
	return filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+".lock")
}

func busy(path, lock, holder string, wait time.Duration) error {
	by := "another process"
	if holder != "" {
		by = "process " + holder
	}
	return &Error{Path: path,
		Reason: fmt.Sprintf("is being edited by %s, which has held the lock %s for %v; wait until it is through, or end it",
			by, lock, wait), Err: ErrBusy}
}

// shareWait bounds how long OpenLocked waits. Who holds such a lock writes one line.
const shareWait = 5 * time.Second

// OpenLocked opens a regular file that processes append to and take away, and locks
// it until it is closed. The file is the one that has the name: a process that takes
// the file away under its lock leaves no writer behind that still appends to it. A
// file system without locks is no error. Errors are ErrBusy after 5 seconds,
// ErrUnsafe, or of the file system.
func OpenLocked(path string, flags int, mode fs.FileMode) (*os.File, error) {
	for until := time.Now().Add(shareWait); ; {
		f, err := os.OpenFile(path, flags|noWait, mode)
		if err != nil {
			return nil, err
		}
		fi, err := f.Stat()
		if err == nil && !fi.Mode().IsRegular() {
			err = unsafe(path, "is not a regular file")
		}
		locked := false
		if err == nil {
			locked, err = lockOpen(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); locked && err == nil && os.SameFile(fi, there) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		if time.Now().After(until) {
			return nil, busy(path, path, "", shareWait)
		}
		time.Sleep(time.Millisecond + rand.N(4*time.Millisecond))
	}
}
