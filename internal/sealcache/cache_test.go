package sealcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/internal/sealcache"
)

var key = bytes.Repeat([]byte{7}, 32)

// openCache opens a cache for the tests' purpose.
func openCache(dir string, key []byte, builder string) *sealcache.Cache {
	return sealcache.Open(dir, key, builder, sealcache.Use{Purpose: "test", Entries: 32})
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatWasPutIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rules")
	c := openCache(dir, key, "b")
	if _, err := c.Get("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, content := range []string{"one", "two", ""} {
		if err := c.Put("a", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get("a"); string(got) != content || err != nil {
			t.Errorf("%q %v, want %q", got, err, content)
		}
	}
	// Another program's entries, and those of another name, are not found.
	for _, other := range []*sealcache.Cache{openCache(dir, key, "c"), openCache(dir, key, ""),
		openCache(dir, nil, "b")} {
		if _, err := other.Get("a"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := other.Put("a", []byte("x")); err != nil {
			t.Error(err)
		}
	}
	if got, err := c.Get("a"); len(got) != 0 || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Error(fi.Mode(), err)
	}
}

// An entry that was changed, cut, exchanged with another one, or written under another key is not used.
func TestTamperedEntriesAreNotUsed(t *testing.T) {
	dir := t.TempDir()
	c := openCache(dir, key, "b")
	if err := c.Put("a", []byte("the module")); err != nil {
		t.Fatal(err)
	}
	path := entries(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tampered := map[string][]byte{"empty": {}, "short": whole[:10], "no content": whole[:32],
		"longer": append(bytes.Clone(whole), 0)}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1
		tampered[fmt.Sprintf("byte %d", i)] = b
	}
	for what, b := range tampered {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get("a"); !errors.Is(err, sealcache.ErrTampered) || got != nil {
			t.Errorf("%s: %q %v", what, got, err)
		}
	}
	// Under another name, or key, the same bytes are nothing.
	if err := c.Put("b", []byte("another")); err != nil {
		t.Fatal(err)
	}
	for _, other := range entries(t, dir) {
		if other != path {
			if err := os.WriteFile(other, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.Get("b"); !errors.Is(err, sealcache.ErrTampered) {
		t.Errorf("an exchanged entry: %v", err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(dir, bytes.Repeat([]byte{8}, 32), "b").Get("a"); !errors.Is(err, sealcache.ErrTampered) {
		t.Errorf("another key: %v", err)
	}
	if _, err := sealcache.Open(dir, key, "b", sealcache.Use{Purpose: "another", Entries: 32}).Get("a"); !errors.Is(err,
		sealcache.ErrTampered) {
		t.Errorf("another purpose: %v", err)
	}
	// A link, or what is no file, is not followed.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get("a"); err == nil {
		t.Error("a directory is an entry")
	}
}

// An entry can be found by what it holds, under any key and name; files that are no entries do not disturb.
func TestEntriesAreFoundByContent(t *testing.T) {
	dir := t.TempDir()
	is := func(want string) func([]byte) bool { return func(b []byte) bool { return string(b) == want } }
	if b := sealcache.Find(filepath.Join(dir, "none"), is("")); b != nil {
		t.Errorf("%q", b)
	}
	for i, name := range []string{"one", "two"} {
		if err := openCache(dir, bytes.Repeat([]byte{byte(i)}, 32), name).Put(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"short": "x", ".begun": strings.Repeat("x", 32) + "three"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if b := sealcache.Find(dir, is(want)); string(b) != want {
			t.Errorf("%q, want %s", b, want)
		}
	}
	if b := sealcache.Find(dir, is("three")); b != nil {
		t.Errorf("%q", b)
	}
}

// The oldest entries go, and processes do not disturb each other.
func TestTheNewestStay(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			c := openCache(dir, key, "b")
			for i := range 20 {
				name := fmt.Sprint(p, i)
				if err := c.Put(name, []byte(name)); err != nil {
					t.Error(err)
				}
				if got, err := c.Get("0 0"); err == nil && string(got) != "0 0" {
					t.Errorf("%q", got)
				}
			}
		})
	}
	wg.Wait()
	if n := len(entries(t, dir)); n != 32 {
		t.Errorf("%d entries", n)
	}
}

func TestTheProgramHasAName(t *testing.T) {
	if a := sealcache.Builder(); a == "" || a != sealcache.Builder() {
		t.Errorf("%q", a)
	}
}
