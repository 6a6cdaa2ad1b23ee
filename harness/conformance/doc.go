// Package conformance is the kit for guest ABI version 1. It has one guest module for each
// rule of the ABI, and decides from the outcome of the module whether a host obeys the
// rule. Hosts in Go implement [Host] and call [Run] in a test. Hosts in other languages are
// programs that [Start] starts (`belay conform host`), or read rules and guests as files.
// [RunSDK] is for authors of SDKs.
//
// The kit never says that a host is safe: limits of time and memory, and compiling hostile
// modules, are not in it.
package conformance
