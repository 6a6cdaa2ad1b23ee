package leases

import "errors"

// Classes of errors, for errors.Is.
var (
	// ErrUnknown: no lease has this id, or another holder has it. Both cases have the
	// same text, so that a caller cannot learn which ids exist.
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

// Error is a request that is refused. Text is safe to show and never names another
// holder's lease.
type Error struct {
	Class error // one of the classes
	Text  string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// unknown answers for an id without a lease, and for a lease of another holder.
func unknown() error { return &Error{ErrUnknown, "no such lease, or not yours"} }

func invalid(text string) error { return &Error{ErrInvalid, text} }

func wider(text string) error { return &Error{ErrWider, text} }

func over(text string) error { return &Error{ErrOver, text} }
