package hostcalls

// Tap sees every call of a turn. It is called on the turn's goroutine, in the
// order of the calls, and decides nothing.
type Tap interface {
	// Called sees a call after it was answered, with the reply that it left, if
	// any. A non-nil err ended the turn. Nothing that it is given may be changed,
	// or kept after it returns.
	Called(c *Call, a *Args, r Result, reply []byte, err error)
}
