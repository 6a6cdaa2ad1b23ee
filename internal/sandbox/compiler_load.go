package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tetratelabs/wazero"
)

// compileApart has m's compiler compile code, without a cache: its files stay
// in a directory of this process until they are loaded.
func (m *code) compileApart(ctx context.Context, code []byte) error {
	dir, err := os.MkdirTemp("", "belay-code-")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCompiler, err)
	}
	defer os.RemoveAll(dir)
	return m.compileIn(ctx, dir, code)
}

// compileIn does so by way of a directory of its caller.
func (m *code) compileIn(ctx context.Context, dir string, code []byte) error {
	take := func() error {
		files, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCompiler, err)
		}
		return m.takeFrom(files, code)
	}
	// The engine's interpreter, where it is all that the platform has, compiles nothing
	// and needs no process.
	if err := take(); !errors.Is(err, errNoCode) {
		return err
	}
	m.reset()
	e, err := m.compiler.run(ctx, code, m.funcs, m.class.compilerLimits())
	if err != nil {
		return err
	}
	if _, err := e.write(dir, m.compiler.version); err != nil {
		return fmt.Errorf("%w: %w", ErrCompiler, err)
	}
	if err := take(); err != nil {
		return misnamed(err)
	}
	return nil
}

// misnamed is why code that a compiler handed back does not load: the engine does not
// find it under the module's name, or not in order.
func misnamed(err error) error {
	if errors.Is(err, errNoCode) {
		return fmt.Errorf("%w: its code is of another module, or of another processor", ErrCompiler)
	}
	return fmt.Errorf("%w: its code does not load: %w", ErrCompiler, err)
}

// write puts the entry where an engine of that version looks for it, and gives its path.
func (e *compiledEntry) write(dir, version string) (string, error) {
	sub := filepath.Join(dir, "wazero-"+version+"-"+runtime.GOARCH+"-"+runtime.GOOS)
	if err := os.MkdirAll(sub, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(sub, e.name)
	return path, os.WriteFile(path, e.content, 0o600)
}
