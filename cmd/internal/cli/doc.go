// Package cli is the belay command: it decides how what people type becomes
// calls of the library, and how answers look on a terminal, in a pipe and as
// JSON. One file holds one command: an options struct filled by flags, and a
// run method that can be called without cobra.
//
// It never decides about an action: a verdict is printed as the kernel gave it.
//
// Output rules: the answer goes to standard output; everything else (progress,
// notes, errors) to standard error, errors with the prefix "belay:" and, where
// there is one, a line that says what to do next. Colour only on a terminal and
// without NO_COLOR. Every listing has --json.
package cli
