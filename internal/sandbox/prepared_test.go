package sandbox

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/phases"
)

// preparing opens an engine on a cache directory; its log is returned.
func preparing(t *testing.T, dir string, key []byte) (*Engine, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return open(t, Options{CacheDir: dir, CacheKey: key, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		engineVersion: "v0"}), &log
}

func keyOf(file []byte) codeKey {
	return codeKey{sum: sha256.Sum256(file), memoryCap: DefaultMemoryCap}
}

// preparedEntries are the files of what was prepared.
func preparedEntries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, preparedDir))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range list {
		out = append(out, filepath.Join(dir, preparedDir, d.Name()))
	}
	return out
}

// What the cache has of a file is what parsing, checking and metering make of it, to the last byte, and a module that
// is made of it runs as the other one.
func TestPreparedModulesAreAsNewOnes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	dir := cacheDir(t)
	first, log := preparing(t, dir, cacheKey)
	second, log2 := preparing(t, dir, cacheKey)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".wasm")
		file := guest(t, name)
		p, err := first.parse(file)
		if err != nil {
			t.Fatal(err)
		}
		out, err := meter.Instrument(p.module, meter.Options{MemoryPages: uint32(DefaultMemoryCap / pageSize)})
		if err != nil {
			t.Fatal(err)
		}
		if second.prepared.load(keyOf(file)) != nil {
			t.Fatalf("%s is known before it is loaded", name)
		}
		one := load(t, first, file)
		if key := keyOf(file); second.prepared.load(codeKey{sum: key.sum, memoryCap: key.memoryCap - pageSize}) != nil {
			t.Errorf("%s: a module with another cap of memory is taken for it", name)
		}
		got := second.prepared.load(keyOf(file))
		if want := newPrepared(p, out); !reflect.DeepEqual(want, got) {
			t.Errorf("%s: the cache has\n%+v, not\n%+v", name, got, want)
		}
		info, err := second.Inspect(file)
		if _, known := second.facts(keyOf(file).sum); !known || err != nil || !reflect.DeepEqual(info, p.info) {
			t.Errorf("%s: %+v, known: %v", name, info, known)
		}
		other := load(t, second, file)
		for _, phase := range one.Info().Phases {
			req := RunRequest{Phase: phase, Fuel: 1 << 16, Timeout: -1}
			if d := diff(traced(t, one, req, nil), traced(t, other, req, nil)); d != "" {
				t.Errorf("%s, %s: %s", name, phase, d)
			}
		}
	}
	if log.Len()+log2.Len() > 0 {
		t.Error(log, log2)
	}
}

// An entry that was forged, torn, exchanged with another one or written under another key is noticed and made anew.
func TestForgedPreparedModulesAreMadeAnew(t *testing.T) {
	file := guest(t, "guard")
	dir := cacheDir(t)
	e, _ := preparing(t, dir, cacheKey)
	load(t, e, file)
	entries := preparedEntries(t, dir)
	if len(entries) != 2 {
		t.Fatal(entries)
	}
	good := map[string][]byte{}
	for _, path := range entries {
		good[path] = read(t, path)
	}
	spoilt := map[string]func(path string, b []byte) []byte{
		"first byte": func(_ string, b []byte) []byte { b[0] ^= 1; return b },
		"a byte":     func(_ string, b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"last byte":  func(_ string, b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"torn":       func(_ string, b []byte) []byte { return b[:len(b)/2] },
		"only a seal": func(_ string, b []byte) []byte {
			return b[:sha256.Size]
		},
		"empty":  func(string, []byte) []byte { return nil },
		"longer": func(_ string, b []byte) []byte { return append(b, 0) },
		"another entry": func(path string, _ []byte) []byte {
			for other, b := range good {
				if other != path {
					return b
				}
			}
			return nil
		},
	}
	for name, spoil := range spoilt {
		for _, path := range entries {
			write(t, path, spoil(path, bytes.Clone(good[path])))
		}
		e, log := preparing(t, dir, cacheKey)
		if _, known := e.facts(keyOf(file).sum); known || e.prepared.load(keyOf(file)) != nil {
			t.Errorf("%s: it counts", name)
		}
		if !strings.Contains(log.String(), "cache of metered modules not used") {
			t.Errorf("%s: not a word about it: %s", name, log)
		}
		m := load(t, e, file)
		if o := run(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1}, lsAction); o.Kind != "" {
			t.Errorf("%s: %s %s", name, o.Kind, o.Cause)
		}
		for _, path := range entries {
			if !bytes.Equal(read(t, path), good[path]) {
				t.Errorf("%s: it was not made anew", name)
			}
		}
	}
	other, _ := preparing(t, dir, bytes.Repeat([]byte{8}, 32))
	if other.prepared.load(keyOf(file)) != nil {
		t.Error("an entry under another key counts")
	}
}

// A file whose prepared form is known is held to its caller's options like any other.
func TestPreparedModulesAreAdmitted(t *testing.T) {
	file := guest(t, "guard")
	dir := cacheDir(t)
	e, _ := preparing(t, dir, cacheKey)
	info := load(t, e, file).Info()
	for name, c := range map[string]struct {
		opts LoadOptions
		want error
	}{
		"no manifest": {LoadOptions{Class: Installed}, ErrDeclared},
		"a capability that is not declared": {LoadOptions{Declared: &Declared{Phases: info.Phases,
			Mutates: mutates(&info)}}, ErrDeclared},
	} {
		e, _ := preparing(t, dir, cacheKey)
		if e.prepared.load(keyOf(file)) == nil {
			t.Fatal("it is not known")
		}
		if _, err := e.Load(t.Context(), file, c.opts); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Neither counts what another table of hostcalls lets pass, nor is anything prepared for one.
	var log bytes.Buffer
	few := open(t, Options{CacheDir: dir, CacheKey: cacheKey, Table: table("nothing", nil)[:1],
		Logger: slog.New(slog.NewTextHandler(&log, nil)), engineVersion: "v0"})
	if _, err := few.Load(t.Context(), file, LoadOptions{}); !errors.Is(err, ErrImport) {
		t.Errorf("an engine without the calls of the module: %v", err)
	}
}
