package mutants

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Binary is the test binary of one package with many changes in it, of which one is on at a time.
type Binary struct {
	r       *Runner
	folder  string
	path    string
	changes []Change
	ids     []int            // by change; 0: not in the binary
	tests   []string         // in the order of the sources
	took    []time.Duration  // by test
	reaches map[int][]string // by id: the tests that reach the change
}

// maxBuilds is how often a binary is built: each time without what did not compile the time before.
const maxBuilds = 12

// Build makes the test binary of a folder and runs each of its tests once,
// without a change, to see which changes it reaches. Changes that do not
// compile in their switched form are left out; see Test.
func (r *Runner) Build(ctx context.Context, folder string) (*Binary, error) {
	files, err := r.Sources(folder)
	if err != nil {
		return nil, err
	}
	b := &Binary{r: r, folder: folder, reaches: map[int][]string{}}
	var paths []string
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		c, err := Changes(path, files[path])
		if err != nil {
			return nil, err
		}
		b.changes = append(b.changes, c...)
	}
	b.ids = make([]int, len(b.changes))
	for n := range b.changes {
		b.ids[n] = n + 1
	}
	dir, err := os.MkdirTemp(r.Scratch, "switched-")
	if err != nil {
		return nil, err
	}
	b.path = filepath.Join(dir, "tests")
	for n := 0; ; n++ {
		out, err := b.build(ctx, dir, paths, files)
		if err == nil {
			break
		}
		if !b.leaveOut(out) || n == maxBuilds {
			return nil, fmt.Errorf("%s with its changes does not compile: %w\n%s", folder, err, tail(out))
		}
	}
	return b, b.trace(ctx, dir)
}

// build compiles the binary.
func (b *Binary) build(ctx context.Context, dir string, paths []string, files map[string][]byte) ([]byte, error) {
	replace := map[string]string{}
	for n, path := range paths {
		var changes []Change
		var ids []int
		for i := range b.changes {
			if b.changes[i].File == path {
				changes, ids = append(changes, b.changes[i]), append(ids, b.ids[i])
			}
		}
		to := filepath.Join(dir, strconv.Itoa(n)+"_"+filepath.Base(path))
		if err := os.WriteFile(to, switched(files[path], changes, ids), 0o600); err != nil {
			return nil, err
		}
		replace[path] = to
	}
	name, _, _ := bytes.Cut(packageClause.FindSubmatch(files[paths[0]])[1], []byte(" "))
	to := filepath.Join(dir, "support.go")
	if err := os.WriteFile(to, support(string(name), len(b.changes)), 0o600); err != nil {
		return nil, err
	}
	replace[filepath.Join(b.r.Root, b.folder, "zz_mutants_support.go")] = to
	doc, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, doc, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay="+overlay, "-o", b.path,
		"./"+b.folder)
	cmd.Dir = b.r.Root
	return cmd.CombinedOutput()
}

var (
	packageClause = regexp.MustCompile(`(?m)^package (\w+)`)
	compileError  = regexp.MustCompile(`(?m)([^/\s:]+\.go):(\d+):(?:(\d+):)?`)
)

// leaveOut takes out changes of the lines at which the compiler complains, and reports whether there were
// any: first those whose type the compiler has to guess, then the others. Where an expression takes several
// lines, the error can stand on any of them, or a few lines below.
func (b *Binary) leaveOut(out []byte) bool {
	some := false
	for _, m := range compileError.FindAllSubmatch(out, -1) {
		_, base, _ := strings.Cut(string(m[1]), "_")
		at, _ := strconv.Atoi(string(m[2]))
		some = b.leaveOutNear(base, at) || some
	}
	return some
}

func (b *Binary) leaveOutNear(base string, at int) (some bool) {
	for n := range b.changes {
		c := &b.changes[n]
		if b.ids[n] != 0 && c.guessed && c.first <= at && at <= c.Line && filepath.Base(c.File) == base {
			b.ids[n], some = 0, true
		}
	}
	if some {
		return true
	}
	for back := range 12 {
		for _, guessed := range []bool{true, false} {
			for n := range b.changes {
				c := &b.changes[n]
				if b.ids[n] != 0 && c.Line == at-back && filepath.Base(c.File) == base && c.guessed == guessed {
					b.ids[n], some = 0, true
				}
			}
			if some {
				return true
			}
		}
	}
	return false
}

// trace runs each test once and notes which changes it reaches.
func (b *Binary) trace(ctx context.Context, dir string) error {
	out, err := b.command(ctx, "", "-test.list", ".").Output()
	if err != nil {
		return fmt.Errorf("%s: the tests cannot be listed: %w", b.folder, err)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		file := filepath.Join(dir, "trace")
		_ = os.Remove(file)
		began := time.Now()
		cmd := b.command(ctx, "BELAY_MUTANT_TRACE="+file, "-test.run", "^"+name+"$", "-test.timeout", b.r.Timeout.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %s fails although nothing was changed: %w\n%s", b.folder, name, err, tail(out))
		}
		b.tests, b.took = append(b.tests, name), append(b.took, time.Since(began))
		f, err := os.Open(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			if id, err := strconv.Atoi(s.Text()); err == nil && !slices.Contains(b.reaches[id], name) {
				b.reaches[id] = append(b.reaches[id], name)
			}
		}
		f.Close()
	}
	return nil
}

func (b *Binary) command(ctx context.Context, env string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh",
		append([]string{"-c", fmt.Sprintf(`ulimit -d %d; exec "$@"`, maxData), "sh", b.path}, args...)...)
	cmd.Dir, cmd.WaitDelay = filepath.Join(b.r.Root, b.folder), 5*time.Second
	cmd.Env = os.Environ()
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	return cmd
}

// Changes returns the changes of the package.
func (b *Binary) Changes() []Change { return b.changes }

// Test runs the tests of the package that reach the change, the quick ones first. A change that has no
// switched form here is compiled for itself, and every test of the package runs. An error means that the
// tests could not be run.
func (b *Binary) Test(ctx context.Context, n int) (Result, error) {
	id := b.ids[n]
	if id == 0 {
		return b.r.Test(ctx, &b.changes[n], "./"+b.folder, "")
	}
	began := time.Now()
	tests := slices.Clone(b.reaches[id])
	took := map[string]time.Duration{}
	for i, name := range b.tests {
		took[name] = b.took[i]
	}
	slices.SortStableFunc(tests, func(x, y string) int { return int(took[x] - took[y]) })
	for len(tests) > 0 {
		// One process for the quick tests, then one for each slow one: most changes fall early.
		some := tests[:1]
		for sum := took[some[0]]; len(some) < len(tests); {
			if sum += took[tests[len(some)]]; sum > 2*time.Second {
				break
			}
			some = tests[:len(some)+1]
		}
		tests = tests[len(some):]
		limit := 20 * time.Second
		for _, name := range some {
			limit += 10 * took[name]
		}
		cmd := b.command(ctx, "BELAY_MUTANT="+strconv.Itoa(id), "-test.failfast", "-test.timeout", limit.String(),
			"-test.run", "^("+strings.Join(some, "|")+")$")
		out, err := cmd.CombinedOutput()
		if err != nil {
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			return Result{Outcome: Killed, Output: tail(out), Took: time.Since(began)}, nil
		}
	}
	return Result{Outcome: Survived, Took: time.Since(began)}, nil
}

// Reached returns the tests that reach a change, and whether that is known.
func (b *Binary) Reached(n int) ([]string, bool) {
	if b.ids[n] == 0 {
		return nil, false
	}
	return b.reaches[b.ids[n]], true
}
