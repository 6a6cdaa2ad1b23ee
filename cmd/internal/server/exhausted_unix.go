//go:build unix

package server

import (
	"errors"
	"syscall"
)

// exhausted reports whether the system had no descriptor or no memory for a connection.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM)
}
