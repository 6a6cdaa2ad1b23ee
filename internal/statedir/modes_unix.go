//go:build unix

package statedir

// modesHold: the mode of a file says who may open it.
const modesHold = true
