package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// engineDir is the directory of the engine's module, which carries the specification's
// tests. They are read from the module cache and not copied.
var engineDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	return strings.TrimSpace(string(out)), err
})

func integrationDir(t testing.TB) string {
	t.Helper()
	dir, err := engineDir()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return filepath.Join(dir, "internal", "integration_test")
}

// engine compiles with the interpreter: it decodes and validates like the compiler.
func engine(t testing.TB) func([]byte) error {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { _ = r.Close(ctx) })
	return func(b []byte) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		m, err := r.CompileModule(ctx, b)
		if err == nil {
			err = m.Close(ctx)
		}
		return err
	}
}

type specFile struct {
	Commands []specCommand `json:"commands"`
}

type specCommand struct {
	Type       string `json:"type"`
	Line       int    `json:"line"`
	Filename   string `json:"filename"`
	Text       string `json:"text"`
	ModuleType string `json:"module_type"`
}

// specCommands calls f for every command of a suite that names a binary module.
func specCommands(t *testing.T, suite string, f func(where string, c specCommand, b []byte)) {
	t.Helper()
	dir := filepath.Join(integrationDir(t), "spectest", suite, "testdata")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specification tests in %s: %v", dir, err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s specFile
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range s.Commands {
			if !strings.HasSuffix(c.Filename, ".wasm") {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			f(fmt.Sprintf("%s/%s line %d (%s)", suite, filepath.Base(name), c.Line, c.Filename), c, b)
		}
	}
}

// onlyImports says whether err is about an import that the sandbox does not offer.
func onlyImports(err error) bool {
	return errors.Is(err, wasm.ErrUnsupported) && strings.Contains(err.Error(), "only functions can be imported")
}

// TestSpec parses every binary module of the specification's tests: valid ones
// parse, round-trip and still compile; invalid ones are refused.
func TestSpec(t *testing.T) {
	lim := wasm.RelaxedLimits()
	compile := engine(t)
	for _, tc := range []struct {
		suite                        string
		valid, foreign, refused, now int // exact counts of this engine version
	}{
		{"v1", 761, 116, 1644, 6},
		{"v2", 1558, 158, 2865, 0},
	} {
		t.Run(tc.suite, func(t *testing.T) {
			var valid, foreign, refused, now int
			classes := map[string]int{}
			specCommands(t, tc.suite, func(where string, c specCommand, b []byte) {
				m, err := wasm.Parse(b, lim)
				switch c.Type {
				case "assert_invalid", "assert_malformed":
					if err == nil {
						// The first version of the language forbade some of what the second allows.
						if tc.suite == "v1" && compile(b) == nil {
							now++
							return
						}
						t.Errorf("%s: accepted, want %s: %s", where, c.Type, c.Text)
						return
					}
					refused++
					var e *wasm.Error
					if !errors.As(err, &e) {
						t.Fatalf("%s: untyped error %v", where, err)
					}
					classes[c.Type+" as "+e.Class.Error()]++
				default:
					if onlyImports(err) {
						foreign++
						return
					}
					if err != nil {
						t.Errorf("%s: %v", where, err)
						return
					}
					valid++
					roundTrip(t, where, m, lim, compile)
				}
			})
			t.Logf("valid %d, with foreign imports %d, refused %d, allowed since version 2 %d", valid, foreign, refused, now)
			for k, n := range classes {
				t.Logf("%s: %d", k, n)
			}
			if valid != tc.valid || foreign != tc.foreign || refused != tc.refused || now != tc.now {
				t.Errorf("counts differ from those of the pinned engine: want %+v", tc)
			}
		})
	}
}

// roundTrip encodes m and checks that the result is the same module, in the same bytes
// from then on, and that the engine takes it.
func roundTrip(t testing.TB, where string, m *wasm.Module, lim wasm.Limits, compile func([]byte) error) {
	t.Helper()
	one, err := wasm.Encode(m, m.Customs...)
	if err != nil {
		t.Errorf("%s: encode: %v", where, err)
		return
	}
	again, err := wasm.Parse(one, lim)
	if err != nil {
		t.Errorf("%s: own encoding: %v", where, err)
		return
	}
	two, err := wasm.Encode(again, again.Customs...)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("%s: encoding is no fixpoint (%v)", where, err)
	}
	// The engine never gets custom sections: it refuses some that are legal.
	bare, err := wasm.Encode(m)
	if err != nil {
		t.Errorf("%s: encode: %v", where, err)
	}
	if err := compile(bare); err != nil {
		t.Errorf("%s: the engine refuses our encoding: %v", where, err)
	}
}

// TestFuzzCases parses the modules that fuzzing of the engine has found.
func TestFuzzCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(integrationDir(t), "fuzzcases", "testdata", "*.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	compile := engine(t)
	lim := wasm.RelaxedLimits()
	valid, refused := 0, 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wasm.Parse(b, lim)
		theirs := compile(b)
		switch {
		case err == nil && theirs != nil:
			t.Errorf("%s: accepted, the engine says %v", filepath.Base(name), theirs)
		case err == nil:
			valid++
			roundTrip(t, filepath.Base(name), m, lim, compile)
		default:
			refused++
			if theirs == nil && !onlyImports(err) {
				t.Errorf("%s: %v; the engine takes it", filepath.Base(name), err)
			}
		}
	}
	t.Logf("valid %d, refused %d", valid, refused)
	if valid != 67 || refused != 4 {
		t.Errorf("valid %d, refused %d, want 67 and 4", valid, refused)
	}
}
