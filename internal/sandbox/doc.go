// Package sandbox runs hooks. It decides whether a module file may be loaded at
// all, which hostcalls it can reach while it runs (exactly those that it imports),
// how much fuel, time and memory one invocation gets, and which of few kinds a
// failure is. Everything that a guest says is untrusted here.
//
// It never decides what an action means, which capability a hook holds or what a
// hostcall answers (see package hostcalls), never opens files, sockets or clocks
// on behalf of a guest, and never lets text that a guest or the engine made reach
// a person unescaped. It is the only importer of the WebAssembly engine.
//
// Guest memory is mapped outside of the Go heap: neither its statistics nor
// GOMEMLIMIT see it. It is at most the number of running invocations times
// their memory caps, which the caller bounds, and 64 MiB of images and instances
// that wait for runs, which are given back when a module had none for two minutes.
//
// An [Engine] is opened once per process, a [Module] is loaded once per file and
// set of limits, and every [Module.Run] gets an instance in the state that start and
// _initialize leave behind: a fresh one, or one that is restored to it (see [Reset]).
// All three are safe for concurrent use.
package sandbox
