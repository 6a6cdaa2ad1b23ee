// Package harness runs hooks on inputs that were written down or recorded, and
// decides whether what came out is what was wanted. It serves hook authors
// (cases beside a hook), the examples' own tests, and `belay demo`.
//
// It never touches the state of a live belay: every case has a kernel and a
// store of its own, in memory.
package harness
