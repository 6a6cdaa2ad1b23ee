// Package shell tells which commands a shell text would run. It decides nothing
// about whether they may: rules are written against its Reply.
//
// The text is parsed with a real shell parser, walked as a shell would run it,
// and expanded where everything that an expansion needs stands in the text:
// quotes, escapes, variables assigned to literals, braces, arithmetic, and the
// output of a few well-known programs (echo, printf, base64 -d …). Programs
// that run other programs are unwrapped to a bounded depth. A value that is not
// known statically is reported as such and never guessed.
//
// It never runs anything, reads no file and no environment, and looks at no
// clock. Time and memory are bounded: see the limits. Parse is safe for
// concurrent use.
package shell
