package leases

import "errors"

// Classes of errors, for errors.Is.
var (
	// ErrUnknown: there is no such lease, or it is somebody else's. Both have the
	// same text, so that asking tells nobody which ids exist.
	ErrUnknown = errors.New("no such lease")
	// ErrInvalid: the request is not a valid one.
	ErrInvalid = errors.New("not a valid lease")
	// ErrWider: the request goes beyond the parent or beyond a maximum.
	ErrWider = errors.New("wider than allowed")
	// ErrOver: the lease cannot be used any more, or not yet.
	ErrOver = errors.New("the lease is not active")
	// ErrQuota: the holder's credential has too many leases.
	ErrQuota = errors.New("too many leases")
)

// Error is a request that is refused. Text is safe to show and names no lease
// of anybody else.
type Error struct {
	Class error // one of the classes
	Text  string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// unknown is the one answer for what is not there and what is not the asker's.
func unknown() error { return &Error{ErrUnknown, "no such lease, or not yours"} }

func invalid(text string) error { return &Error{ErrInvalid, text} }

func wider(text string) error { return &Error{ErrWider, text} }

func over(text string) error { return &Error{ErrOver, text} }
