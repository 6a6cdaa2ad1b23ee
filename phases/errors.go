package phases

import (
	"errors"
	"fmt"
	"strings"
)

// Classes of errors for errors.Is. Every error that this package returns for a
// document from outside is ErrDecode; every refused effect is one of the others.
var (
	ErrDecode = errors.New("phases: document refused") // see DecodeError
	ErrDenied = errors.New("phases: effect denied")    // not granted, or not legal in the phase or pass
	// bad pointer, missing parent, or the result has the wrong shape
	ErrInvalid  = errors.New("phases: effect invalid")
	ErrTooLarge = errors.New("phases: effect too large") // beyond a size or count limit
	// a mutator called again wants another change; also ErrDenied
	ErrUnstable = errors.New("phases: action not stable")
	ErrScope    = errors.New("phases: scope pattern not valid")     // see Scope.Validate
	ErrMatcher  = errors.New("phases: matcher not valid")           // see CompileMatcher
	ErrOutside  = errors.New("phases: action outside of its scope") // see CheckScopes
)

// DecodeError says what is wrong with a document from outside, and where.
// Reason is a fixed sentence of this package and quotes at most a member name,
// escaped; it is safe to show.
type DecodeError struct {
	Pointer string // RFC 6901, "" for the document itself
	Offset  int64  // bytes from the start of the document, at or shortly before the fault
	Line    int    // from 1; 0 when the place is not known
	Column  int    // from 1, in characters
	Reason  string
}

// Error returns reason and place in one line.
func (e *DecodeError) Error() string {
	var b strings.Builder
	b.WriteString(e.Reason)
	if e.Pointer != "" {
		fmt.Fprintf(&b, " at %q", cut(e.Pointer, 200))
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, " (line %d, column %d)", e.Line, e.Column)
	}
	return b.String()
}

// Is reports the class ErrDecode.
func (e *DecodeError) Is(target error) bool { return target == ErrDecode }

// EffectError says why an effect was refused. Class is ErrDenied, ErrInvalid,
// ErrTooLarge or ErrUnstable; Reason is safe to show.
type EffectError struct {
	Class  error
	Kind   EffectKind
	Path   string
	Reason string
}

// Error returns effect, path and reason in one line.
func (e *EffectError) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("%s %q: %s", SafeLine(string(e.Kind), 32), cut(e.Path, 200), e.Reason)
	}
	return SafeLine(string(e.Kind), 32) + ": " + e.Reason
}

// Is reports the class; an unstable action is a kind of denial.
func (e *EffectError) Is(target error) bool {
	return target == e.Class || (e.Class == ErrUnstable && target == ErrDenied)
}

// Fault returns the failure that the refusal means for the hook's turn: an
// effect that is refused poisons the turn (output), and an unstable action
// breaks a rule of the chain (protocol).
func (e *EffectError) Fault() *Fault {
	if errors.Is(e, ErrUnstable) {
		return NewFault(KindProtocol, "the action is not stable: a hook wants to change it again after it was judged", e)
	}
	return NewFault(KindOutput, "a hook asked for something that it may not do", e)
}

func effectError(class error, e Effect, format string, args ...any) *EffectError {
	return &EffectError{Class: class, Kind: e.Kind, Path: e.Path, Reason: fmt.Sprintf(format, args...)}
}
