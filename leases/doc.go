// Package leases decides what an agent may do for a while. A lease is a capability
// with a scope, a holder, an end and a number of uses. A trusted hook, a person or an
// operator's rule lends it, and can take it back.
//
// The package plans: a Ledger reads from a Store and returns an Op. A store carries the
// Op out inside the transaction that also records it. The package never writes, and
// never decides who may mint (package hostcalls and the kernel do). It never stores a
// token, only a keyed hash of it.
package leases
