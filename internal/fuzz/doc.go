// Package fuzz runs one hook on inputs that nobody would think of, with budgets that
// end at every point and calls that fail, and decides whether what came out can be
// defended: that nothing is let through because something went wrong, that the same
// comes out every time, and that an input which was stopped is not let through once
// it is written differently or made longer.
//
// It decides nothing about what a hook ought to stop: it knows only what the hook
// itself said about another form of the same input.
//
// Nothing that the hook asks for reaches the world, and nothing in here looks at a
// clock or draws a number that the seed does not give: the same module, seed and
// number of runs have the same findings, byte for byte, on any number of processors.
package fuzz
