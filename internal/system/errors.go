package system

import (
	"errors"
	"fmt"
)

// Classes of errors, for errors.Is.
var (
	// ErrNone: this machine has no system mode. Nothing else is wrong.
	ErrNone = errors.New("this machine has no belay in system mode")
	// ErrUntrusted: another user than root can have written the file. What it says does not count, and neither
	// does its absence: every question is blocked.
	ErrUntrusted = errors.New("is not root's alone")
	// ErrConfig: the file is root's, and not valid.
	ErrConfig = errors.New("system configuration not valid")
)

// Error names the file at fault. It is of class ErrUntrusted or ErrConfig.
type Error struct {
	Path   string
	Line   int // from 1; 0 when not known
	Reason string
	Class  error
	Cause  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns the class, and the cause where there is one.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}
