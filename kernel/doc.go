// Package kernel decides one invocation of one phase: it takes an
// immutable snapshot of the operator's bindings, runs the hooks that match in
// the fixed order of two passes, combines what they ask for, lets the audit phase
// redact more of the record, and releases the verdict only after the record is
// durable. Whatever goes wrong on the way becomes a block, never an allow.
//
// It never runs guest code itself (a Hook does), never reads configuration or
// keys from disk, never opens a socket, and never answers before the store has
// acknowledged the events of the answer.
//
// # Embedding
//
// Store, Loader, Redactor, Digester, Clock, Verifier, ToolExecutor and HTTPCaller are
// small public interfaces made of public types, so that other programs can bring their own. Most
// programs want package belay at the module root instead, which wires all of
// them from a state directory.
//
// # Concurrency
//
// A Kernel is safe for concurrent use. Reload swaps the snapshot atomically: an
// invocation that has begun finishes with the snapshot it began with.
package kernel
