//go:build !unix

package statedir

// modesHold: who may open a file is not in its mode, and package os does not say it.
const modesHold = false
