package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Classes of errors of Outside and NotOwn, for errors.Is.
var (
	ErrInside = errors.New("is in the state directory")
	ErrOwn    = errors.New("is a file of the state directory")
)

// Outside returns where a path leads, as Follow does, and refuses what is the state
// directory or lies in it. The error is ErrInside, or says what cannot be looked at.
func Outside(wd, state, path string) (string, error) {
	to, err := Follow(wd, path)
	if err != nil {
		return "", err
	}
	if state, err = Follow(wd, state); err != nil {
		return "", err
	}
	if Within(state, to) {
		return "", ErrInside
	}
	return to, nil
}

// NotOwn refuses a path that leads to something which the state directory keeps for itself:
// to a name at its top of which own says so, or below one, by whichever name, link or second
// name of the file. Both paths are absolute. The error is ErrOwn, or says what cannot be
// looked at.
func NotOwn(state, path string, own func(name string) bool) error {
	to, err := Follow("", path)
	if err != nil {
		return err
	}
	if state, err = Follow("", state); err != nil {
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
		kept, err := Follow(state, e.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		if Within(kept, to) {
			return ErrOwn
		}
	}
	return nil
}
