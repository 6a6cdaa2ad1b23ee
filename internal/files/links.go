package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RealPath returns the real path of path, with every link resolved; a
// relative path begins at wd. Its last parts need not exist. Callers write to
// the result, so that they write to the path that was checked.
//
// Neither filepath.Abs nor filepath.Clean will do: they take `..` back by one name,
// and the system takes it back from where a link led to; the working directory, too,
// may be known by the name of a link.
func RealPath(wd, path string) (string, error) {
	sep := string(filepath.Separator)
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(wd) {
			return "", fmt.Errorf("%q is not absolute", path)
		}
		path = wd + sep + path
	}
	for range maxLinks {
		dir, rest, err := real(path)
		if err != nil || len(rest) == 0 {
			return dir, err
		}
		if slices.Contains(rest, "..") {
			return "", fmt.Errorf("%q goes back with .. from a directory that is not there", path)
		}
		// A link to a path that does not exist: a file made by the link's name
		// is made there.
		to, err := os.Readlink(filepath.Join(dir, rest[0]))
		if err != nil {
			return filepath.Join(append([]string{dir}, rest...)...), nil
		}
		if !filepath.IsAbs(to) {
			to = dir + sep + to
		}
		path = strings.Join(append([]string{to}, rest[1:]...), sep)
	}
	return "", fmt.Errorf("%q: too many links", path)
}

// maxLinks is how many links to nothing are resolved, one after the other.
const maxLinks = 40

// real returns the real path of the longest existing part of a path, and the
// names behind it. Preconditions: the path is absolute.
func real(path string) (dir string, rest []string, err error) {
	sep := string(filepath.Separator)
	volume := filepath.VolumeName(path)
	parts := strings.Split(filepath.FromSlash(path[len(volume):]), sep)
	for n := len(parts); n >= 0; n-- {
		if dir, err = filepath.EvalSymlinks(volume + sep + strings.Join(parts[:n], sep)); err == nil {
			return dir, parts[n:], nil
		}
	}
	return "", nil, fmt.Errorf("%q cannot be looked at", path)
}

// Contains reports whether path is dir or lies below it, by name or by
// identity: a directory can be mounted under a second name. Preconditions:
// RealPath returned both.
func Contains(dir, path string) bool {
	_, ok := below(dir, path)
	return ok
}

// below returns the path relative to dir, "." for dir itself.
func below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return rel, true
	}
	is, err := os.Stat(dir)
	if err != nil {
		return "", false // nothing can lie in it
	}
	for p := path; ; p = filepath.Dir(p) {
		if fi, err := os.Stat(p); err == nil && os.SameFile(fi, is) {
			rel, err := filepath.Rel(p, path)
			return rel, err == nil
		}
		if p == filepath.Dir(p) {
			return "", false
		}
	}
}
