// Package fuzz runs one hook on unusual inputs, with budgets that end at every point and
// calls that fail. It decides whether the results can be defended: a failure lets nothing
// through, every run of an input has the same result, and an input that was stopped is not
// let through once it is written differently or made longer.
//
// It never decides which inputs a hook ought to stop: it compares the hook's decisions
// about two forms of the same input.
//
// No request of the hook reaches the world. A finding never depends on a clock or on a
// number that the seed does not give: the same module, seed and number of runs have the
// same findings, byte for byte, on any number of processors.
package fuzz
