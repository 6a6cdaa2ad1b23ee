package sandbox

import (
	"encoding/binary"
	"math"
	"time"
)

// The stub's clocks: 0 shows the invocation's time, 1 counts from zero, and each
// read moves them on a little (see hostcalls: a clock that stands still hangs
// guests that wait for time to pass). Sleeping moves both at once.

const (
	clockRealtime  = 0
	clockMonotonic = 1
)

func wasiClockTimeGet(inv *invocation, stack []uint64) uint32 {
	out := span{low32(stack[2]), 8}
	inv.check(out, "clock_time_get")
	var t int64
	switch low32(stack[0]) {
	case clockRealtime:
		t = inv.session.WASIRealtime()
	case clockMonotonic:
		t = inv.session.WASIMonotonic()
	default:
		return wasiINVAL
	}
	inv.copyOut(out.ptr, binary.LittleEndian.AppendUint64(nil, uint64(t)))
	return wasiOK
}

// Layout of poll_oneoff's arrays, and how many subscriptions it takes.
const (
	subSize   = 48
	eventSize = 32
	maxSubs   = 1024

	eventClock     = 0
	eventRead      = 1
	eventWrite     = 2
	subAbsolute    = 1 // flag: the timeout is a point of time, not a duration
	subKind        = 8
	subClockID     = 16
	subTimeout     = 24
	subClockFlags  = 40
	eventErrno     = 8
	eventKindPlace = 10
)

// wasiPollOneoff waits for no one: it moves the clocks to the earliest timeout
// and answers the clocks that are due then. Descriptors cannot be waited for.
func wasiPollOneoff(inv *invocation, stack []uint64) uint32 {
	in, out, n, nout := low32(stack[0]), low32(stack[1]), low32(stack[2]), low32(stack[3])
	if n == 0 || n > maxSubs {
		return wasiINVAL
	}
	inv.check(span{in, n * subSize}, "poll_oneoff")
	inv.check(span{out, n * eventSize}, "poll_oneoff")
	inv.check(span{nout, 4}, "poll_oneoff")
	inv.charge(wasiPerSub * int64(n))
	subs := inv.copyIn(span{in, n * subSize})

	waits := make([]int64, n) // nanoseconds from now; -1: not a clock
	earliest := int64(math.MaxInt64)
	for i := range waits {
		if waits[i] = inv.wait(subs[i*subSize:][:subSize]); waits[i] >= 0 {
			earliest = min(earliest, waits[i])
		}
	}
	if earliest < math.MaxInt64 {
		inv.session.WASIAdvance(time.Duration(earliest))
	}

	var events []byte
	for i, wait := range waits {
		sub := subs[i*subSize:][:subSize]
		ev := make([]byte, eventSize)
		copy(ev, sub[:8]) // the guest's own mark
		ev[eventKindPlace] = sub[subKind]
		switch {
		case sub[subKind] != eventClock:
			ev[eventErrno] = wasiBADF
			if sub[subKind] > eventWrite {
				ev[eventErrno] = wasiINVAL
			}
		case wait < 0:
			ev[eventErrno] = wasiINVAL
		case wait > earliest:
			continue
		}
		events = append(events, ev...)
	}
	inv.copyOut(out, events)
	inv.copyOut(nout, binary.LittleEndian.AppendUint32(nil, uint32(len(events)/eventSize)))
	return wasiOK
}

// wait is how long until a subscription to a clock is due, or -1.
func (inv *invocation) wait(sub []byte) int64 {
	wall, mono := inv.session.WASIClock()
	var now int64
	switch {
	case sub[subKind] != eventClock:
		return -1
	case le32(sub[subClockID:]) == clockRealtime:
		now = wall
	case le32(sub[subClockID:]) == clockMonotonic:
		now = mono
	default:
		return -1
	}
	timeout := int64(min(le64(sub[subTimeout:]), math.MaxInt64))
	if sub[subClockFlags]&subAbsolute != 0 {
		timeout = max(timeout-now, 0)
	}
	return timeout
}
