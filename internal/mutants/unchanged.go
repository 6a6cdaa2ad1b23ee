package mutants

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// linkFast leaves out what debuggers read: linking is much of the work of a run.
const linkFast = "-ldflags=-s -w"

// testBinary is the test binary of a package without a change, built once.
type testBinary struct {
	once sync.Once
	path string
	err  error
}

func (r *Runner) binary(ctx context.Context, pkg string) (string, error) {
	r.mu.Lock()
	if r.whole == nil {
		r.whole = map[string]*testBinary{}
	}
	b := r.whole[pkg]
	if b == nil {
		b = &testBinary{}
		r.whole[pkg] = b
	}
	r.mu.Unlock()
	b.once.Do(func() {
		dir, err := os.MkdirTemp(r.Scratch, "whole-")
		if err != nil {
			b.err = err
			return
		}
		b.path = filepath.Join(dir, "whole.test")
		cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", linkFast, "-c", "-o", b.path, pkg)
		cmd.Dir = r.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w\n%s", err, tail(out))
		}
	})
	return b.path, b.err
}

// unchanged runs the tests that pattern selects of the package as it stands. An error means that they do not pass, or
// that there are none.
func (r *Runner) unchanged(ctx context.Context, pkg, pattern string) (Result, error) {
	path, err := r.binary(ctx, pkg)
	if err != nil {
		return Result{}, err
	}
	cmd := exec.CommandContext(ctx, path, "-test.failfast", "-test.timeout="+r.Timeout.String(), "-test.run="+pattern)
	cmd.Dir = filepath.Join(r.Root, strings.TrimPrefix(pkg, "./"))
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		err = fmt.Errorf("%s has no test %s", pkg, pattern)
	}
	return Result{Outcome: Survived, Output: tail(out)}, err
}
