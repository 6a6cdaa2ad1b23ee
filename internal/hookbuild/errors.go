package hookbuild

import (
	"errors"
	"fmt"
)

// The classes of this package's errors, for errors.Is.
var (
	ErrSource  = errors.New("hook source")  // the directory is not a hook's, or its manifest is wrong
	ErrTool    = errors.New("missing tool") // a compiler is not there
	ErrCompile = errors.New("compiler")     // a compiler refused the source; see Refusal
	ErrModule  = errors.New("module")       // not a module that a manifest can be packed into
	ErrWrite   = errors.New("write")        // a file could not be written
)

// Error is what went wrong, for the author of a hook. Text says what to do.
type Error struct {
	Class error
	Text  string
	Cause error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func failure(class, cause error, format string, args ...any) error {
	return &Error{Class: class, Text: fmt.Sprintf(format, args...), Cause: cause}
}
