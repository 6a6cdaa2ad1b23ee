package server

import "errors"

// The daemon's lock is on the state directory itself and on a file in it: a file can be
// removed while it is held, and another process would lock the one that comes after it.
// The file is never removed.

var (
	// errHeld: another process holds the lock.
	errHeld = errors.New("another process holds the lock of the directory")
	// errLost: another process holds the lock that this process had, or the directory is another one.
	errLost = errors.New("the lock of the directory was lost")
)
