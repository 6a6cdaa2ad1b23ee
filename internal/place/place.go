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
		if !filepath.IsAbs(wd) {
			return "", fmt.Errorf("%q is not absolute", path)
		}
		path = wd + sep + path
	}
	for range maxLinks {
		place, rest, err := real(path)
		if err != nil || len(rest) == 0 {
			return place, err
		}
		if slices.Contains(rest, "..") {
			return "", fmt.Errorf("%q goes back with .. from a directory that is not there", path)
		}
		// A link that leads to nothing yet: what is made by its name is made there.
		to, err := os.Readlink(filepath.Join(place, rest[0]))
		if err != nil {
			return filepath.Join(append([]string{place}, rest...)...), nil
		}
		if !filepath.IsAbs(to) {
			to = place + sep + to
		}
		path = strings.Join(append([]string{to}, rest[1:]...), sep)
	}
	return "", fmt.Errorf("%q: too many links", path)
}

// maxLinks is how many links that lead to nothing are followed, one after the other.
const maxLinks = 40

// real returns the longest part of a path that is there, with links followed, and the
// names behind it. Preconditions: the path is absolute.
func real(path string) (place string, rest []string, err error) {
	sep := string(filepath.Separator)
	volume := filepath.VolumeName(path)
	parts := strings.Split(filepath.FromSlash(path[len(volume):]), sep)
	for n := len(parts); n >= 0; n-- {
		if place, err = filepath.EvalSymlinks(volume + sep + strings.Join(parts[:n], sep)); err == nil {
			return place, parts[n:], nil
		}
	}
	return "", nil, fmt.Errorf("%q cannot be looked at", path)
}

// Within reports whether a place is a directory or lies below it, by its name or by
// what it is: a directory can be mounted under a second name. Both were followed.
func Within(dir, place string) bool {
	_, ok := below(dir, place)
	return ok
}

// below returns what a place within a directory is called from there, "." for the directory.
func below(dir, place string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, place)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return rel, true
	}
	is, err := os.Stat(dir)
	if err != nil {
		return "", false // nothing can lie in it
	}
	for p := place; ; p = filepath.Dir(p) {
		if fi, err := os.Stat(p); err == nil && os.SameFile(fi, is) {
			rel, err := filepath.Rel(p, place)
			return rel, err == nil
		}
		if p == filepath.Dir(p) {
			return "", false
		}
	}
}
