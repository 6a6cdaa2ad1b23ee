package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
)

// A module that costs more than its estimate says ends the process, not its caller: by
// time, by memory, and by how long all of it takes.
func TestCompilerLimits(t *testing.T) {
	code := metered(t, divisions(t, 40_000))
	c, err := newCompiler(ownCompiler(t, CompilerCommand), engineVersion())
	if err != nil {
		t.Fatal(err)
	}
	usual := AdHoc.compilerLimits()
	if _, err := c.run(t.Context(), code, 1, usual); err != nil {
		t.Fatal(err)
	}
	memory := usual
	memory.data = runtimeData - 64<<20
	endless, err := newCompiler(ownCompiler(t, "bad-busy"), engineVersion())
	if err != nil {
		t.Fatal(err)
	}
	short := usual
	short.cpu = 1
	hangs, err := newCompiler(ownCompiler(t, "bad-hang"), engineVersion())
	if err != nil {
		t.Fatal(err)
	}
	soon := usual
	soon.wall = 300 * time.Millisecond
	little := usual
	little.code = 1000
	for _, tc := range []struct {
		name   string
		c      *compiler
		limits compilerLimits
		want   string
	}{
		{"memory", c, memory, "of memory that it may take"},
		{"time", endless, short, "of the 1 s of processor time that it may take"},
		{"wall", hangs, soon, "not done after 300ms"},
		{"code", c, little, "module not compiled"},
	} {
		_, err := tc.c.run(t.Context(), code, 1, tc.limits)
		if !errors.Is(err, ErrCompiler) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// When who waits for a compiler process is killed, the process ends as well, also one
// that does not look at its standard input.
func TestCompilerProcessEndsWithItsParent(t *testing.T) {
	dir := t.TempDir()
	exe := ownCompiler(t, "")[0]
	parent := exec.Command(exe, "waits-for-one-that-hangs", filepath.Join("testdata", "guard.wasm"))
	parent.Env = []string{"TMPDIR=" + dir}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for end := time.Now().Add(20 * time.Second); pid == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no process was started")
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "belay-compile-*", "pid")); len(found) == 1 {
			b, _ := os.ReadFile(found[0])
			pid, _ = strconv.Atoi(string(b))
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for end := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process goes on")
		}
	}
}

// alive says whether a process runs; one that its parent has not waited for yet does not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, ok := bytes.Cut(b, []byte(") "))
	return ok && state[0] != 'Z' && state[0] != 'X'
}

// metered is the module as it is compiled.
func metered(t *testing.T, file []byte) []byte {
	t.Helper()
	e := open(t, Options{})
	p, err := e.parse(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := meter.Instrument(p.module, meter.Options{MemoryPages: 256})
	if err != nil {
		t.Fatal(err)
	}
	return out.Wasm
}
