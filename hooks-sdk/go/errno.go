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
