package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// shim is the one way from a guest to a hostcall. For every row of the table it
// decodes the arguments, checks all ranges, copies in, charges, asks the
// session, charges again and copies out. Handlers see neither memory nor engine.
type shim struct {
	call hostcalls.Call
}

// span is a range of guest memory as the guest gave it.
type span struct{ ptr, n uint32 }

// low32 decodes an i32. The compiler leaves garbage in the upper half of the
// stack slot, at times host addresses; the interpreter does not. Nothing may
// ever look at that half.
func low32(slot uint64) uint32 { return uint32(slot) }

// Call implements api.GoModuleFunction.
func (h *shim) Call(ctx context.Context, _ api.Module, stack []uint64) {
	inv := invocationOf(ctx)
	c := &h.call
	if inv.init && !c.InInit {
		inv.endf(phases.KindHostcall, textEarlyCall, c.Name+" during start or _initialize")
	}

	var (
		in   [2]span
		out  span
		ins  int
		slot int
	)
	args := &inv.args // no guest makes a call from within another one
	*args = hostcalls.Args{}
	for _, p := range c.Params {
		if p == hostcalls.ParamI32 {
			args.I32 = int32(low32(stack[slot]))
			slot++
			continue
		}
		s := span{low32(stack[slot]), low32(stack[slot+1])}
		slot += 2
		inv.check(s, c.Name)
		if p == hostcalls.ParamIn {
			in[ins] = s
			ins++
		} else {
			out, args.Cap = s, s.n
		}
	}

	// The table bounds the copied bytes, so they are charged before they are
	// copied.
	copied := int64(0)
	for i := range ins {
		if in[i].n > uint32(c.MaxIn[i]) {
			in[i].n, args.Long[i] = uint32(c.MaxIn[i]), true
		}
		copied += int64(in[i].n)
	}
	inv.charge(c.Cost.Base + c.Cost.PerIn*copied)
	for i := range ins {
		args.In[i] = inv.copyIn(in[i])
	}

	res := inv.do(c, args)

	if len(res.Out) > 0 || res.Code >= 0 {
		res.Code = inv.answer(c, out, res)
	} else {
		inv.charge(res.Fuel)
	}
	if c.Result == hostcalls.ResultI64 {
		stack[0] = uint64(res.Code)
	} else {
		stack[0] = uint64(uint32(int32(res.Code)))
	}
}

// check ends the run when a range is not inside memory, also when it is empty.
func (inv *invocation) check(s span, who string) {
	if uint64(s.ptr)+uint64(s.n) > uint64(inv.memory().Size()) {
		inv.endf(phases.KindHostcall, textPointer,
			fmt.Sprintf("%s: range of %d bytes at %d is outside of memory (%d bytes)", who, s.n, s.ptr, inv.memory().Size()))
	}
}

// copyIn copies a range that check has passed.
func (inv *invocation) copyIn(s span) []byte {
	view, ok := inv.memory().Read(s.ptr, s.n)
	if !ok {
		inv.endf(phases.KindHostcall, textPointer, "range outside of memory")
	}
	return append(make([]byte, 0, len(view)), view...)
}

// copyOut writes b to a place that check has passed for at least len(b) bytes.
func (inv *invocation) copyOut(ptr uint32, b []byte) {
	if !inv.memory().Write(ptr, b) {
		inv.endf(phases.KindHostcall, textPointer, "range outside of memory")
	}
}

// do asks the session, under the context that the call deserves. It comes back
// only with a result for the guest.
func (inv *invocation) do(c *hostcalls.Call, args *hostcalls.Args) hostcalls.Result {
	var (
		res hostcalls.Result
		err error
	)
	run := func(ctx context.Context) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic in %s: %v", c.Name, p)
			}
		}()
		res, err = inv.session.Do(ctx, c, args)
	}
	if inv.init {
		inv.initial.called(c, args)
	}
	if c.Group == hostcalls.GroupAnalysis { // it stops where the fuel ends
		args.Fuel = max(inv.account.Limit-inv.account.Used(inv.inst.fuelLeft()), 1)
	}
	// Calls of this kind can wait for people and networks; the hook's own deadline
	// is for its own work.
	if c.Group == hostcalls.GroupCalls && c.Counted {
		args.Fuel = max(inv.account.Limit-inv.account.Used(inv.inst.fuelLeft()), 1)
		inv.outside(run)
	} else {
		switch c.Group {
		case hostcalls.GroupFree:
			// Such a call never waits and does no more than its fuel stands for: the deadline is looked at when that
			// is spent.
			run(inv.ctx)
		case hostcalls.GroupAnalysis, hostcalls.GroupCalls:
			inv.work.read(time.Now()) // it may take long
			fallthrough
		default:
			run(inv.handlerContext())
			if why := inv.late(); why != nil && err == nil {
				err = why
			}
		}
	}
	if err == nil {
		return res
	}
	f := phases.FaultOf(err)
	switch why := inv.late(); {
	case why != nil && (f == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		f = phases.NewFault(phases.KindDeadline, textDeadline, why)
	case f == nil:
		f = phases.NewFault(phases.KindHostcall, textHostcall, err)
	}
	inv.end(f)
	return res
}

// answer charges for a success and copies its bytes out, all or nothing.
func (inv *invocation) answer(c *hostcalls.Call, out span, res hostcalls.Result) int64 {
	for _, p := range c.Params {
		switch p {
		case hostcalls.ParamOut:
			if len(res.Out) > math.MaxInt32 {
				inv.endf(phases.KindHostcall, textHostcall, c.Name+": answer too long")
			}
			if len(res.Out) > int(out.n) {
				inv.charge(res.Fuel)
				return int64(len(res.Out))
			}
			inv.charge(c.Cost.PerOut*int64(len(res.Out)) + res.Fuel)
			inv.copyOut(out.ptr, res.Out)
			return int64(len(res.Out))
		case hostcalls.ParamFill:
			if len(res.Out) != int(out.n) {
				inv.endf(phases.KindHostcall, textHostcall, c.Name+": answer of the wrong length")
			}
			inv.charge(c.Cost.PerOut*int64(len(res.Out)) + res.Fuel)
			inv.copyOut(out.ptr, res.Out)
			return 0
		}
	}
	inv.charge(res.Fuel)
	return res.Code
}
