package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
)

// State directories with one code cache compile a module once, and have no compiled code of their own. One under
// another key trusts none of it.
func TestCodeCacheIsShared(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	key := []byte("0123456789abcdef0123456789abcdef")
	opened := func(key []byte) (code map[string]os.FileInfo) {
		dir := state(t, "version: belay/v1\nhooks: []\n")
		open(t, dir, belay.Options{InMemory: true, CodeCache: cache, CodeKey: key,
			Hooks: []belay.AdHocHook{{Name: "twice", Module: twice()}}})
		own, _ := filepath.Glob(filepath.Join(dir, "cache", "*", "wazero-*", "*"))
		if len(own) > 0 {
			t.Errorf("compiled code lies in the state directory: %v", own)
		}
		all, err := filepath.Glob(filepath.Join(cache, "*", "wazero-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		code = map[string]os.FileInfo{}
		for _, path := range all {
			fi, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			code[strings.TrimPrefix(path, cache)] = fi
		}
		return code
	}
	first := opened(key)
	if len(first) != 1 {
		t.Fatalf("%d files of compiled code", len(first))
	}
	for path, fi := range opened(key) {
		if was := first[path]; was == nil || !os.SameFile(was, fi) {
			t.Errorf("%s was compiled again", path)
		}
	}
	for path, fi := range opened([]byte("another key of thirty-two bytes!")) {
		if was := first[path]; was != nil && os.SameFile(was, fi) && was.ModTime().Equal(fi.ModTime()) {
			t.Errorf("%s was believed without its key", path)
		}
	}
}
