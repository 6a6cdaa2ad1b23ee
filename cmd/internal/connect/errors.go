package connect

import (
	"errors"
	"fmt"
)

// Classes of errors, for errors.Is.
var (
	// ErrConflict means that an entry which is not belay's says the opposite of what belay needs.
	ErrConflict = errors.New("an entry of others stands against it")
	// ErrUnsafe means that others could change what would be written or started.
	ErrUnsafe = errors.New("not safe to connect")
	// ErrChanged means that another program wrote the file since it was shown.
	ErrChanged = errors.New("the file has changed")
	// ErrUsage means that the runtime has no such level, or the path cannot be written there.
	ErrUsage = errors.New("not possible for this runtime")
)

// Error says about which file it is, and what to do. It is of the class of Err.
type Error struct {
	Path   string // "" for none
	Reason string
	Advice string
	Err    error
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.Err }

func conflict(line int, what, advice string) error {
	return &Error{Reason: fmt.Sprintf("line %d: %s", line, what), Advice: advice, Err: ErrConflict}
}

// in names the file of an error that has none.
func in(path string, err error) error {
	if e := new(Error); errors.As(err, &e) {
		if e.Path == "" {
			e.Path = path
		}
		return e
	}
	return &Error{Path: path, Reason: err.Error(), Err: err}
}
