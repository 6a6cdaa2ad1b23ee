package mutants

import (
	"bytes"
	"context"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Outcome says what the tests made of a change.
type Outcome string

// The outcomes.
const (
	Killed   Outcome = "killed"   // a test failed, or ran out of time
	Survived Outcome = "survived" // every test passed
	Invalid  Outcome = "invalid"  // it does not compile: it says nothing about the tests
)

// Runner runs tests on changed code. Its methods are safe for concurrent use.
type Runner struct {
	Root    string        // the module's root
	Scratch string        // a directory for overlays
	Timeout time.Duration // of one run of the tests

	mu    sync.Mutex
	whole map[tests]*testBinary // of packages, without a change
}

// Sources returns the files of a folder that are compiled here, without tests: path to contents.
func (r *Runner) Sources(folder string) (map[string][]byte, error) {
	dir := filepath.Join(r.Root, folder)
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range pkg.GoFiles {
		path := filepath.Join(dir, name)
		if out[path], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Result is what one run of the tests came to.
type Result struct {
	Outcome Outcome
	Output  string // the end of what go test printed
	Took    time.Duration
}

// maxOutput is how much of the output of go test is kept, in bytes, from its end.
const maxOutput = 4 << 10

// maxData is how much memory a run may write to, in KiB: a change can remove a limit.
const maxData = 8 << 20

// Test runs the tests of a package that pattern selects ("" for all) with the change applied, or without a change when
// c is nil. An error means that the tests could not be run at all.
func (r *Runner) Test(ctx context.Context, c *Change, pkg, pattern string) (Result, error) {
	return r.test(ctx, c, tests{pkg: pkg, pattern: pattern})
}

func (r *Runner) test(ctx context.Context, c *Change, t tests) (Result, error) {
	env := t.env()
	if c != nil {
		overlay, err := r.overlay(c)
		if err != nil {
			return Result{}, err
		}
		defer os.RemoveAll(filepath.Dir(overlay))
		// By the environment, so that tests that build a program build it with the change, too.
		env = append(env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	args := append([]string{"test", "-failfast", "-timeout", r.Timeout.String()}, t.flags()...)
	if c != nil {
		args = append(args, "-count=1") // without a change, what go test remembers will do
	}
	if t.pattern != "" {
		args = append(args, "-run", t.pattern)
	}
	data := fmt.Sprint(maxData)
	if t.race { // which maps terabytes of shadow memory
		data = "unlimited"
	}
	// A test that hangs with its output open is ended a little after its own timeout.
	ctx, stop := context.WithTimeout(ctx, r.Timeout+2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh",
		append([]string{"-c", fmt.Sprintf(`ulimit -d %s; exec go "$@"`, data), "go"}, append(args, t.pkg)...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.Root, env, 5*time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	res := Result{Outcome: Survived, Output: tail(out), Took: time.Since(began)}
	switch {
	case err == nil && t.pattern != "" && bytes.Contains(out, []byte("[no tests to run]")):
		return res, fmt.Errorf("%s has no test %s", t.pkg, t.pattern)
	case err == nil:
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		res.Outcome = Invalid
	case bytes.Contains(out, []byte("FAIL")):
		res.Outcome = Killed
	case ctx.Err() != nil:
		res.Outcome = Killed
	default:
		return res, fmt.Errorf("go test: %w\n%s", err, res.Output)
	}
	return res, nil
}

// overlay writes the changed file, and what go test reads to find it.
func (r *Runner) overlay(c *Change) (string, error) {
	src, err := os.ReadFile(c.File)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(r.Scratch, "mutant-")
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(c.File))
	if err := os.WriteFile(changed, c.Apply(src), 0o600); err != nil {
		return "", err
	}
	doc, err := json.Marshal(map[string]map[string]string{"Replace": {c.File: changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, doc, 0o600)
}

func tail(b []byte) string {
	if len(b) > maxOutput {
		b = b[len(b)-maxOutput:]
	}
	return string(b)
}

// Defence switches a defence off and runs its test. The error is ErrNotFound when the code has no such place, and
// an error when the test fails without the change, too: then it shows nothing.
func (r *Runner) Defence(ctx context.Context, d *Defence) (Result, error) {
	t, err := d.target()
	if err != nil {
		return Result{}, err
	}
	files, err := r.Sources(d.Package)
	if err != nil {
		return Result{}, err
	}
	c, err := In(files, d.Symbol, d.From, d.With)
	if err != nil {
		return Result{}, err
	}
	if res, err := r.unchanged(ctx, t); err != nil {
		return res, fmt.Errorf("%s fails although nothing was changed: %w\n%s", d.Test, err, res.Output)
	}
	return r.test(ctx, &c, t)
}
