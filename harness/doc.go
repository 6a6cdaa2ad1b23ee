// Package harness tests hooks outside of any live belay: it runs suites of cases, records
// the decisions of a host, replays recordings, and searches for inputs that a hook fails on.
// It serves programs and tests in Go; `belay test`, `belay replay` and `belay fuzz` do the
// same from a shell.
//
// It never touches the state of a live belay, and nothing that a hook asks for reaches the
// world: answers come from a suite, a recording or a seed. Fuel bounds a turn, and no
// deadline does, so that results are the same on every machine.
//
// Run, Replay and Fuzz are safe for concurrent use.
package harness
