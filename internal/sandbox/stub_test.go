package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// stub is a run of a module that does nothing, to call functions of the WASI stub in.
type stub struct {
	inv *invocation
	mem []byte // all of the guest's memory
}

func newStub(t *testing.T, pages uint32) *stub {
	t.Helper()
	file := reparse(t, caller(t, "pre_tool", false))
	file.Memory.Min = pages
	e := open(t, Options{Interpreter: true})
	m, err := e.Load(t.Context(), encode(t, file), LoadOptions{MemoryCap: int64(pages) * pageSize})
	if err != nil {
		t.Fatal(err)
	}
	req := RunRequest{Phase: phases.PreTool, Session: session(t, phases.PreTool, lsAction), Fuel: 1 << 40, Timeout: -1}
	inv := newInvocation(context.Background(), m, &req, testTime)
	if inv.inst, err = m.instances.acquire(inv.callContext(), inv); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.instances.release(inv.inst, false, time.Now()) })
	mem, ok := inv.memory().Read(0, inv.memory().Size())
	if !ok {
		t.Fatal("no memory")
	}
	return &stub{inv: inv, mem: mem}
}

// call gives the error number, or the fault that ends the turn.
func (s *stub) call(name string, args ...uint32) (errno uint32, f *phases.Fault) {
	defer func() {
		if p := recover(); p != nil {
			f, _ = p.(*phases.Fault)
			if f == nil {
				panic(p)
			}
		}
	}()
	s.inv.ended = nil
	stack := make([]uint64, max(len(args), 1))
	for i, a := range args {
		stack[i] = uint64(a) | 0xdead<<32 // as the compiler leaves it
	}
	wasiFunctions()[name].fn.Call(s.inv.callContext(), nil, stack)
	return uint32(stack[0]), nil
}

func (s *stub) put(at uint32, words ...uint32) {
	for i, w := range words {
		binary.LittleEndian.PutUint32(s.mem[int(at)+4*i:], w)
	}
}

// outside says whether a fault is the one of a range that lies outside of memory, found
// before anything was done with it.
func outside(f *phases.Fault, name string) bool {
	var d *Detail
	return f != nil && f.Kind == phases.KindHostcall && f.Text == textPointer && errors.As(f.Cause, &d) &&
		strings.HasPrefix(strings.Replace(d.Reason, "wasi: ", name+": ", 1), name+": range of ")
}

// A pointer of which one byte lies outside of memory ends the turn, whichever argument of
// whichever function it is, before anything is written or a clock moves. The last place
// inside is taken.
func TestStubPointers(t *testing.T) {
	s := newStub(t, 1)
	const end = pageSize
	for _, free := range [][]byte{s.mem[:256], s.mem[1024 : end-256]} { // writes show
		copy(free, bytes.Repeat([]byte{0x55}, len(free)))
	}
	// Two subscriptions at 256, of which the first only is due: the answer is shorter than
	// the room that there must be for it. A vector at 512.
	s.put(256+subClockID, clockMonotonic)
	s.put(256+subTimeout, 1000)
	s.put(256+subSize+subClockID, clockMonotonic)
	s.put(256+subSize+subTimeout, 2_000_000)
	s.put(512, 0, 1)
	before := bytes.Clone(s.mem)
	for _, c := range []struct {
		name string
		args []uint32 // all of them inside
		at   int      // the argument that is a pointer
		n    uint32   // bytes that it points to
	}{
		{"args_sizes_get", []uint32{0, 8}, 0, 4},
		{"args_sizes_get", []uint32{0, 8}, 1, 4},
		{"environ_sizes_get", []uint32{0, 8}, 0, 4},
		{"environ_sizes_get", []uint32{0, 8}, 1, 4},
		{"clock_time_get", []uint32{clockRealtime, 0, 0}, 2, 8},
		{"clock_time_get", []uint32{clockMonotonic, 0, 0}, 2, 8},
		{"random_get", []uint32{0, 16}, 0, 16},
		{"random_get", []uint32{0, 0}, 0, 0},
		{"poll_oneoff", []uint32{256, 1024, 2, 0}, 0, 2 * subSize},
		{"poll_oneoff", []uint32{256, 1024, 2, 0}, 1, 2 * eventSize},
		{"poll_oneoff", []uint32{256, 1024, 2, 0}, 3, 4},
		{"fd_write", []uint32{1, 512, 1, 0}, 1, 8},
		{"fd_write", []uint32{1, 512, 0, 0}, 1, 0},
		{"fd_write", []uint32{1, 512, 1, 0}, 3, 4},
	} {
		for _, p := range []uint32{end - c.n + 1, end + 1, math.MaxInt32, math.MaxUint32} {
			wall, mono := s.inv.session.WASIClock()
			with := slices.Clone(c.args)
			with[c.at] = p
			if errno, f := s.call(c.name, with...); !outside(f, c.name) {
				t.Errorf("%s: argument %d is %d: %d %v", c.name, c.at, p, errno, f)
			}
			if w, m := s.inv.session.WASIClock(); w != wall || m != mono {
				t.Errorf("%s: argument %d is %d: a clock moved", c.name, c.at, p)
			}
			if !bytes.Equal(s.mem, before) {
				t.Fatalf("%s: argument %d is %d: memory was written to", c.name, c.at, p)
			}
		}
		with := slices.Clone(c.args)
		with[c.at] = end - c.n
		if errno, f := s.call(c.name, with...); f != nil || errno != wasiOK {
			t.Errorf("%s: argument %d is %d: %d %v", c.name, c.at, end-c.n, errno, f)
		}
		copy(s.mem, before)
	}
	// The pieces of fd_write are pointers, too.
	for _, v := range [][2]uint32{{end, 1}, {end + 1, 0}, {0, end + 1}, {math.MaxUint32, math.MaxUint32}} {
		s.put(512, v[0], v[1])
		before := bytes.Clone(s.mem)
		if _, f := s.call("fd_write", 1, 512, 1, 0); !outside(f, "fd_write") || !bytes.Equal(s.mem, before) {
			t.Errorf("fd_write of %d bytes at %d: %v", v[1], v[0], f)
		}
	}
}

// Every other function of the stub looks at no pointer: it answers its error number, and
// writes nothing.
func TestStubWithoutPointers(t *testing.T) {
	s := newStub(t, 1)
	before := bytes.Clone(s.mem)
	want := map[string]uint32{"args_get": wasiOK, "environ_get": wasiOK, "sched_yield": wasiOK}
	for _, name := range []string{
		"fd_fdstat_get", "fd_fdstat_set_flags",
		"fd_prestat_get", "fd_prestat_dir_name", "fd_close", "fd_read",
	} {
		want[name] = wasiBADF
	}
	checked := map[string]bool{
		"args_sizes_get": true, "environ_sizes_get": true, "clock_time_get": true, "poll_oneoff": true,
		"random_get": true, "fd_write": true, "proc_exit": true,
	}
	for name, params := range preview1 {
		if checked[name] {
			continue
		}
		errno, ok := want[name]
		if !ok {
			errno = wasiNOSYS
		}
		for _, p := range []uint32{0, pageSize - 1, math.MaxUint32} {
			args := make([]uint32, len(params))
			for i := range args {
				args[i] = p
			}
			if got, f := s.call(name, args...); got != errno || f != nil {
				t.Errorf("%s of %d: %d %v, want %d", name, p, got, f, errno)
			}
		}
	}
	if !bytes.Equal(s.mem, before) {
		t.Error("memory was written to")
	}
	if _, f := s.call("proc_exit", 0); f == nil || f.Kind != phases.KindOutput {
		t.Errorf("proc_exit: %v", f)
	}
}

// The counts in a call have bounds: subscriptions, pieces, and the bytes of all
// of them.
func TestStubBounds(t *testing.T) {
	const pages = 512
	s := newStub(t, pages)
	const whole = pages * pageSize // 64 pieces of it are 2 GiB
	vectors := func(last uint32) {
		for i := range uint32(maxVectors) {
			s.put(1024+8*i, 0, whole)
		}
		s.put(1024+8*(maxVectors-1), 0, last)
	}
	for _, c := range []struct {
		name string
		args []uint32
		last uint32 // length of the last piece
		want uint32
	}{
		{"poll_oneoff", []uint32{4096, 1 << 20, 0, 0}, 0, wasiINVAL},
		{"poll_oneoff", []uint32{4096, 1 << 20, 1, 0}, 0, wasiOK},
		{"poll_oneoff", []uint32{4096, 1 << 20, 1024, 0}, 0, wasiOK},
		{"poll_oneoff", []uint32{4096, 1 << 20, 1025, 0}, 0, wasiINVAL},
		{"fd_write", []uint32{0, 1024, 1, 0}, 0, wasiBADF},
		{"fd_write", []uint32{1, 1024, 1, 0}, 0, wasiOK},
		{"fd_write", []uint32{2, 1024, 1, 0}, 0, wasiOK},
		{"fd_write", []uint32{3, 1024, 1, 0}, 0, wasiBADF},
		{"fd_write", []uint32{1, 1024, 65, 0}, 0, wasiINVAL},
		{"fd_write", []uint32{1, 1024, 64, 0}, whole - 1, wasiOK},
		{"fd_write", []uint32{1, 1024, 64, 0}, whole, wasiINVAL},
	} {
		vectors(c.last)
		s.put(0, 0x55555555)
		if got, f := s.call(c.name, c.args...); got != c.want || f != nil {
			t.Errorf("%s %v, %d in the last piece: %d %v, want %d", c.name, c.args, c.last, got, f, c.want)
		}
		written := le32(s.mem) != 0x55555555
		if written != (c.want == wasiOK) {
			t.Errorf("%s %v: answered with %d, a count was written: %v", c.name, c.args, c.want, written)
		}
		if c.last == whole-1 && le32(s.mem) != math.MaxInt32 {
			t.Errorf("%d bytes were counted", le32(s.mem))
		}
	}
}
