package alone

import (
	"io"
	"os"

	"github.com/belay-hooks/belay"
)

// IsCompiler says whether a command line, the program's name included, asks for a
// compiler process, which is none of the commands that people use: see Compile.
func IsCompiler(args []string) bool { return len(args) == 2 && args[1] == belay.CompilerCommand }

// Compile is a compiler process from start to end; it returns the exit status.
func Compile(in io.Reader, out, errs io.Writer) int { return belay.CompilerMain(in, out, errs) }

// OwnCompiler is this program as a compiler; nil where the system does not say which file
// it is.
func OwnCompiler() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{exe, belay.CompilerCommand}
}
