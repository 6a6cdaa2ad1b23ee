package hostcalls

// Injector makes calls of a turn fail that would not, to see what the hook does
// then. It can only take away: it answers with an errno, or that the guest's buffer
// is too short. It is used by the turn's goroutine.
type Injector interface {
	// Inject is asked before a call that may be made is carried out; n counts all calls
	// of the turn, from 1. With ok the call answers res and is not carried out.
	Inject(n int, c *Call, a *Args) (res Result, ok bool)
}

// Injected is one call of a turn that was made to fail.
type Injected struct {
	Call  int   // of the turn, counted from 1
	Errno Errno // of the answer; 0 when Long
	// Long: it answered that there is more than the guest's buffer holds.
	Long bool
}

// maxLong is the largest buffer that a call can be made too long for, in bytes: no
// answer of a host is longer.
const maxLong = 1 << 20

// Injections are an Injector that is written down.
type Injections []Injected

// Inject implements Injector.
func (list Injections) Inject(n int, c *Call, a *Args) (Result, bool) {
	for _, i := range list {
		switch {
		case i.Call != n:
		case i.Errno < 0:
			return Result{Code: int64(i.Errno)}, true
		case i.Long && c.CanBeLong() && a.Cap < maxLong:
			return Result{Out: make([]byte, a.Cap+1)}, true
		}
	}
	return Result{}, false
}

// CanBeLong reports whether the call's answer goes into a buffer of the guest that
// can be too short for it.
func (c *Call) CanBeLong() bool {
	for _, p := range c.Params {
		if p == ParamOut {
			return true
		}
	}
	return false
}

// Failures are the errnos with which the call can fail for a reason that is not
// in its arguments: no grant, a spent quota, an answer that is too large, no
// port. What a reading call says of the input is not among them: the input says
// it.
func (c *Call) Failures() []Errno {
	switch {
	case c.Group == GroupFree:
		return nil
	case c.Group == GroupEffects:
		return []Errno{Denied, Budget, TooLarge}
	case c.Group == GroupAnalysis:
		return []Errno{Denied, Invalid, TooLarge}
	case c.Name == "state_get" || c.Name == "state_put":
		return []Errno{Denied, Budget, Unavailable}
	case c.Counted:
		return []Errno{Denied, Budget, TooLarge, Pending, Unavailable}
	}
	return []Errno{Denied}
}
