package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
