// Package fleet looks at all kernels of an organisation at once: whether the log of each is the signed one and the one
// that was there before, and how each kernel is.
//
// It believes nothing of what a kernel or the database says. What it knows comes from an operator's file of keys and
// from a memory of its own, outside of the database. It changes nothing in the database.
package fleet
