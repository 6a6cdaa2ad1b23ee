// Package suite runs hooks on inputs that were written down or recorded, and decides
// whether the verdict is the wanted one. It serves hook authors (suites beside a hook,
// `belay test`), the examples' own tests, and `belay demo`.
//
// It never touches the state of a live belay: every case has a kernel and a store of its
// own, in memory, and no request of a hook reaches the world. Cases have no deadlines; fuel
// bounds them. So their results are the same on every machine.
package suite
