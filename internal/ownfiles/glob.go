package ownfiles

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// Bounds of one list: a daemon must not have this process walk through a disk.
const (
	maxEntries = 20_000 // that are looked at
	listTime   = 500 * time.Millisecond
)

var errManyEntries = errors.New("there are more files than are looked through")

// glob returns the paths that match a pattern, sorted, as path/filepath.Glob finds them, within bounds.
func glob(pattern string, entries int) ([]string, error) {
	g := &globbing{left: entries, end: time.Now().Add(listTime)}
	if err := g.walk("/", strings.Split(strings.TrimPrefix(pattern, "/"), "/")); err != nil {
		return nil, err
	}
	slices.Sort(g.found)
	return slices.Compact(g.found), nil
}

type globbing struct {
	left  int // entries that are still looked at
	end   time.Time
	found []string
}

func (g *globbing) walk(dir string, rest []string) error {
	name, whole := files.Unmarked(rest[0])
	if name == "." || name == ".." {
		return errManyEntries // no clean path has it
	}
	if whole {
		return g.step(path.Join(dir, name), rest[1:])
	}
	f, err := files.OpenDir(dir)
	if err != nil {
		return nil // as the runtime, which runs as the same user, finds nothing there
	}
	defer f.Close() // only read
	for {
		names, err := f.Readdirnames(512)
		for _, n := range names {
			if g.left--; g.left < 0 || time.Now().After(g.end) {
				return errManyEntries
			}
			if ok, _ := path.Match(rest[0], n); ok {
				if err := g.step(path.Join(dir, n), rest[1:]); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// step goes on at a path that is there.
func (g *globbing) step(at string, rest []string) error {
	if g.left--; g.left < 0 {
		return errManyEntries
	}
	if len(rest) > 0 {
		return g.walk(at, rest)
	}
	if _, err := os.Lstat(at); err != nil {
		return nil // nothing is there for this user
	}
	if g.found = append(g.found, at); len(g.found) > daemonapi.MaxNames {
		return errManyEntries
	}
	return nil
}
