//go:build !unix

package server

import (
	"errors"
	"time"
)

// dirLock is the lock of a directory.
type dirLock struct{}

// takeDirLock fails: this system has no file locks.
func takeDirLock(string, string, time.Duration) (*dirLock, error) {
	return nil, errors.New("the daemon needs unix sockets and file locks, which this system does not have")
}

// check finds nothing.
func (*dirLock) check() (renewed bool, err error) { return false, nil }

// Close does nothing.
func (*dirLock) Close() error { return nil }
