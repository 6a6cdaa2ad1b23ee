package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// outsideState refuses the state directory: whoever backs it up, or lets an agent
// read it, does not expect originals there.
func (a *App) outsideState(out string) error {
	_, err := a.recordingPlace(out)
	return err
}

// recordingPlace returns the directory that out is, with every link followed, and
// refuses one that lies in the state directory. Who writes there uses the result:
// then what was looked at is what is written to.
func (a *App) recordingPlace(out string) (string, error) {
	if out == "" {
		return "", usageError("--out DIR is missing: where recordings go", "It must not be the state directory.")
	}
	wd, err := a.Getwd()
	if err != nil {
		return "", failureBy(err, "")
	}
	place, err := followLinks(wd, out)
	if err != nil {
		return "", failureBy(err, "")
	}
	dir, err := a.stateDir()
	if err != nil {
		return place, nil // there is none
	}
	if dir, err = followLinks(wd, dir); err != nil {
		return "", failureBy(err, "")
	}
	if within(dir, place) {
		return "", failure("recordings are not kept in the state directory", "They hold originals. Give another directory with --out.")
	}
	return place, nil
}

// followLinks returns where a path leads. Its last parts need not be there. Neither
// filepath.Abs nor filepath.Clean will do: they take `..` back by one name, and the
// system takes it back from where a link led to; the working directory, too, may be
// known by the name of a link.
func followLinks(wd, path string) (string, error) {
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
			return "", fmt.Errorf("%s goes back with .. from a directory that is not there", safe(path))
		}
		return filepath.Join(append([]string{place}, parts[n:]...)...), nil
	}
	return "", fmt.Errorf("%s cannot be looked at", safe(path))
}

// within reports whether a place is a directory or lies below it, by its name or by
// what it is: a directory can be mounted under a second name.
func within(dir, place string) bool {
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
