package meter

import (
	"errors"
	"fmt"
)

// The classes of refusal, for errors.Is.
var (
	// ErrReserved: the guest uses a name that belongs to the pass.
	ErrReserved = errors.New("reserved name")
	// ErrLimit: the guest's least memory or table is over the cap.
	ErrLimit = errors.New("over a cap")
	// ErrModel: the module is not one that wasm.Parse accepts.
	ErrModel = errors.New("module was not validated")
	// ErrOptions: an option is out of range.
	ErrOptions = errors.New("metering options")
)

// Error is what [Instrument] returns when it refuses. Its text repeats nothing of the
// guest but numbers.
type Error struct {
	Class error  // one of the Err* classes of this package
	Func  int    // function index, imports counted; -1 outside of functions
	Msg   string // the fault, in words
	Cause error  // from package wasm, or nil
}

// Error gives class, place and reason in one line.
func (e *Error) Error() string {
	s := e.Class.Error()
	if e.Func >= 0 {
		s += fmt.Sprintf(": func %d", e.Func)
	}
	return s + ": " + e.Msg
}

// Unwrap makes errors.Is and errors.As work with the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}

func refuse(class error, fn int, format string, args ...any) *Error {
	return &Error{Class: class, Func: fn, Msg: fmt.Sprintf(format, args...)}
}

// maxLocals is far above what the parser lets pass and far below where sums could wrap.
const maxLocals = 1 << 20

var (
	errType   = errors.New("type index out of range")
	errLocals = errors.New("too many locals")
)
