package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// direct gives an invocation with an instance on which host functions can be
// called without guest code in between, so that a test chooses whole stack slots.
func direct(t testing.TB, e *Engine) (*invocation, context.Context) {
	t.Helper()
	m := load(t, e, caller(t, "pre_tool", false))
	req := RunRequest{Phase: phases.PreTool, Session: session(t, phases.PreTool, lsAction), Timeout: -1}
	inv := newInvocation(context.Background(), m, &req, testTime)
	inst, err := m.instances.acquire(inv.callContext(), inv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.instances.release(inst, false, time.Now()) })
	inv.inst = inst
	// Pointers in the arguments below are 64: something to read, and zeros elsewhere.
	if !inst.memory.Write(64, []byte("/args/command")) {
		t.Fatal("no memory")
	}
	return inv, inv.callContext()
}

// hostCall calls one host function and tells what came of it.
func hostCall(ctx context.Context, inv *invocation, f *hostFunc,
	stack []uint64) (answer uint64, memory []byte, ended string) {
	defer func() {
		if p := recover(); p != nil {
			ended = fmt.Sprint(p)
		}
		view, _ := inv.memory().Read(0, inv.memory().Size())
		memory = bytes.Clone(view)
	}()
	f.fn.Call(ctx, inv.inst.module, stack)
	return stack[0], nil, ""
}

// The engine's compiler leaves garbage in the upper halves of i32 arguments. No
// host function, of the table or of the stubs, may be led by it, and none leaves
// any in an i32 result.
func TestUpperHalves(t *testing.T) {
	e := open(t, Options{})
	for module, funcs := range e.host {
		for name, f := range funcs {
			args := make([]uint64, max(len(f.sig.Params), 1))
			for i := range f.sig.Params {
				args[i] = []uint64{64, 13, 256, 32, 1, 0, 0, 0, 0}[i]
			}
			if name == "fd_write" || name == "poll_oneoff" {
				copy(args, []uint64{1, 4096, 1, 8192})
			}
			outcome := func(garbage uint64) string {
				inv, ctx := direct(t, e)
				stack := bytesOf(args)
				for i, p := range f.sig.Params {
					if p == wasm.I32 {
						stack[i] |= garbage << 32
					}
				}
				answer, memory, ended := hostCall(ctx, inv, f, stack)
				if len(f.sig.Results) == 0 {
					answer = 0
				} else if f.sig.Results[0] == wasm.I32 && answer>>32 != 0 {
					t.Errorf("%s.%s: %#x has an upper half", module, name, answer)
				}
				return fmt.Sprintf("%#x %q %x fuel %d", answer, ended, memory, inv.inst.fuelLeft())
			}
			if clean, poisoned := outcome(0), outcome(0xdeadbeef); clean != poisoned {
				t.Errorf("%s.%s:\n%.300s\n%.300s", module, name, clean, poisoned)
			}
		}
	}
}

func bytesOf(s []uint64) []uint64 { return append([]uint64(nil), s...) }

// table replaces one row's handler and costs, by name.
func table(name string, change func(c *hostcalls.Call)) []hostcalls.Call {
	rows := hostcalls.Table()
	for i := range rows {
		if rows[i].Name == name {
			change(&rows[i])
		}
	}
	return rows
}

// What a handler does wrong ends the run as a fault of the host, and the process
// goes on.
func TestHandlerFaults(t *testing.T) {
	type handler = func(ctx context.Context, s *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error)
	boom := errors.New("boom \x1b[2J")
	for name, c := range map[string]struct {
		handle  handler
		kind    phases.Kind
		timeout time.Duration
	}{
		"panics": {func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) { panic(boom) },
			phases.KindHostcall, -1},
		"runtime error": {func(_ context.Context, s *hostcalls.Session, _ *hostcalls.Args) (hostcalls.Result, error) {
			var m map[string]int
			m["x"] = 1
			return hostcalls.Result{}, nil
		}, phases.KindHostcall, -1},
		"fails": {func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
			return hostcalls.Result{}, boom
		}, phases.KindHostcall, -1},
		"store": {func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
			return hostcalls.Result{}, phases.NewFault(phases.KindStore, "x", boom)
		}, phases.KindStore, -1},
		"waits": {func(ctx context.Context, _ *hostcalls.Session, _ *hostcalls.Args) (hostcalls.Result, error) {
			<-ctx.Done()
			return hostcalls.Result{}, ctx.Err()
		}, phases.KindDeadline, 10 * time.Millisecond},
		"fills short": {func(_ context.Context, _ *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error) {
			return hostcalls.Result{Out: make([]byte, a.Cap-1)}, nil
		}, phases.KindHostcall, -1},
		"fills long": {func(_ context.Context, _ *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error) {
			return hostcalls.Result{Out: make([]byte, a.Cap+1)}, nil
		}, phases.KindHostcall, -1},
		"costs all": {func(_ context.Context, _ *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error) {
			return hostcalls.Result{Out: make([]byte, a.Cap), Fuel: 1 << 62}, nil
		}, phases.KindFuel, -1},
		"works": {func(_ context.Context, _ *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error) {
			return hostcalls.Result{Out: make([]byte, a.Cap)}, nil
		}, "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, Options{Table: table("random", func(row *hostcalls.Call) { row.Handle = c.handle })})
			m := load(t, e, caller(t, "pre_tool", true, imported{
				module: hostcalls.Module, name: "random", params: i32x2, results: i32, args: []int64{100, 10}}))
			s := session(t, phases.PreTool, lsAction)
			_, err := m.Run(context.Background(), RunRequest{Phase: phases.PreTool, Session: s, Timeout: c.timeout})
			f := faultOf(t, err)
			switch {
			case c.kind == "":
				if err != nil {
					t.Error(err, errors.Unwrap(err))
				}
			case f == nil || f.Kind != c.kind:
				t.Errorf("%v", err)
			case strings.Contains(f.Error(), "boom"), strings.Contains(f.Cause.Error(), "\x1b"):
				t.Errorf("%q %q", f, f.Cause)
			}
		})
	}
}

// A range that is not inside memory ends the run before the session is asked: also an
// empty one, and one that nothing would be written to.
func TestRangesAreInsideMemory(t *testing.T) {
	end := int64(pageSize)
	for name, at := range map[string][2]int64{
		"begins behind the end":            {end + 1, 0},
		"goes over the end":                {end - 1, 2},
		"wraps round":                      {1<<32 - 1, 2},
		"the last byte":                    {end - 1, 1},
		"nothing, at the end":              {end, 0},
		"begins behind the end, with some": {end + 1, 10},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			handle := func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
				asked = true
				return hostcalls.Result{Code: int64(hostcalls.Absent)}, nil
			}
			e := open(t, Options{Table: table("random", func(row *hostcalls.Call) { row.Handle = handle })})
			m := load(t, e, caller(t, "pre_tool", true, imported{
				module: hostcalls.Module, name: "random", params: i32x2, results: i32, args: at[:]}))
			_, err := m.Run(context.Background(),
				RunRequest{Phase: phases.PreTool, Session: session(t, phases.PreTool, lsAction), Timeout: -1})
			inside := at[0]+at[1] <= end
			if f := phases.FaultOf(err); asked != inside || !inside && (f == nil || f.Kind != phases.KindHostcall) {
				t.Errorf("the session was asked: %v, %v", asked, err)
			}
		})
	}
}

// What counted calls take is not the hook's time: the deadline moves on by it.
func TestCallsOutsideTheDeadline(t *testing.T) {
	slow := func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
		time.Sleep(60 * time.Millisecond)
		return hostcalls.Result{}, nil
	}
	call := imported{module: hostcalls.Module, name: "state_put",
		params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32}, results: i32}
	look := imported{module: hostcalls.Module, name: "input_kind", params: i32x2, results: i32}
	for _, counted := range []bool{true, false} {
		rows := table("state_put", func(c *hostcalls.Call) { c.Handle, c.Counted = slow, counted })
		m := load(t, open(t, Options{Table: rows}), caller(t, "pre_tool", false, call, look))
		o := run(t, m, RunRequest{Phase: phases.PreTool, Timeout: 50 * time.Millisecond, Ceiling: 50 * time.Millisecond},
			lsAction)
		if want := map[bool]phases.Kind{true: "", false: phases.KindDeadline}[counted]; o.Kind != want {
			t.Errorf("counted %v: %q %s", counted, o.Kind, o.Cause)
		}
	}
}

// Arguments longer than the row allows are copied in part and marked; costs are
// charged per byte copied, in and out; reads are all or nothing.
func TestCopyAndCharge(t *testing.T) {
	var got []hostcalls.Args
	rows := table("input_get", func(c *hostcalls.Call) {
		c.MaxIn = [2]int{4}
		c.Cost = hostcalls.Cost{Base: 1000, PerIn: 10, PerOut: 100}
		c.Handle = func(_ context.Context, _ *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error) {
			got = append(got, *a)
			return hostcalls.Result{Out: []byte("sixsix"), Fuel: 7}, nil
		}
		c.Cuts = true
	})
	e := open(t, Options{Table: rows})
	f := e.host[hostcalls.Module]["input_get"]
	for _, c := range []struct {
		n, room uint64
		cost    int64
		in      string
		long    bool
		out     string
	}{
		{3, 6, 1000 + 30 + 600 + 7, "/ar", false, "sixsix"},
		{4, 5, 1000 + 40 + 7, "/arg", false, "\x00\x00\x00\x00\x00\x00"},
		{13, 7, 1000 + 40 + 600 + 7, "/arg", true, "sixsix"},
		{0, 0, 1000 + 7, "", false, "\x00\x00\x00\x00\x00\x00"},
	} {
		got = nil
		inv, ctx := direct(t, e)
		answer, memory, ended := hostCall(ctx, inv, f, []uint64{64, c.n, 256, c.room})
		if answer != 6 || ended != "" || len(got) != 1 {
			t.Fatal(answer, ended, got)
		}
		want := hostcalls.Args{In: [2][]byte{[]byte(c.in)}, Long: [2]bool{c.long}, Cap: uint32(c.room)}
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Error(d)
		}
		if used := inv.account.Used(inv.inst.fuelLeft()); used != c.cost {
			t.Errorf("used %d, want %d", used, c.cost)
		}
		if string(memory[256:262]) != c.out {
			t.Errorf("%q", memory[256:262])
		}
		// What the handler got is a copy.
		if len(got[0].In[0]) > 0 {
			got[0].In[0][0] = 'X'
			if b, _ := inv.memory().ReadByte(64); b != '/' {
				t.Error("the handler wrote to guest memory")
			}
		}
	}
}
