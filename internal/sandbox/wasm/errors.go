package wasm

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The classes of refusal, for errors.Is on whatever this package returns.
var (
	// ErrMalformed: the bytes are not a WebAssembly module (bad LEB, order, length, encoding).
	ErrMalformed = errors.New("malformed module")
	// ErrInvalid: well formed, but the module does not validate (types, indices, names).
	ErrInvalid = errors.New("invalid module")
	// ErrLimit: one of the limits of [Limits] is exceeded; the module may be fine otherwise.
	ErrLimit = errors.New("module over a limit")
	// ErrUnsupported: a feature outside core 2.0, or one that the sandbox does not offer.
	ErrUnsupported = errors.New("unsupported feature")
	// ErrComponent: the file is a component, not a core module.
	ErrComponent = errors.New("component instead of a module")
)

// maxShown bounds what an error repeats of a guest's names, in bytes of escaped text.
const maxShown = 128

// Error is what every function of this package returns when it refuses. Its text is
// safe to show: names from the module are escaped and cut at 128 bytes.
type Error struct {
	Class   error  // one of the Err* classes of this package
	Section string // name of the section, "" where none applies
	Offset  int    // byte offset in the file (in the body for [Reader]); -1 when unknown
	Func    int    // function index, imports counted; -1 outside of function bodies
	Msg     string // the fault, in words
}

// Error gives class, place and reason in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Class.Error())
	if e.Section != "" {
		b.WriteString(": " + e.Section + " section")
	}
	if e.Func >= 0 {
		fmt.Fprintf(&b, ": func %d", e.Func)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ": at byte %d", e.Offset)
	}
	b.WriteString(": " + e.Msg)
	return b.String()
}

// Unwrap makes errors.Is work with the classes.
func (e *Error) Unwrap() error { return e.Class }

func newError(class error, off int, format string, args ...any) *Error {
	return &Error{Class: class, Offset: off, Func: -1, Msg: fmt.Sprintf(format, args...)}
}

// quote makes a guest's name safe to show: printable ASCII stays, everything else is
// escaped, and the result is at most maxShown bytes.
func quote(s string) string {
	const hex = "0123456789abcdef"
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := 0; i < len(s); {
		var part []byte
		c, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == '"' || c == '\\':
			part = []byte{'\\', byte(c)}
		case c >= 0x20 && c < 0x7f:
			part = []byte{byte(c)}
		case c < 0x80 || n == 1:
			part = []byte{'\\', 'x', hex[s[i]>>4], hex[s[i]&15]}
		default:
			part = fmt.Appendf(nil, `\u{%x}`, c)
		}
		if len(b)+len(part) > maxShown-4 {
			return string(b) + `..."`
		}
		b = append(b, part...)
		i += n
	}
	return string(append(b, '"'))
}
