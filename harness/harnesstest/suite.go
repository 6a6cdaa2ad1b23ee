// Package harnesstest runs cases and recordings of hooks from `go test`. It decides which
// files of a directory are tests. It opens sealed recordings with the keys of Identity, and
// never gives a hook a port to the world.
package harnesstest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// maxShown is how many differences of one invocation are listed.
const maxShown = 10

// Run runs everything in a directory as subtests, and fails when there is nothing:
//
//	*.wasm                          the hook; one file
//	*.yaml, cases/*.yaml            cases of the hook (belay.yaml is its source, no case)
//	*.rec, recordings/*.rec         recordings (belay-recording/v1)
//	*.rec.age, recordings/*.rec.age sealed ones, which need an Identity
//
// A recording of the very module is replayed call by call. A recording with another digest
// is of another version: its decisions and final actions have to be the recorded ones. The
// other hooks in a recording come with belay, or lie in the directory as well.
func Run(t *testing.T, dir string, options ...Option) {
	t.Helper()
	d, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range options {
		if err := o(d); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.suites)+len(d.recordings) == 0 {
		t.Fatalf("%s holds neither cases nor recordings", dir)
	}
	if len(d.suites) > 0 {
		t.Run("cases", d.cases)
	}
	for _, path := range d.recordings {
		t.Run(filepath.Base(path), func(t *testing.T) { d.replay(t, path) })
	}
}

// Option changes Run.
type Option func(*directory) error

// Identity opens sealed recordings, and those that cases name, with the age keys of a
// file (as `belay record keygen` makes them). Run fails where the file is missing.
func Identity(file string) Option {
	return func(d *directory) error {
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		ids, err := recording.ParseIdentities(src)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		d.identities = append(d.identities, ids...)
		return nil
	}
}

// directory is a directory with the tests in it.
type directory struct {
	modules    map[string][]byte // by digest
	hook       []byte            // the only module; nil when there are several
	name       string            // of its file
	suites     []string
	recordings []string
	identities recording.Identities
}

func open(dir string) (*directory, error) {
	if fi, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("%s is no directory", dir)
	}
	d := &directory{modules: map[string][]byte{}}
	files := func(patterns ...string) (out []string, err error) {
		for _, p := range patterns {
			found, err := filepath.Glob(filepath.Join(dir, p))
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	}
	wasm, err := files("*.wasm")
	if err != nil {
		return nil, err
	}
	for _, path := range wasm {
		m, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		d.modules[phases.ByteDigest(m)] = m
		if len(wasm) == 1 {
			d.hook, d.name = m, strings.TrimSuffix(filepath.Base(path), ".wasm")
		}
	}
	if d.suites, err = files("*.yaml", "cases/*.yaml"); err != nil {
		return nil, err
	}
	d.suites = slices.DeleteFunc(d.suites, func(p string) bool { return filepath.Base(p) == "belay.yaml" })
	d.recordings, err = files("*.rec", "recordings/*.rec", "*.rec.age", "recordings/*.rec.age")
	return d, err
}

func (d *directory) cases(t *testing.T) {
	e, err := suite.OpenEngine(suite.EngineOptions{Identities: d.identities})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	where := suite.Locator{WorkDir: t.TempDir()}
	for _, path := range d.suites {
		s, err := suite.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, module := d.name, d.hook
		if s.Hook != "" {
			m, err := where.Module(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			name, module = m.Name, m.File
		}
		if module == nil {
			t.Fatalf("cases are of one hook, and here are %d modules", len(d.modules))
		}
		res, err := e.Hook(name, module).RunSuite(t.Context(), s, suite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Cases {
			c := &res.Cases[i]
			t.Run(c.Case, func(t *testing.T) {
				if c.Err != nil {
					t.Fatal(c.Err)
				}
				for _, diff := range append(slices.Clone(c.Differences), c.Golden...) {
					t.Errorf("%s:%d: %s", path, c.Line, diff)
				}
			})
		}
		for _, left := range res.Left {
			t.Errorf("%s: the golden has a case %q, the suite has not", path, left)
		}
	}
}

// replay replays a recording; of another version of the hook, by its decisions.
func (d *directory) replay(t *testing.T, path string) {
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	o := replay.Options{Bench: bench, Modules: d.modules}
	err = d.compare(t, path, o)
	if errors.Is(err, replay.ErrModule) && d.hook != nil {
		name, _ := bench.NameOf(d.hook)
		if name == "" {
			name = d.name
		}
		o.Candidate = &replay.Candidate{Hooks: []replay.Hook{{Name: name, Module: d.hook}}}
		err = d.compare(t, path, o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (d *directory) compare(t *testing.T, path string, o replay.Options) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, how := recording.Look(f)
	if how != recording.Plain {
		if how == recording.ForPassphrase {
			return errors.New("a recording that is sealed with a passphrase: tests open those that are sealed for a key")
		}
		if len(d.identities) == 0 {
			return errors.New("a sealed recording, and no key for it: harnesstest.Identity(FILE) opens it")
		}
		if in, err = recording.Unseal(in, filepath.Base(path), d.identities); err != nil {
			return err
		}
	}
	rd, err := recording.NewReader(in, filepath.Base(path))
	if err != nil {
		return err
	}
	n := 0
	return replay.All(t.Context(), o, rd, func(res *replay.Result) error {
		n++
		for i, diff := range res.Differences {
			if i == maxShown {
				t.Errorf("%s: invocation %d: and %d more", path, n, len(res.Differences)-i)
				break
			}
			if how != recording.Plain { // logs of tests are public
				t.Errorf("%s: invocation %d (%s): %s %s differs; it is sealed: belay replay shows how", path, n,
					res.Invocation.Phase, diff.What, diff.Where)
				continue
			}
			t.Errorf("%s: invocation %d (%s %s): %s %s\n  was: %s\n  is:  %s", path, n, res.Invocation.Phase,
				res.Invocation.Tool(), diff.What, diff.Where, diff.Want, diff.Got)
		}
		return nil
	})
}
