package hook

// Results of a phase function.
const (
	OK     int32 = 0
	failed int32 = 1
)

// Errno is what a call answers when it does not succeed. 0 is success.
type Errno int32

const (
	Absent      Errno = -1 // no such value
	Denied      Errno = -2 // not granted by the operator, or not legal in this phase
	Invalid     Errno = -3 // a malformed argument
	Budget      Errno = -4 // a quota of this turn is spent
	TooLarge    Errno = -5 // beyond a size limit
	Pending     Errno = -6 // waits for a person
	Unavailable Errno = -7 // the host does not offer it here
)

// Error returns the error in words.
func (e Errno) Error() string {
	switch e {
	case Absent:
		return "no such value"
	case Denied:
		return "not granted, or not legal in this phase"
	case Invalid:
		return "malformed argument"
	case Budget:
		return "a quota of this turn is spent"
	case TooLarge:
		return "beyond a size limit"
	case Pending:
		return "waits for a person"
	case Unavailable:
		return "not offered by this host"
	}
	return "unknown error of the host"
}

// Refused is the error of the calls that take and reply JSON: what the host
// answered, and the document in which it explains itself, if it does. It wraps the
// Errno: errors.Is(err, hook.Pending).
type Refused struct {
	Errno    Errno
	Document string // JSON such as {"reason":"...","approval":{"id":"..."}}; "" when there is none
}

// Error returns the errno in words, and the host's reason where it gave one.
func (r *Refused) Error() string {
	if why := r.Reason(); why != "" {
		return r.Errno.Error() + ": " + why
	}
	return r.Errno.Error()
}

// Unwrap returns the Errno.
func (r *Refused) Unwrap() error { return r.Errno }

// Reason returns why the host refused, in one sentence; "" when it does not say.
func (r *Refused) Reason() string {
	v, _ := ParseJSON(r.Document)
	if why := v.Get("reason").Text(); why != "" {
		return why
	}
	return v.Get("error").Text() // so the lease calls call it
}

// check turns a result into an error, nil when it is a length.
func check(code int32) error {
	if code < 0 {
		return Errno(code)
	}
	return nil
}

// Fail tells why the hook fails, for operators: return hook.Fail("...").
// The hook's effects are dropped and the action is blocked.
func Fail(why string) int32 {
	rawFail(why)
	return failed
}

// FailError is Fail with the text of an error.
func FailError(err error) int32 { return Fail(err.Error()) }
