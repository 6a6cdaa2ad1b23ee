// Package dirlock decides which process is the only one of its kind in a directory. The
// lock is on the directory itself and on a file in it: a file can be removed while it is
// held, and another process would lock the one that comes after it. It never removes the file.
package dirlock

import "errors"

var (
	// ErrHeld: another process holds the lock.
	ErrHeld = errors.New("another process holds the lock of the directory")
	// ErrLost: another process holds the lock that this process had, or the directory is another one.
	ErrLost = errors.New("the lock of the directory was lost")
)
