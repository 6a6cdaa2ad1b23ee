package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// How much the cache may hold when a process starts. Agents can propose modules,
// and each leaves an entry.
const (
	maxCacheModules = 256
	maxCacheBytes   = 1 << 30
)

// prune deletes the module directories used least recently until the rest fits.
// It is best effort: the cache works with every state.
func (c *codeCache) prune(modules int, bytes int64) {
	type entry struct {
		dir  string
		used time.Time
		size int64
	}
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var all []entry
	for _, d := range list {
		if !d.IsDir() || d.Name() == preparedDir { // which has a bound of its own
			continue
		}
		e := entry{dir: filepath.Join(c.dir, d.Name())}
		_ = filepath.WalkDir(e.dir, func(_ string, f fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if st, err := f.Info(); err == nil {
				e.size += st.Size()
				if st.ModTime().After(e.used) {
					e.used = st.ModTime()
				}
			}
			return nil
		})
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return b.used.Compare(a.used) })
	total := int64(0)
	for i, e := range all {
		if total += e.size; i < modules && total <= bytes {
			continue
		}
		unlock, err := lockFile(e.dir+".lock", 0)
		if err != nil {
			continue // in use
		}
		_ = os.RemoveAll(e.dir)
		_ = os.Remove(e.dir + ".lock")
		unlock()
	}
}
