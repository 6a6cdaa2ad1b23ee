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

func (r *Runner) binary(ctx context.Context, t tests) (string, error) {
	t.pattern = "" // one binary has all tests
	r.mu.Lock()
	if r.whole == nil {
		r.whole = map[tests]*testBinary{}
	}
	b := r.whole[t]
	if b == nil {
		b = &testBinary{}
		r.whole[t] = b
	}
	r.mu.Unlock()
	b.once.Do(func() {
		dir, err := os.MkdirTemp(r.Scratch, "whole-")
		if err != nil {
			b.err = err
			return
		}
		b.path = filepath.Join(dir, "whole.test")
		args := append(append([]string{"test"}, t.flags()...), "-c", "-o", b.path, t.pkg)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = r.Root, t.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w\n%s", err, tail(out))
		}
	})
	return b.path, b.err
}

// unchanged runs the tests as the code stands. An error means that they do not pass, or that there are none.
func (r *Runner) unchanged(ctx context.Context, t tests) (Result, error) {
	path, err := r.binary(ctx, t)
	if err != nil {
		return Result{}, err
	}
	cmd := exec.CommandContext(ctx, path, "-test.failfast", "-test.timeout="+r.Timeout.String(), "-test.run="+t.pattern)
	cmd.Dir = filepath.Join(r.Root, strings.TrimPrefix(t.pkg, "./"))
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		err = fmt.Errorf("%s has no test %s", t.pkg, t.pattern)
	}
	return Result{Outcome: Survived, Output: tail(out)}, err
}
