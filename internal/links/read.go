package links

import (
	"errors"
	"io/fs"
)

// ErrNotLink says that a file is at a path, and that it is no symbolic link.
var ErrNotLink = errors.New("not a symbolic link")

// Found is what one look at a path has found.
type Found struct {
	Path   string
	Target string // of a link
	State  string
}

// States of a path. Recordings of hosts hold these words.
const (
	Link     = "link"
	Plain    = "plain" // a file or directory, no link
	NotThere = "absent"
	Unknown  = "unknown" // it cannot be told
)

// StateOf returns the state that an error of a file system stands for: none is a link, errors of
// class ErrNotLink and fs.ErrNotExist say what they say, and any other leaves it unknown.
func StateOf(err error) string {
	switch {
	case err == nil:
		return Link
	case errors.Is(err, ErrNotLink):
		return Plain
	case errors.Is(err, fs.ErrNotExist):
		return NotThere
	}
	return Unknown
}
