// Package place finds out where a path leads, so that what must not be written into
// a directory is not written there by another name. It decides nothing about what
// belongs where, and makes nothing.
package place

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Follow returns where a path leads, with every link followed; wd is where a relative
// one begins. Its last parts need not be there. Who writes there uses the result: then
// what was looked at is what is written to.
//
// Neither filepath.Abs nor filepath.Clean will do: they take `..` back by one name,
// and the system takes it back from where a link led to; the working directory, too,
// may be known by the name of a link.
func Follow(wd, path string) (string, error) {
	sep := string(filepath.Separator)
	if !filepath.IsAbs(path) {
		path = wd + sep + path
	}
	volume := filepath.VolumeName(path)
	parts := strings.Split(filepath.FromSlash(path[len(volume):]), sep)
	for n := len(parts); n >= 0; n-- {
		place, err := filepath.EvalSymlinks(volume + sep + strings.Join(parts[:n], sep))
		if err != nil {
			continue
		}
		if slices.Contains(parts[n:], "..") {
			return "", fmt.Errorf("%q goes back with .. from a directory that is not there", path)
		}
		return filepath.Join(append([]string{place}, parts[n:]...)...), nil
	}
	return "", fmt.Errorf("%q cannot be looked at", path)
}

// Within reports whether a place is a directory or lies below it, by its name or by
// what it is: a directory can be mounted under a second name. Both were followed.
func Within(dir, place string) bool {
	rel, err := filepath.Rel(dir, place)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return true
	}
	is, err := os.Stat(dir)
	if err != nil {
		return false // nothing can lie in it
	}
	for p := place; ; p = filepath.Dir(p) {
		if fi, err := os.Stat(p); err == nil && os.SameFile(fi, is) {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}
