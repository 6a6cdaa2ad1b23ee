//go:build linux

package sysinstall

import "errors"

// Classes of errors, for errors.Is.
var (
	// ErrUnsafe: something stands where a file of belay's is expected, or another user than root could
	// write there. Nothing was changed there.
	ErrUnsafe = errors.New("not belay's")
	// ErrSystem: this machine lacks something, or a program of it failed.
	ErrSystem = errors.New("this machine cannot do that")
	// ErrBusy: another installation, upgrade or removal is at work.
	ErrBusy = errors.New("another command of belay system is at work")
)

// Error says what is wrong with a path, and what to do. It is of its class.
type Error struct {
	Path   string // "" when it is not about a file
	Reason string // goes on after the path
	Advice string // what to do; a sentence, or ""
	Class  error
	Cause  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + " " + e.Reason
}

// Unwrap returns the class, and the cause where there is one.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}

func busy() error {
	return &Error{Reason: ErrBusy.Error(), Advice: "Wait until it is through.", Class: ErrBusy}
}

func unsafe(path, reason, advice string) error {
	return &Error{Path: path, Reason: reason, Advice: advice, Class: ErrUnsafe}
}

// Refused is everything that keeps a plan from being carried out.
type Refused []*Error

// Error implements error.
func (r Refused) Error() string {
	if len(r) == 1 {
		return r[0].Error()
	}
	return r[0].Error() + ", and more"
}

// Unwrap returns each of them.
func (r Refused) Unwrap() []error {
	out := make([]error, len(r))
	for i, e := range r {
		out[i] = e
	}
	return out
}
