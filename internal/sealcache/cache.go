// Package sealcache keeps what takes long to make, such as the module that a rules file was built
// into, so that the next process need not make it. It decides whether an entry is the one that a
// belay of this state directory wrote: anything else is as if it were not there. It never decides
// what an entry means.
package sealcache

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/files"
)

const (
	maxEntry  = 32 << 20 // bytes of one
	leftovers = time.Hour
)

// Use is what a directory of entries is for.
type Use struct {
	Purpose string // is part of every seal: an entry of one purpose is none of another
	Entries int    // so many stay, the newest ones
}

// ErrTampered: an entry is not one that was put here under this key.
var ErrTampered = errors.New("an entry of the cache is not the one that was written")

// Cache is a directory of entries. It is safe for concurrent use, also by several processes. A nil Cache keeps nothing.
type Cache struct {
	dir     string
	key     []byte
	builder string
	use     Use
}

// Open returns the cache in dir, which is made when something is put there. key
// authenticates the entries. builder names the program that makes them, as Builder does: what
// another one has made is not found. Without key or builder the result is nil.
func Open(dir string, key []byte, builder string, use Use) *Cache {
	if len(key) == 0 || builder == "" {
		return nil
	}
	return &Cache{dir: dir, key: bytes.Clone(key), builder: builder, use: use}
}

// Builder names this program by its file and version: another one may make something else from the same. "" when
// that cannot be told.
func Builder() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return ""
	}
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.String()
	}
	return fmt.Sprintf("%s\x00%d\x00%d\x00%s", path, st.Size(), st.ModTime().UnixNano(), version)
}

// Get returns what was put under a name. The error is fs.ErrNotExist where nothing was, and ErrTampered.
func (c *Cache) Get(name string) ([]byte, error) {
	if c == nil {
		return nil, fs.ErrNotExist
	}
	path := c.path(name)
	entry, err := files.Read(path, maxEntry+sha256.Size)
	if err != nil {
		return nil, err
	}
	if len(entry) < sha256.Size {
		return nil, ErrTampered
	}
	mac, content := entry[:sha256.Size], entry[sha256.Size:]
	if !hmac.Equal(mac, c.mac(path, content)) {
		return nil, ErrTampered
	}
	return content, nil
}

// Find returns the content of an entry that match knows, whichever key and program it was put with; nil where there is
// none. It proves nothing about an entry: match has to, by a digest of the content that it knows from elsewhere.
func Find(dir string, match func(content []byte) bool) []byte {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, d := range list {
		if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		entry, err := files.Read(filepath.Join(dir, d.Name()), maxEntry+sha256.Size)
		if err == nil && len(entry) >= sha256.Size && match(entry[sha256.Size:]) {
			return entry[sha256.Size:]
		}
	}
	return nil
}

// Put keeps content under a name, and drops the oldest entries.
func (c *Cache) Put(name string, content []byte) error {
	if c == nil || len(content) > maxEntry {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	path := c.path(name)
	entry := append(c.mac(path, content), content...)
	if err := files.Write(path, entry, files.Options{Perm: 0o600}); err != nil {
		return err
	}
	return c.prune()
}

func (c *Cache) path(name string) string {
	sum := sha256.Sum256([]byte(c.builder + "\x00" + name))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:]))
}

// mac is over the name, too, so that no entry stands for another one.
func (c *Cache) mac(path string, content []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(c.use.Purpose + "\x00" + filepath.Base(path) + "\x00"))
	h.Write(content)
	return h.Sum(nil)
}

// prune drops the oldest entries, and files that a process did not finish.
func (c *Cache) prune() error {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	type entry struct {
		name string
		made time.Time
	}
	var all []entry
	for _, d := range list {
		st, err := d.Info()
		if err != nil || !d.Type().IsRegular() {
			continue // gone since
		}
		if strings.HasPrefix(d.Name(), ".") {
			if time.Since(st.ModTime()) > leftovers {
				_ = os.Remove(filepath.Join(c.dir, d.Name()))
			}
			continue
		}
		all = append(all, entry{d.Name(), st.ModTime()})
	}
	slices.SortFunc(all, func(a, b entry) int { return b.made.Compare(a.made) })
	for i := c.use.Entries; i < len(all); i++ {
		if err := os.Remove(filepath.Join(c.dir, all[i].name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
