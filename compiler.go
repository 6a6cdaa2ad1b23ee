package belay

import (
	"io"

	"github.com/belay-hooks/belay/internal/sandbox"
)

// CompilerCommand is the argument by which a program says that it is to do what
// CompilerMain does and nothing else.
const CompilerCommand = sandbox.CompilerCommand

// CompilerMain is all that a compiler process does: see Options.Compiler. A program that
// compiles for itself calls it first thing in main when CompilerCommand is its only
// argument, and exits with the returned code.
func CompilerMain(in io.Reader, out, errs io.Writer) int {
	return sandbox.CompilerMain(in, out, errs)
}
