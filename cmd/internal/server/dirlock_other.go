//go:build !unix

package dirlock

import (
	"errors"
	"time"
)

// Lock is the lock of a directory.
type Lock struct{}

// Take fails: this system has no file locks.
func Take(string, string, time.Duration) (*Lock, error) {
	return nil, errors.New("the daemon needs unix sockets and file locks, which this system does not have")
}

// Check finds nothing.
func (*Lock) Check() (renewed bool, err error) { return false, nil }

// Close does nothing.
func (*Lock) Close() error { return nil }
