package oci

import "errors"

// Classes of errors, for errors.Is. An error belongs to one of them.
var (
	ErrReference   = errors.New("reference not valid")                         // what the caller wrote
	ErrConfig      = errors.New("registry settings not usable")                // credentials file, CA file
	ErrPlainHTTP   = errors.New("refused to talk without TLS")                 // to a host that is not this machine
	ErrRedirect    = errors.New("refused a redirect")                          // to another host, or too many
	ErrTokenHost   = errors.New("refused to send credentials to another host") // the challenge named one
	ErrAuth        = errors.New("the registry refused access")                 // 401, 403
	ErrNotFound    = errors.New("not in the registry")                         // 404
	ErrUnavailable = errors.New("the registry could not be reached or failed") // network, timeout, 429, 5xx
	ErrTooLarge    = errors.New("larger than allowed")                         // announced or real
	ErrSize        = errors.New("the size is not the announced one")           // truncated, overlong
	ErrDigest      = errors.New("the content has another digest")              // content, or the digest header
	ErrMediaType   = errors.New("the media type is not the right one")         // header against document, or unknown
	ErrEncoding    = errors.New("the answer is compressed, unasked")           // Content-Encoding
	ErrMalformed   = errors.New("malformed")                                   // JSON or a member of it
	ErrLayout      = errors.New("not a hook")                                  // a valid manifest of something else
	ErrEvidence    = errors.New("evidence was not kept by the registry")       // after a push
)

// Error says what failed where. Text and Ref are safe to show; Cause may hold
// text of the registry's.
type Error struct {
	Class  error
	Op     string // "read the manifest", …
	Ref    string // a reference, a digest or a host
	Text   string // for people; may be empty
	Status int    // HTTP status of the registry's answer, or 0
	Cause  error
}

func (e *Error) Error() string {
	s := e.Op
	if e.Ref != "" {
		s += " " + e.Ref
	}
	s += ": " + e.Class.Error()
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }

// about gives an error that came from below its operation and subject.
func about(err error, op, ref string) error {
	var e *Error
	if errors.As(err, &e) {
		if e.Op != "" {
			return err
		}
		c := *e
		c.Op, c.Ref = op, ref
		return &c
	}
	return &Error{Class: ErrUnavailable, Op: op, Ref: ref, Text: networkText(err), Cause: err}
}

func fail(class error, text string) *Error { return &Error{Class: class, Text: text} }
