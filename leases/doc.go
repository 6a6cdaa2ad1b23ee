// Package leases decides what an agent may do for a while: a lease is a capability
// with a scope, a holder, an end and a number of uses, which a trusted hook, a
// person or an operator's rule lends and which can be taken back.
//
// It plans: a Ledger reads from a Store and returns an Op, which a store carries out
// inside the transaction that also records it. It never writes, never decides who
// may mint (package hostcalls and the kernel do), and never keeps a token: only a
// keyed hash of it.
package leases
