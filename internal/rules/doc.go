// Package rules turns policies without code into hooks: it decides what a rules file
// means, whether it can mean that, and compiles it into a copy of the engine that comes
// with belay (examples-wasm/rules-engine), as an index that the engine reads in place.
//
// It never decides about an action: the engine does, in the sandbox, as any hook. It
// reads no file, and the same bytes always become the same module. Everything is safe
// for concurrent use.
package rules
