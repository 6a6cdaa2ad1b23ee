package transcripts

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
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

// Directory is the directory of a runtime, of which its logs are read.
type Directory struct {
	Path string // absolute
	// Source tells of the files of a user of another uid, for as long as ctx lasts. Nil: they are read through the
	// operating system, and only those of this process's user.
	Source filesource.Source
	Ctx    context.Context //nolint:containedctx // of the question that Source belongs to
}

// Named reports whether only the log that a caller has named is told, with what lies in its own folder: the logs of
// other sessions are not looked through.
func (d Directory) Named() bool { return d.Source != nil }

// Find returns the files of the directory whose paths have the form, relative to it, in the order of their
// paths, and only those behind the one called after. more reports that there are others than most, or that they cannot
// be told.
func (d Directory) Find(form, after string, most int) (paths []string, more bool) {
	if strings.ContainsAny(d.Path, `*?[\`) {
		return nil, true // the directory's own name would be a pattern
	}
	found, err := d.glob(filepath.Join(d.Path, form))
	if err != nil {
		return nil, true
	}
	slices.Sort(found)
	for _, path := range found {
		rel, err := filepath.Rel(d.Path, path)
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

func (d Directory) glob(pattern string) ([]string, error) {
	if d.Source == nil {
		return filepath.Glob(pattern)
	}
	return d.Source.Glob(d.Ctx, files.Transcript, pattern)
}

// Open opens a file of the directory, whose path is relative to it. Errors are those of files.StreamWithin and of
// filesource.Source.
func (d Directory) Open(path string) (*files.File, error) {
	at := filepath.Join(d.Path, filepath.FromSlash(path))
	if d.Source == nil {
		return files.StreamWithin(d.Path, at)
	}
	return d.Source.Open(d.Ctx, files.Transcript, at)
}
