// Package suite runs hooks on inputs that were written down or recorded, and
// decides whether what came out is what was wanted. It serves hook authors (suites
// beside a hook, `belay test`), the examples' own tests, and `belay demo`.
//
// It never touches the state of a live belay: every case has a kernel and a store of
// its own, in memory, and nothing that a hook asks for reaches the world. Cases keep
// no deadlines; fuel bounds them. So they come out the same on every machine.
package suite
