package hook

// called fetches the reply, or what explains why there is none.
func called(code int32) (string, error) {
	s, err := lastReply()
	if code < 0 {
		return "", &Refused{Errno: Errno(code), Document: s} // s is "" when the host does not explain itself
	}
	return s, err
}

// RequestToolCall runs another tool through its own chain of hooks. Takes and
// replies JSON. The errors of this call and of the next five are *Refused.
func RequestToolCall(json string) (string, error) { return called(rawRequestToolCall(json)) }

// RequestLease asks for a lease on behalf of the agent. Takes and replies JSON.
func RequestLease(json string) (string, error) { return called(rawRequestLease(json)) }

// CheckLease asks whether a lease covers a use. Takes and replies JSON.
func CheckLease(json string) (string, error) { return called(rawCheckLease(json)) }

// MintLease makes a lease; trusted hooks only. Takes and replies JSON.
func MintLease(json string) (string, error) { return called(rawMintLease(json)) }

// RevokeLease revokes leases; trusted hooks only. Takes and replies JSON.
func RevokeLease(json string) (string, error) { return called(rawRevokeLease(json)) }

// HTTPRequest sends a request to an allowed host; trusted hooks only. Takes and
// replies JSON.
func HTTPRequest(json string) (string, error) { return called(rawHTTPRequest(json)) }

// StateGet returns the bytes that this hook keeps under a key, its own writes of
// this turn included. The error is Absent when there are none.
func StateGet(key string) (string, error) {
	return fetch(128, func(d []byte) int32 { return rawStateGet(key, d) })
}

// StatePut keeps bytes under a key, for this hook only, once the verdict is on
// record. Empty bytes remove the key.
func StatePut(key, value string) error { return check(rawStatePut(key, value)) }

// TimeNow returns the invocation's time in nanoseconds since 1970. It does not
// move during the call.
func TimeNow() int64 { return rawTimeNow() }

// Random fills d (at most 4,096 bytes) from the invocation's recorded stream.
func Random(d []byte) error { return check(rawRandom(d)) }
