package transcripts

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// ErrName means that a file's name is not one that the runtime gives a log of a session.
var ErrName = errors.New("not the name of a session's log")

// File is one file of a session's log.
type File struct {
	Path  string // relative to the runtime's directory
	Agent string // the subagent whose file it is, "" for the session's own
}

// MaxFiles is how many files of subagents are read of one session.
const MaxFiles = 256

// FirstLine returns the first line of a log, at most MaxLine bytes of it.
func FirstLine(r io.Reader) ([]byte, error) {
	line, err := bufio.NewReader(io.LimitReader(r, MaxLine)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return line, nil
}

// Matches reports whether the path, relative to the runtime's directory, has the form, where * is any one
// name or part of one.
func Matches(form, path string) bool {
	ok, err := filepath.Match(form, filepath.ToSlash(path))
	return err == nil && ok
}

// Plain reports whether the id can be a part of a pattern of names: letters, digits, - and _ only.
func Plain(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// Find returns the files of a directory whose paths have the form, relative to it, in the order of their
// paths, and only those behind the one called after. more reports that there are others than most.
func Find(dir, form, after string, most int) (paths []string, more bool) {
	if strings.ContainsAny(dir, `*?[\`) {
		return nil, true // the directory's own name would be a pattern
	}
	found, err := filepath.Glob(filepath.Join(dir, form))
	if err != nil {
		return nil, true
	}
	slices.Sort(found)
	for _, path := range found {
		rel, err := filepath.Rel(dir, path)
		if err != nil || filepath.ToSlash(rel) <= after {
			continue
		}
		if len(paths) == most {
			return paths, true
		}
		paths = append(paths, filepath.ToSlash(rel))
	}
	return paths, false
}

// OpenFile opens a file of the runtime's directory, whose path is relative to it. Errors are those of
// files.StreamWithin.
func OpenFile(dir, path string) (*files.File, error) {
	return files.StreamWithin(dir, filepath.Join(dir, filepath.FromSlash(path)))
}
