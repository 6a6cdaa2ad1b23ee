// Package meter rewrites a validated WebAssembly module so that running it costs a number
// of fuel units that depends on nothing but the module, its input and its host's answers.
// It decides what each instruction costs ([CostTable]), where a guest can be stopped,
// how deep it may call, how far memory and tables may grow, and which NaN arithmetic
// gives. It never runs, links or validates anything, and never makes an invalid module
// valid: it works on what [wasm.Parse] has accepted and checks every index again that
// could come to name something of its own.
//
// # What comes out
//
// The module is written from the model, canonically: no custom sections, so no names; no
// start section; exports of functions and of the memory under their own names; exports of
// tables and globals are gone. Added are:
//
//	import __belay.yield (i64)->(i64)   called when the counter is below zero
//	import __belay.stack ()->()         called when the stack budget is spent
//	export __belay_fuel                 mutable i64 global, 0 at first
//	export __belay_stack                mutable i32 global, Output.StackBudget at first
//	export __belay_grow_refused         mutable i32 global, 0 at first
//	export __belay_start                function ()->(), with Output.Start
//	export __belay_gN                   the guest's mutable number global N
//	export __belay_cN                   mutable i64 globals, 0 at first, with Options.Cover
//
// The two imports stand behind the guest's own, so function indices from there on move
// up by two; [Output.OriginalFunc] translates.
//
// # How a host drives it
//
//  1. Provide a host module named __belay with both imports. Compile Output.Wasm with the
//     features of core 2.0, instantiate it without a name and without start functions
//     (wazero: WithName("") and WithStartFunctions()). No guest code runs by that. An
//     active segment out of range is an instantiation error.
//  2. Keep one [Account] per invocation; put a fresh one in place before the first call.
//     The counter is then 0, with nothing granted: the first check of the guest yields.
//  3. If Output.Start, call __belay_start first, then _initialize if there is one, then
//     the phase, all under the same account.
//  4. yield is Account.Refill: return the new counter, or panic with the fault when it
//     gives ErrFuel. It is also where to look at the deadline and to let other goroutines
//     run. The global holds the same value as the argument during yield; the guest stores
//     the result in it.
//  5. stack must panic with the host's own fault. (Should it return, the guest traps as
//     unreachable.)
//  6. A host function that costs something reads __belay_fuel, calls Account.Charge and
//     writes the result back, also on ErrFuel, upon which it panics. The guest spills its
//     counter before every call and reloads it after. A host function must not call into
//     the instance that called it.
//  7. When a call has returned, used fuel is Account.Settle of the global; ErrFuel there
//     means that the last instructions went over the budget, and is a fault like any
//     other. When it trapped, used fuel is Account.Used of the global: what had been
//     spent at the last check or call before the trap. None of this depends on the slice
//     or on the engine.
//  8. A trap with __belay_grow_refused ≠ 0 is a lack of memory, whatever trapped. The
//     flag is set when memory.grow answers -1, and the pass never clears it. An allocator
//     that cannot deliver within the maximum must panic, not refuse: the guest would see
//     -1 where another run sees success.
//  9. After a trap or panic discard the instance: __belay_stack is restored only by calls
//     that return. To use an instance again after a return, write back memory, the
//     Globals of the Output, __belay_fuel and __belay_grow_refused, if
//     Output.Restorable; else instantiate anew. Where that is the state after start and
//     _initialize, [Account.Skip] gives the counter for the phase.
//
// # How it works
//
// The counter lives in a local, where a compiler can keep it in a register. Every region
// of straight-line code pays its cost on entry, the smallest ones at the head of their
// loop or function. Function entries and loop heads check the
// counter, as do instructions whose cost depends on an operand; so between two checks
// runs at most what one function holds, once. A check also stores the counter in the
// global; other charges are stored before calls and at the function's end. A loop whose
// counter is spent goes back to its head when the host has answered, with the charge of
// the round given back: code that rejoins a round in its middle costs every round.
//
// Calls pay from a second counter, in units that divide both a slot of 8 bytes and the
// least share of one call, so that 131,072 slots and 1,920 calls (the defaults) are exact
// bounds at once. A function that calls nothing only compares. The bound on calls is what
// it is because wazero's interpreter has frames for 2,000 ([PortableCalls]): a guest must
// stop at the same call on both engines.
//
// A NaN that arithmetic gives is made canonical at once, unless the one instruction that
// consumes it cannot tell NaNs apart; see nan.go for the list and for why pmin, pmax and
// the sign operations are left alone.
//
// Code that cannot be reached is copied but neither charged nor changed, so that the
// engine still validates it.
package meter
