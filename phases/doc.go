// Package phases holds the words that every other part of belay speaks: the
// eight phases, their typed actions, the scopes an action may touch, the effects
// a hook may ask for, and the verdict that a chain of hooks adds up to. It
// decides whether a document from outside is well formed, what an effect may
// change in which phase, and how the effects of many hooks combine.
//
// It never does I/O, reads a clock, or runs a hook: everything here is a pure
// function of its arguments, so that the same inputs give the same verdict on
// every machine. All values are safe for concurrent reading; none is changed
// after it was returned. Only a Chain has state, and belongs to one goroutine.
//
// The way of one invocation: DecodeInvocation refuses all but strict JSON of
// the phase's form; NewChain cuts its scopes to the ceiling and normalises the
// tool's name; for each hook, Document is its input, ApplyEffect answers
// whether one effect may stand, and Chain.Add counts the turn; Chain.Result is the verdict.
//
// Raw JSON stays raw: an action keeps the caller's bytes, numbers and spacing
// included, and Set and remove touch only the value that a pointer names. Two
// spellings of a value share one Canonical form, which digests and comparisons use.
//
// Formats: JSON Pointer is RFC 6901, the canonical form RFC 8785 (with one
// deviation, see Canonical), strict JSON RFC 7493, ids RFC 9562, times RFC 3339.
package phases
