package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

// goHook builds the standard Go guest, once per test process.
var goHook = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "gohook")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "hook.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-o", out, ".")
	cmd.Dir = filepath.Join("testdata", "gohook")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return msg, err
	}
	return os.ReadFile(out)
})

func goGuest(t testing.TB) []byte {
	t.Helper()
	b, err := goHook()
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return b
}

// Standard Go starts on the stub of WASI, sleeps without hanging, sees the
// invocation's time and nothing of the host, on both engines with the same fuel.
// Its panic, exit and lack of memory are failures of the right kind, and what Go
// prints about them is in the log.
func TestStandardGo(t *testing.T) {
	file := withManifest(t, goGuest(t))
	declared := &Declared{Phases: []phases.Phase{phases.PreTool, phases.PrePlan, phases.PreSend, phases.PostTool,
		phases.Audit}}
	e := map[bool]*Engine{false: open(t, Options{}), true: open(t, Options{Interpreter: true})}
	// It is too large to be tried out just so; an operator may install it.
	if err := e[false].Check(file, LoadOptions{Class: AdHoc, MemoryCap: 32 << 20, Declared: declared}); !errors.Is(err,
		ErrTooCostly) {
		t.Error(err)
	}
	mods := map[bool]*Module{}
	for interpreter, e := range e {
		m, err := e.Load(t.Context(), file, LoadOptions{Class: Installed, MemoryCap: 32 << 20, Declared: declared})
		if err != nil {
			t.Fatal(err)
		}
		mods[interpreter] = m
	}
	for _, c := range []struct {
		phase phases.Phase
		kind  phases.Kind
		logs  []string // beginnings of the first lines
	}{
		{phases.PreTool, "", []string{`timer {"command":"ls -la"} 2026-03-04 2020-01-01`, "printed 0 0"}},
		{phases.PreSend, phases.KindTrap, []string{"panic: told to"}},
		{phases.PostTool, phases.KindOutput, nil},
		{phases.PrePlan, phases.KindMemory, []string{"runtime: out of memory"}},
		{phases.Audit, "", nil},
	} {
		req := RunRequest{Phase: c.phase, Timeout: -1}
		got := run(t, mods[false], req, lsAction)
		ok := got.Kind == c.kind && len(got.Logs) >= len(c.logs)
		for i := range c.logs {
			ok = ok && strings.HasPrefix(got.Logs[i].Text, c.logs[i])
		}
		if !ok {
			t.Errorf("%s: %q %s, log %+v", c.phase, got.Kind, got.Cause, got.Logs)
		}
		if c.phase == phases.PrePlan {
			continue // too slow on the interpreter
		}
		if d := cmp.Diff(got, run(t, mods[true], req, lsAction)); d != "" {
			t.Errorf("%s: compiler and interpreter differ: %s", c.phase, d)
		}
	}
}
