package signing

import "github.com/belay-hooks/belay/phases"

// SignCode says why nothing was signed keyless. It is stable: scripts may rely on
// it. A SignCode is also the class of the SignError that carries it, for errors.Is.
type SignCode string

// The classes of errors of keyless signing.
const (
	ErrToken    SignCode = "token_invalid"    // the identity token is malformed, for another audience, or over
	ErrEndpoint SignCode = "endpoint_invalid" // a service's address is missing, or is not one that a token may be sent to
	// a service did not answer, or answered what does not belong to this signature
	ErrService SignCode = "service_failed"
)

// Error returns the class's text.
func (c SignCode) Error() string {
	switch c {
	case ErrToken:
		return "identity token not accepted"
	case ErrEndpoint:
		return "address not accepted"
	case ErrService:
		return "signing service failed"
	}
	return string(c)
}

// SignError says what went wrong while signing keyless. Text is for people and
// safe to show: it never quotes a token or a service's answer.
type SignError struct {
	Class SignCode
	Text  string
}

func (e *SignError) Error() string {
	return e.Class.Error() + ": " + e.Text + " [" + string(e.Class) + "]"
}

// Is reports the class.
func (e *SignError) Is(target error) bool { return target == e.Class }

// signFail makes a SignError. There is no cause to unwrap on purpose: the errors of
// HTTP and of decoders quote what they read, and a service that was shown the token
// can answer with it.
func signFail(c SignCode, text string) *SignError {
	return &SignError{Class: c, Text: phases.SafeLine(text, 300)}
}
