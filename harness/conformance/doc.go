// Package conformance is the kit for guest ABI version 1. It holds one guest for each
// rule that a host has to keep, and decides from what came of it whether the host keeps
// the rule. Hosts other than belay's own use rules and the modules in guests as
// they are, or are programs that [Start] starts (`belay conform host`); hosts in Go
// implement [Host] and call [Run] in a test. [RunSDK] is for authors of SDKs.
//
// A host that passes keeps the rules that are here. The kit does not say that it is
// safe: limits of time and memory, and what a compiler does with hostile modules, are
// not in it.
package conformance
