package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/belay-hooks/belay/internal/files"
)

// CompilerCommand is the only argument of a program that is to do what CompilerMain
// does. A program that has it hands [CompilerMain] its standard streams before it does
// anything else.
const CompilerCommand = "compile-module"

// CompilerMain is the whole of a compiler process: it takes limits upon itself, reads one
// metered module, compiles it in the current directory, which is to be empty and its own,
// and writes the compiled code. It returns the exit status. It ends the process when in
// is closed, which its parent does not do while it lives, and knows of no state directory
// and no key.
func CompilerMain(in io.Reader, out, errs io.Writer) int {
	if err := compilerMain(in, out); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

func compilerMain(in io.Reader, out io.Writer) error {
	limits, size, err := readLimits(in)
	if err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	if err := limitCompiler(limits); err != nil {
		return fmt.Errorf("no limits, and so no compiling: %w", err)
	}
	debug.SetMemoryLimit(int64(limits.data-runtimeData) * 9 / 10) // the collector tries harder below the limit
	code := make([]byte, size)
	if _, err := io.ReadFull(in, code); err != nil {
		return fmt.Errorf("the module cannot be read: %w", err)
	}
	go func() {
		var b [1]byte
		_, _ = in.Read(b[:])
		os.Exit(1) // the parent is gone, or has more to say than it may
	}()
	// No parent waits for a process that was stopped and goes on later.
	time.AfterFunc(2*time.Minute, func() { os.Exit(1) })
	e, err := compileHere(code)
	if err != nil {
		return err
	}
	e.identity = identity(engineVersion())
	_, err = out.Write(answer(e))
	return err
}

// compileHere compiles code and returns what the engine keeps of it.
func compileHere(code []byte) (e *compiledEntry, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	ctx := context.Background()
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	compiled, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, engineConfig(false).WithCompilationCache(compiled))
	if _, err := rt.CompileModule(ctx, code); err != nil {
		return nil, fmt.Errorf("the engine refused the metered module: %w", err)
	}
	paths, err := entries(dir)
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, errors.New("the engine kept no code")
	}
	content, err := files.Read(paths[0], 1<<30) // what this process may have is less
	if err != nil {
		return nil, err
	}
	return &compiledEntry{name: filepath.Base(paths[0]), content: content}, nil
}
