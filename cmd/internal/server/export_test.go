package server

// TakeBytes takes so many of the tenant's bytes in memory, or with 0 all of them, until it is released.
func TakeBytes(s *Server, n int64) (release func()) {
	if n == 0 {
		n = mostBytes
	}
	if !s.inflight.bytes.TryAcquire(n) {
		panic("the bytes are taken")
	}
	return func() { s.inflight.bytes.Release(n) }
}

// MostBytes is how many there are.
const MostBytes = mostBytes
