package sandbox

import (
	"encoding/binary"
	"testing"
)

// TestStubCosts: each function of the stub costs a call, and the bytes that it
// moves.
func TestStubCosts(t *testing.T) {
	s := newStub(t, 1)
	s.put(256, 0, 3, 0, 4) // two pieces, of 3 and 4 bytes
	more := map[string]struct {
		args []uint32
		fuel int64
	}{
		"random_get":  {[]uint32{1024, 5000}, 2 * 5000},
		"fd_write":    {[]uint32{1, 256, 2, 512}, 3 + 4},
		"poll_oneoff": {[]uint32{2048, 8192, 3, 512}, 3 * wasiPerSub},
	}
	for name, params := range preview1 {
		if name == "proc_exit" {
			continue // ends the turn
		}
		c := more[name]
		if c.args == nil {
			c.args = make([]uint32, len(params))
		}
		before := s.inv.account.Used(s.inv.inst.fuelLeft())
		if errno, f := s.call(name, c.args...); f != nil {
			t.Errorf("%s: %d %v", name, errno, f)
		}
		if used := s.inv.account.Used(s.inv.inst.fuelLeft()) - before; used != wasiCost+c.fuel {
			t.Errorf("%s costs %d, want %d", name, used, wasiCost+c.fuel)
		}
		delete(more, name)
	}
	if len(more) > 0 {
		t.Errorf("no such functions: %v", more)
	}
}

// TestStubWaits: a guest that waits is told of the clock that is due first, and of everything that cannot be waited
// for. Both clocks move on by as much as was waited.
func TestStubWaits(t *testing.T) {
	const at, out, count = 256, 4096, 8192
	type sub struct {
		kind    byte
		clock   uint32
		timeout int64 // nanoseconds from now, or, with absolute, the point of time that many from now
		flags   byte
	}
	type event struct {
		sub   int
		errno byte
	}
	for name, c := range map[string]struct {
		subs []sub
		want []event
		wait int64
	}{
		"one clock": {[]sub{{0, clockMonotonic, 1000, 0}}, []event{{0, wasiOK}}, 1000},
		"the other": {[]sub{{0, clockRealtime, 1000, 0}}, []event{{0, wasiOK}}, 1000},
		"no clock":  {[]sub{{0, 2, 1000, 0}}, []event{{0, wasiINVAL}}, 0},
		"the first of two": {[]sub{{0, clockMonotonic, 3000, 0}, {0, clockRealtime, 1000, 0}}, []event{{1, wasiOK}},
			1000},
		"two at once": {[]sub{{0, clockMonotonic, 1000, 0}, {0, clockRealtime, 1000, 0}},
			[]event{{0, wasiOK}, {1, wasiOK}}, 1000},
		"a point of time":         {[]sub{{0, clockMonotonic, 1000, subAbsolute}}, []event{{0, wasiOK}}, 1000},
		"a point of the day":      {[]sub{{0, clockRealtime, 1000, subAbsolute}}, []event{{0, wasiOK}}, 1000},
		"a point that has passed": {[]sub{{0, clockRealtime, -1000, subAbsolute}}, []event{{0, wasiOK}}, 0},
		"another flag":            {[]sub{{0, clockMonotonic, 1000, 2}}, []event{{0, wasiOK}}, 1000},
		"a file to read":          {[]sub{{eventRead, 0, 0, 0}}, []event{{0, wasiBADF}}, 0},
		"a file to write":         {[]sub{{eventWrite, 0, 0, 0}}, []event{{0, wasiBADF}}, 0},
		"nothing that there is":   {[]sub{{3, 0, 0, 0}}, []event{{0, wasiINVAL}}, 0},
		"a file beside a clock": {[]sub{{eventRead, 0, 0, 0}, {0, clockMonotonic, 1000, 0}},
			[]event{{0, wasiBADF}, {1, wasiOK}}, 1000},
		"no clock beside a clock": {[]sub{{0, clockMonotonic, 1000, 0}, {0, 9, 10, 0}}, []event{{0, wasiOK}, {1, wasiINVAL}},
			1000},
		"no time at all": {[]sub{{0, clockMonotonic, 0, 0}, {0, clockMonotonic, 1, 0}}, []event{{0, wasiOK}}, 0},
	} {
		s := newStub(t, 1)
		wall, mono := s.inv.session.WASIClock()
		for n, sub := range c.subs {
			b := s.mem[at+n*subSize:][:subSize]
			clear(b)
			binary.LittleEndian.PutUint64(b, uint64(0x1111*(n+1)))
			timeout := sub.timeout
			if sub.flags&subAbsolute != 0 {
				timeout += map[uint32]int64{clockRealtime: wall, clockMonotonic: mono}[sub.clock]
			}
			b[subKind], b[subClockFlags] = sub.kind, sub.flags
			binary.LittleEndian.PutUint32(b[subClockID:], sub.clock)
			binary.LittleEndian.PutUint64(b[subTimeout:], uint64(timeout))
		}
		if errno, f := s.call("poll_oneoff", at, out, uint32(len(c.subs)), count); errno != wasiOK || f != nil {
			t.Errorf("%s: %d %v", name, errno, f)
			continue
		}
		if n := le32(s.mem[count:]); int(n) != len(c.want) {
			t.Errorf("%s: %d events, want %v", name, n, c.want)
			continue
		}
		for n, want := range c.want {
			ev := s.mem[out+n*eventSize:][:eventSize]
			if le64(ev) != uint64(0x1111*(want.sub+1)) || ev[eventErrno] != want.errno ||
				ev[eventKindPlace] != c.subs[want.sub].kind {
				t.Errorf("%s: event %d is %x, want %+v", name, n, ev, want)
			}
		}
		if w, m := s.inv.session.WASIClock(); w-wall != c.wait || m-mono != c.wait {
			t.Errorf("%s: the clocks moved on by %d and %d, want %d", name, w-wall, m-mono, c.wait)
		}
	}
}
