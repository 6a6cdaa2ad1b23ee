// Package hostcalls is the table of everything that a guest can ask of the
// host: for every call its name, core signature, capability, least tier, the
// phases in which it is legal, its cost and its limits, and the handler. It
// decides whether a call is allowed and makes its answer.
//
// It never touches guest memory and knows no engine: the sandbox decodes
// arguments, copies bytes in and out and charges fuel as the table says. A
// Session belongs to one turn of one hook and is used by one goroutine.
package hostcalls
