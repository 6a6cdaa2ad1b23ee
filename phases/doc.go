// Package phases holds the words that every other part of belay speaks: the
// eight phases, their typed actions, the scopes an action may touch, the effects
// a hook may ask for, and the verdict that a chain of hooks adds up to. It
// decides whether a document from outside is well formed, what an effect may
// change in which phase, and how the effects of many hooks combine.
//
// It never does I/O, reads a clock, or runs a hook: everything here is a pure
// function of its arguments, so that the same inputs give the same verdict on
// every machine. All values are safe for concurrent reading; none is changed
// after it was returned.
package phases
