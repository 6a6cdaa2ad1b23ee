package hostcalls

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// initEpoch is the wall time of the WASI stub during start and _initialize,
// 2020-01-01T00:00:00Z, so that a snapshot taken then does not depend on when.
const initEpoch = 1577836800

// clockStep is added to a stub clock by each read: a fixed clock hangs guests
// that wait for time to pass.
const clockStep = time.Microsecond

// stream is a random stream: block i is SHA-256(seed ‖ i as 8 bytes big endian).
// The construction is part of the ABI, since recordings hold only the seed.
type stream struct {
	seed [32]byte
	next uint64
	rest []byte
}

func (r *stream) fill(b []byte) {
	for len(b) > 0 {
		if len(r.rest) == 0 {
			var in [40]byte
			copy(in[:], r.seed[:])
			binary.BigEndian.PutUint64(in[32:], r.next)
			r.next++
			sum := sha256.Sum256(in[:])
			r.rest = sum[:]
		}
		n := copy(b, r.rest)
		b, r.rest = b[n:], r.rest[n:]
	}
}

// Random returns the next n bytes of the turn's stream; of the init stream
// during start and _initialize. It also serves the stub's random_get and
// AssemblyScript's seed.
func (s *Session) Random(n int) []byte {
	b := make([]byte, max(n, 0))
	if s.init {
		s.initRandom.fill(b)
	} else {
		s.random.fill(b)
	}
	return b
}

// Now returns the invocation's time in unix nanoseconds; a fixed epoch during
// start and _initialize.
func (s *Session) now() int64 {
	if s.init {
		return initEpoch * int64(time.Second)
	}
	return s.cfg.Time.UnixNano()
}

// WASIRealtime answers clock 0 of the WASI stub: the invocation's time plus what
// the stub's clocks have gone on since.
func (s *Session) WASIRealtime() int64 {
	s.wall += clockStep
	return s.now() + int64(s.wall)
}

// WASIMonotonic answers clock 1: nanoseconds from 0.
func (s *Session) WASIMonotonic() int64 {
	s.mono += clockStep
	return int64(s.mono)
}

// WASIClock returns both clocks without moving them, for poll_oneoff's absolute timeouts.
func (s *Session) WASIClock() (realtime, monotonic int64) {
	return s.now() + int64(s.wall), int64(s.mono)
}

// WASIAdvance moves both clocks on, as if the guest had slept; d < 0 counts as 0
// and a clock that would overflow stays.
func (s *Session) WASIAdvance(d time.Duration) {
	if d > 0 && s.mono+d > 0 && s.now()+int64(s.wall+d) > 0 {
		s.wall += d
		s.mono += d
	}
}

func timeNow(_ context.Context, s *Session, _ *Args) (Result, error) {
	return Result{Code: s.now()}, nil
}

func randomCall(_ context.Context, s *Session, a *Args) (Result, error) {
	if a.Cap > MaxRandom {
		return Result{Code: int64(TooLarge)}, nil
	}
	return Result{Out: s.Random(int(a.Cap))}, nil
}
