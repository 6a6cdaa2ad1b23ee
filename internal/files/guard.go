package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Classes of errors of Outside and RejectStatePath, for errors.Is.
var (
	ErrInside = errors.New("is in the state directory")
	ErrOwn    = errors.New("is a file of the state directory")
)

// Outside returns the real path of path, as RealPath does, and refuses the
// state directory and paths in it. The error is ErrInside, or names the path
// that cannot be resolved.
func Outside(wd, state, path string) (string, error) {
	to, err := RealPath(wd, path)
	if err != nil {
		return "", err
	}
	if state, err = RealPath(wd, state); err != nil {
		return "", err
	}
	if Contains(state, to) {
		return "", ErrInside
	}
	return to, nil
}

// RejectStatePath refuses a path that leads to the state directory or to one of
// its own files: to a name at its top for which own is true, or below one, by
// whichever name, link or second name of the file. Both paths are absolute. The
// error is ErrOwn, or names the path that cannot be resolved.
func RejectStatePath(state, path string, own func(name string) bool) error {
	to, err := RealPath("", path)
	if err != nil {
		return err
	}
	if state, err = RealPath("", state); err != nil {
		return err
	}
	if rel, ok := below(state, to); ok {
		if top, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); top == "." || own(top) {
			return ErrOwn
		}
	}
	entries, err := os.ReadDir(state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !own(e.Name()) {
			continue
		}
		held, err := RealPath(state, e.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		if Contains(held, to) {
			return ErrOwn
		}
	}
	return nil
}
