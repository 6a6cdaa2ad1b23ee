package phases

import (
	"errors"
	"fmt"
	"strings"
)

// Classes of errors for errors.Is. Every error that this package returns for a
// document from outside is ErrDecode.
var (
	ErrDecode   = errors.New("phases: document refused")            // see DecodeError
	ErrDenied   = errors.New("phases: effect denied")               // not granted, or not legal in the phase or pass
	ErrTooLarge = errors.New("phases: effect too large")            // beyond a size or count limit
	ErrScope    = errors.New("phases: scope pattern not valid")     // see Scope.Validate
	ErrOutside  = errors.New("phases: action outside of its scope") // see CheckScopes
)

// Every refused effect is ErrDenied, ErrTooLarge, or one of these.
var (
	errInvalid = errors.New("phases: effect invalid") // bad pointer, missing parent, or a result of the wrong shape
	// a mutator wants another change when called again; also ErrDenied
	errUnstable = errors.New("phases: action not stable")
)

// DecodeError says why a document from outside is refused, and at which place.
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

// effectProblem says why an effect was refused. Class is ErrDenied, errInvalid,
// ErrTooLarge or errUnstable; Reason is safe to show.
type effectProblem struct {
	class  error
	kind   EffectKind
	path   string
	reason string
	phase  Phase  // "": not known
	legal  string // what would have been; may be empty
}

// Error returns effect, path and reason in one line.
func (e *effectProblem) Error() string {
	if e.path != "" {
		return fmt.Sprintf("%s %q: %s", SafeLine(string(e.kind), 32), cut(e.path, 200), e.reason)
	}
	return SafeLine(string(e.kind), 32) + ": " + e.reason
}

// Is reports the class; an unstable action is a kind of denial.
func (e *effectProblem) Is(target error) bool {
	return target == e.class || (e.class == errUnstable && target == ErrDenied)
}

// Fault returns the failure that the refusal means for the hook's turn: an
// effect that is refused poisons the turn (output), and an unstable action
// breaks a rule of the chain (protocol).
func (e *effectProblem) Fault() *Fault {
	if errors.Is(e, errUnstable) {
		return NewFault(KindProtocol, "the action is not stable: a hook wants to change it again after it was judged", e)
	}
	return NewFault(KindOutput, refusedText+": "+e.details(), e)
}

// details says which effect was refused where and why, and what would have been legal. It is one line and safe to show.
func (e *effectProblem) details() string {
	text := SafeLine(e.Error(), 400)
	if e.phase != "" {
		text += "; phase " + SafeLine(string(e.phase), 32)
	}
	if e.legal != "" {
		text += "; " + e.legal
	}
	return text
}

func effectError(class error, e Effect, format string, args ...any) *effectProblem {
	return &effectProblem{class: class, kind: e.Kind, path: e.Path, reason: fmt.Sprintf(format, args...)}
}
