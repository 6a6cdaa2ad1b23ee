package recording

import (
	"errors"
	"fmt"
)

// Classes of errors, for errors.Is.
var (
	ErrFormat    = errors.New("not a recording")
	ErrVersion   = errors.New("a recording of another version")
	ErrTruncated = errors.New("the recording is cut off")
	ErrEdited    = errors.New("the recording was changed")
	ErrLimit     = errors.New("the recording is too large")
	ErrSealed    = errors.New("the recording cannot be opened")
)

// Error is a fault of a recording, with its place. Its class is one of the Err values.
type Error struct {
	File  string // as it was named; "" when it has no name
	Line  int    // from 1; 0 when it is about the whole file
	Text  string // safe to show
	Class error
	Cause error
}

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if s != "" {
		s += ": "
	}
	s += e.Class.Error()
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
