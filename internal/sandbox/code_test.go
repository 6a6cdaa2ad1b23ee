package sandbox

import (
	"errors"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// codes is how much code an engine holds.
func codes(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.codes)
}

// Modules of one file and one memory cap share their code, and only those. Each of them is checked against its own
// options, and ends alone.
func TestModulesOfOneFileShareTheirCode(t *testing.T) {
	e := open(t, Options{})
	file := guest(t, "state")
	with := func(o LoadOptions) *Module {
		t.Helper()
		m, err := e.Load(t.Context(), file, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, same := with(LoadOptions{}), with(LoadOptions{MemoryCap: DefaultMemoryCap, Trusted: true})
	if one.code != same.code || codes(e) != 1 {
		t.Error("two modules of one file do not share their code")
	}
	for name, other := range map[string]*Module{
		"a cap of its own":  with(LoadOptions{MemoryCap: DefaultMemoryCap / 2}),
		"coverage":          with(LoadOptions{Cover: true}),
		"another file":      load(t, e, guest(t, "guard")),
		"of another engine": load(t, open(t, Options{}), file),
	} {
		if other.code == one.code {
			t.Errorf("a module with %s shares its code", name)
		}
	}
	if covered := with(LoadOptions{}); covered.code != one.code || covered.Coverage() != nil {
		t.Error("a module without coverage has that of another one")
	}

	for name, o := range map[string]LoadOptions{
		"no manifest": {Class: Installed},
		"a phase that is not declared": {Declared: &Declared{Capabilities: one.info.Capabilities,
			Phases: one.info.Phases[1:], Mutates: mutates(&one.info)}},
	} {
		if _, err := e.Load(t.Context(), file, o); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bytes := range []int64{1, maxMemory + 1} {
		if _, err := e.Load(t.Context(), file, LoadOptions{MemoryCap: bytes}); !errors.Is(err, ErrTooCostly) {
			t.Errorf("a cap of %d bytes: %v", bytes, err)
		}
	}

	one.Close()
	one.Close() // again does no harm
	if o := run(t, one, RunRequest{Phase: phases.PreTool}, lsAction); o.Kind != phases.KindLoad {
		t.Errorf("a closed module runs: %q", o.Kind)
	}
	runState(t, same, "state", phases.PreTool)
	before := codes(e)
	e.mu.Lock()
	users := same.users
	e.mu.Unlock()
	if users != 2 { // same, and the one without coverage
		t.Errorf("%d modules use the code, not 2", users)
	}
	same.Close()
	if codes(e) != before {
		t.Error("code is freed while a module uses it")
	}
}

// The last module of some code frees it.
func TestCodeIsFreedWithItsLastModule(t *testing.T) {
	e := open(t, Options{})
	for range 3 {
		one, p := warmed(t, e, "state")
		other := load(t, e, guest(t, "state"))
		if other.code != one.code {
			t.Fatal("they do not share their code")
		}
		one.Close()
		if n, warm := idle(t, other); n != 1 || !warm || codes(e) != 1 {
			t.Errorf("%d instances wait, warm: %v; %d are held", n, warm, codes(e))
		}
		other.Close()
		if codes(e) != 0 || !p.closed || sum(t, e.pool) != 0 {
			t.Errorf("%d are held after the last module, closed: %v", codes(e), p.closed)
		}
	}
}
