package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A compiler process that cannot do its work says why with status 1, and hands back
// nothing.
func TestCompilerProcessSaysWhy(t *testing.T) {
	limits := AdHoc.compilerLimits()
	c, err := newCompiler(ownCompiler(t, CompilerCommand), engineVersion())
	if err != nil {
		t.Fatal(err)
	}
	_, code := uncompiled(t)
	whole := request(code, limits)
	// One whose standard input ends: it has no parent any more.
	for name, tc := range map[string]struct {
		ask  []byte
		want string
	}{
		"nothing":        {nil, "the request cannot be read"},
		"garbage":        {bytes.Repeat([]byte("x"), 100), "the request cannot be read"},
		"half a module":  {whole[:len(whole)-1], "the module cannot be read"},
		"parent is gone": {request(metered(t, divisions(t, 20_000)), limits), ""},
	} {
		cmd := exec.Command(c.program, c.args[1:]...)
		cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(tc.ask)
		var out, says bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &says
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || out.Len() > 0 ||
			!strings.Contains(says.String(), tc.want) {
			t.Errorf("%s: %v, %d bytes, says %q, want %q", name, err, out.Len(), says.String(), tc.want)
		}
	}
	// One whose parent waits.
	for name, tc := range map[string]struct {
		prepare func(dir string) error
		code    []byte
		want    string
	}{
		"no module": {func(string) error { return nil }, []byte("no module"), "the engine refused the metered module"},
		"a file":    {func(dir string) error { return os.WriteFile(engineDir(dir), nil, 0o600) }, code, "is not dir"},
		"not its own": {func(dir string) error {
			return os.MkdirAll(filepath.Join(engineDir(dir), "other"), 0o700)
		}, code, "the engine kept no code"},
	} {
		dir := t.TempDir()
		if err := tc.prepare(dir); err != nil {
			t.Fatal(err)
		}
		out, says, err := c.process(t.Context(), dir, request(tc.code, limits), limits)
		err = failed(err, says, limits)
		if len(out) > 0 || !errors.Is(err, ErrCompiler) || !strings.Contains(err.Error(), "exit status 1: ") ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A process that does not start, and one that a signal ends.
func TestCompilerProcessThatIsEnded(t *testing.T) {
	limits := AdHoc.compilerLimits()
	none := &compiler{program: filepath.Join(t.TempDir(), "none"), args: []string{"none"}}
	if _, err := none.run(t.Context(), nil, 0, limits); !errors.Is(err, ErrCompiler) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	c, err := newCompiler(ownCompiler(t, "bad-killed"), engineVersion())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.run(t.Context(), nil, 0, limits); !errors.Is(err, ErrCompiler) ||
		!strings.Contains(err.Error(), "signal: killed after") {
		t.Errorf("killed: %v", err)
	}
}

// A compiler process whose parent waits answers, ends with status 0, and has its collector work harder from nine
// tenths of the memory that it may take.
func TestCompilerProcessThatAnswers(t *testing.T) {
	limits := AdHoc.compilerLimits()
	_, code := uncompiled(t)
	cmd := exec.Command(ownCompiler(t, "")[0], "compile-and-say-limit")
	cmd.Dir = t.TempDir()
	var out, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &says
	theirs, ours, err := os.Pipe()
	must(t, err)
	defer theirs.Close()
	defer ours.Close() // not before the process has ended: then it would have no parent
	cmd.Stdin = theirs
	must(t, cmd.Start())
	_, err = ours.Write(request(code, limits))
	must(t, err)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v, says %q", err, says.String())
	}
	e, err := readAnswer(out.Bytes(), limits.code)
	if err != nil || e.identity != identity(engineVersion()) {
		t.Fatalf("%+v, %v, says %q", e, err, says.String())
	}
	if want := strconv.FormatUint((limits.data-runtimeData)*9/10, 10); says.String() != want {
		t.Errorf("the collector's limit is %s, want %s of %d", says.String(), want, limits.data-runtimeData)
	}
}

// What a compiler process cannot read of its own directory is an error, never half an answer.
func TestCompilerDirectoryThatCannotBeRead(t *testing.T) {
	_, code := uncompiled(t)
	for name, c := range map[string]struct {
		prepare func(t *testing.T)
		want    error
	}{
		"as it should be": {func(*testing.T) {}, nil},
		"it is gone": {func(t *testing.T) {
			dir, err := os.Getwd()
			must(t, err)
			must(t, os.Remove(dir))
		}, os.ErrNotExist},
		"a name in it is too long for its place": {func(t *testing.T) {
			const most = 4096
			dir, err := os.Getwd()
			must(t, err)
			for len(dir) < most-200 {
				part := strings.Repeat("d", min(200, most-150-len(dir)))
				must(t, os.Mkdir(part, 0o700))
				must(t, os.Chdir(part))
				dir = filepath.Join(dir, part)
			}
			t.Setenv("PWD", dir)
			must(t, os.Mkdir("wazero-"+strings.Repeat("x", 240), 0o700))
		}, syscall.ENAMETOOLONG},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir()) // back again afterwards
			c.prepare(t)
			e, err := compileHere(code)
			if !errors.Is(err, c.want) || (err == nil) != (e != nil) || e != nil && len(e.content) == 0 {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// The program that this process runs from is started as it is, also when another file has its name by then.
func TestCompilerIsTheProgramThatRuns(t *testing.T) {
	c, err := newCompiler(ownCompiler(t, CompilerCommand), engineVersion())
	must(t, err)
	own, err := os.Stat("/proc/self/exe")
	must(t, err)
	started, err := os.Stat(c.program)
	must(t, err)
	if c.program == ownCompiler(t, "")[0] || !os.SameFile(own, started) || c.args[0] != os.Args[0] {
		t.Errorf("%s %q is started", c.program, c.args)
	}
}

// An answer that cannot be written ends a compiler process with status 1.
func TestCompilerProcessThatCannotAnswer(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	theirs, ours, err := os.Pipe()
	must(t, err)
	defer theirs.Close()
	defer ours.Close()
	_, code := uncompiled(t)
	cmd := exec.Command(ownCompiler(t, "")[0], CompilerCommand)
	var says bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = t.TempDir(), theirs, full, &says
	must(t, cmd.Start())
	_, err = ours.Write(request(code, AdHoc.compilerLimits()))
	must(t, err)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(says.String(), "no space left") {
		t.Errorf("%v, says %q", err, says.String())
	}
}
