package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

var cacheKey = bytes.Repeat([]byte{7}, 32)

// warm opens an engine on a cache directory, loads a guest and runs it; it
// returns the log and whether compiled code came from the cache.
func warm(t *testing.T, dir string, key []byte, name string) (log string, hit bool) {
	t.Helper()
	var buf bytes.Buffer
	e := open(t,
		Options{CacheDir: dir, CacheKey: key, Logger: slog.New(slog.NewTextHandler(&buf, nil)), engineVersion: "v0"})
	before := stamps(t, dir)
	m := load(t, e, guest(t, name))
	if o := run(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1}, lsAction); o.Kind == phases.KindLoad {
		t.Fatal(o.Cause)
	}
	after := stamps(t, dir)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for path, st := range after {
		hit = hit || os.SameFile(before[path], st) && before[path].ModTime().Equal(st.ModTime())
	}
	return buf.String(), hit
}

func stamps(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	out := map[string]os.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && !d.IsDir() && strings.HasPrefix(filepath.Base(filepath.Dir(path)), "wazero-") {
			out[path], err = os.Stat(path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// entry is the one file of compiled code in a cache.
func entry(t *testing.T, dir string) string {
	t.Helper()
	for p := range stamps(t, dir) {
		return p
	}
	t.Fatal("the cache is empty")
	return ""
}

// The name has characters that mean something in patterns.
func cacheDir(t *testing.T) string { return filepath.Join(t.TempDir(), "[cache] *?") }

// The second process takes the code from the cache; only the owner can use the
// directory.
func TestCache(t *testing.T) {
	dir := cacheDir(t)
	if log, hit := warm(t, dir, cacheKey, "init_order"); hit || log != "" {
		t.Fatal("first:", log)
	}
	if log, hit := warm(t, dir, cacheKey, "init_order"); !hit || log != "" {
		t.Fatal("second not from the cache:", log)
	}
	if warm(t, dir, cacheKey, "guard"); len(stamps(t, dir)) != 2 {
		t.Fatal("another module did not get an entry of its own")
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Error(st.Mode(), err)
	}
}

// Whatever is done to an entry is found out before the engine reads it: the entry
// is deleted, a line is logged, and the module compiled once more.
func TestCacheTampering(t *testing.T) {
	other := []byte("not native code")
	for name, spoil := range map[string]func(t *testing.T, dir, path string){
		"garbled": func(t *testing.T, _, path string) {
			b := read(t, path)
			b[len(b)/2] ^= 1
			write(t, path, b)
		},
		"truncated": func(t *testing.T, _, path string) { write(t, path, read(t, path)[:100]) },
		"emptied":   func(t *testing.T, _, path string) { write(t, path, nil) },
		"appended":  func(t *testing.T, _, path string) { write(t, path, append(read(t, path), 0)) },
		"swapped with another module's, seal and all": func(t *testing.T, dir, path string) {
			elsewhere := cacheDir(t)
			warm(t, elsewhere, cacheKey, "guard")
			from := entry(t, elsewhere)
			write(t, path, read(t, from))
			write(t, sealOf(moduleDir(path), path), read(t, sealOf(moduleDir(from), from)))
		},
		"replaced by a link": func(t *testing.T, dir, path string) {
			copied := filepath.Join(t.TempDir(), "copy")
			write(t, copied, read(t, path))
			remove(t, path)
			if err := os.Symlink(copied, path); err != nil {
				t.Fatal(err)
			}
		},
		"replaced by a directory": func(t *testing.T, _, path string) {
			remove(t, path)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"without a seal": func(t *testing.T, _, path string) { remove(t, sealOf(moduleDir(path), path)) },
		"with a long seal": func(t *testing.T, _, path string) {
			write(t, sealOf(moduleDir(path), path), append(read(t, sealOf(moduleDir(path), path)), 0))
		},
		"another file beside it": func(t *testing.T, _, path string) {
			write(t, path[:len(path)-1]+"x", other)
			remove(t, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cacheDir(t)
			warm(t, dir, cacheKey, "init_order")
			good := read(t, entry(t, dir))
			path := entry(t, dir)
			spoil(t, dir, path)
			log, hit := warm(t, dir, cacheKey, "init_order")
			if hit || strings.Count(log, "code cache entry deleted") != 1 {
				t.Errorf("hit %v, log %q", hit, log)
			}
			if !bytes.Equal(read(t, entry(t, dir)), good) {
				t.Error("the entry was not made again")
			}
			if log, hit = warm(t, dir, cacheKey, "init_order"); !hit || log != "" {
				t.Errorf("not in order afterwards: %q", log)
			}
		})
	}
}

// Another key, and a key that has been changed, open nothing.
func TestCacheKey(t *testing.T) {
	dir := cacheDir(t)
	warm(t, dir, cacheKey, "init_order")
	if log, hit := warm(t, dir, bytes.Repeat([]byte{8}, 32), "init_order"); hit || !strings.Contains(log, "wrong seal") {
		t.Errorf("hit %v, log %q", hit, log)
	}
}

// An entry that is replaced while the engine reads it counts as bad.
func TestCacheReplacedInUse(t *testing.T) {
	dir := cacheDir(t)
	warm(t, dir, cacheKey, "init_order")
	path := entry(t, dir)
	c := &codeCache{dir: dir, key: cacheKey, log: slog.New(slog.DiscardHandler)}
	good, err := c.check(moduleDir(path))
	if err != nil || len(good) != 1 {
		t.Fatal(good, err)
	}
	if err := c.seal(moduleDir(path), good); err != nil {
		t.Fatal(err)
	}
	// Changed in place and changed back, times and all; then replaced by a copy.
	b := read(t, path)
	for name, change := range map[string]func(){
		"in place": func() { write(t, path, make([]byte, len(b))); write(t, path, b) },
		"swapped":  func() { remove(t, path); write(t, path, b) },
	} {
		good, err := c.check(moduleDir(path))
		if err != nil || len(good) != 1 {
			t.Fatal(good, err)
		}
		time.Sleep(15 * time.Millisecond) // a tick of the file system's clock
		change()
		if err := os.Chtimes(path, time.Time{}, good[path].ModTime()); err != nil {
			t.Fatal(err)
		}
		if err := c.seal(moduleDir(path), good); err == nil {
			t.Errorf("%s: a changed file passed", name)
		}
	}
}

// An entry that is wrong and cannot be deleted keeps the engine from its directory: the
// module is compiled without the cache.
func TestCacheEntryThatStays(t *testing.T) {
	dir := cacheDir(t)
	warm(t, dir, cacheKey, "init_order")
	path := entry(t, dir)
	b := read(t, path)
	b[len(b)/2] ^= 1
	write(t, path, b)
	stays := errors.New("operation not permitted")
	c := &codeCache{dir: dir, key: cacheKey, log: slog.New(slog.DiscardHandler),
		remove: func(string) error { return stays }}
	if good, err := c.check(moduleDir(path)); !errors.Is(err, stays) || good != nil {
		t.Errorf("%v, %v: the directory can be used", good, err)
	}
	var buf bytes.Buffer
	e := open(t,
		Options{CacheDir: dir, CacheKey: cacheKey, Logger: slog.New(slog.NewTextHandler(&buf, nil)), engineVersion: "v0"})
	e.cache.remove = c.remove
	if o := run(t, load(t, e, guest(t, "init_order")), RunRequest{Phase: phases.PreTool, Timeout: -1},
		lsAction); o.Kind != "" {
		t.Errorf("%s %s", o.Kind, o.Cause)
	}
	if !strings.Contains(buf.String(), "code cache not used") || !bytes.Equal(read(t, path), b) {
		t.Errorf("the log says %q", buf.String())
	}
}

// Old entries make room; one that is in use stays.
func TestCachePrune(t *testing.T) {
	dir := cacheDir(t)
	for _, name := range []string{"init_order", "guard", "wasi"} {
		warm(t, dir, cacheKey, name)
	}
	c := &codeCache{dir: dir, key: cacheKey, log: slog.New(slog.DiscardHandler)}
	c.prune(2, 1<<30)
	if n := len(stamps(t, dir)); n != 2 {
		t.Errorf("%d entries", n)
	}
	unlock, err := lockFile(moduleDir(entry(t, dir))+".lock", 0)
	if err != nil {
		t.Fatal(err)
	}
	c.prune(256, 0)
	if n := len(stamps(t, dir)); n != 1 {
		t.Errorf("%d entries, one is locked", n)
	}
	unlock()
	c.prune(256, 0)
	if n := len(stamps(t, dir)); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// TestCacheMakesRoomWhenOpened: opening a cache evicts the oldest modules above
// its number and its size.
func TestCacheMakesRoomWhenOpened(t *testing.T) {
	fill := func(t *testing.T, n int) string {
		dir := cacheDir(t)
		for i := range n {
			must(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("%03d", i)), 0o700))
			long := time.Now().Add(-time.Duration(i) * time.Hour)
			must(t, os.Chtimes(filepath.Join(dir, fmt.Sprintf("%03d", i)), long, long))
		}
		return dir
	}
	left := func(t *testing.T, dir string) []os.DirEntry {
		_, err := openCache(dir, cacheKey, "v0", slog.New(slog.DiscardHandler))
		must(t, err)
		list, err := os.ReadDir(dir)
		must(t, err)
		return list
	}
	dir := fill(t, 256+2)
	if list := left(t, dir); len(list) != 256 || list[255].Name() != "255" {
		t.Errorf("%d are left", len(list))
	}
	for _, c := range []struct {
		name  string
		bytes int64
		want  int
	}{{"less than 1 GiB", 1<<30 - 1<<20, 3}, {"1 GiB beside other files", 1 << 30, 2}} {
		dir := fill(t, 3)
		large := filepath.Join(dir, "002", "large") // it has no blocks
		write(t, large, nil)
		must(t, os.Truncate(large, c.bytes))
		long := time.Now().Add(-9 * time.Hour)
		must(t, os.Chtimes(large, long, long))
		must(t, os.Chtimes(filepath.Dir(large), long, long))
		write(t, filepath.Join(dir, "001", "small"), []byte("x"))
		if list := left(t, dir); len(list) != c.want {
			t.Errorf("%s: %v are left, want %d", c.name, list, c.want)
		}
	}
}

// Without knowing its version the engine could take code that another version of
// it has compiled, so there is no cache then.
func TestCacheUnversioned(t *testing.T) {
	dir := cacheDir(t)
	var buf bytes.Buffer
	load(t, open(t,
		Options{CacheDir: dir, CacheKey: cacheKey, Logger: slog.New(slog.NewTextHandler(&buf, nil)), engineVersion: "dev"}),
		guest(t, "guard"))
	if len(stamps(t, dir)) != 0 || !strings.Contains(buf.String(), "code cache is off") {
		t.Error(buf.String())
	}
}

// A cache that cannot be used costs time, not the module.
func TestCacheBroken(t *testing.T) {
	dir := cacheDir(t)
	var buf bytes.Buffer
	e := open(t,
		Options{CacheDir: dir, CacheKey: cacheKey, Logger: slog.New(slog.NewTextHandler(&buf, nil)), engineVersion: "v0"})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write(t, dir, []byte("a file"))
	m := load(t, e, guest(t, "init_order"))
	if o := run(t, m, RunRequest{Phase: phases.PreTool}, lsAction); o.Kind != "" ||
		!strings.Contains(buf.String(), "code cache not used") {
		t.Errorf("%q %s %s", o.Kind, o.Cause, buf.String())
	}
}

func moduleDir(entry string) string { return filepath.Dir(filepath.Dir(entry)) }

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
