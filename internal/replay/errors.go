package replay

import "errors"

// Classes of errors, for errors.Is. A difference is no error.
var (
	ErrModule    = errors.New("a recorded module is not at hand")
	ErrCandidate = errors.New("the candidate cannot be used")
	ErrRefused   = errors.New("the recording cannot be replayed like this")
)

// Error says why a replay could not be made. Text and Hint are safe to show.
type Error struct {
	Text, Hint string
	Class      error
	Cause      error
}

func (e *Error) Error() string { return e.Class.Error() + ": " + e.Text }

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
