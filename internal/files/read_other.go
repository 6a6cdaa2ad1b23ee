//go:build !unix

package files

// Elsewhere nothing can be opened without waiting: the look at the file before it is
// opened has to do.
const noWait = 0

const noFollow = 0
