package system

import (
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// Organisation reads a file of the organisation, such as belay.yaml, for a process that decides by it without the
// daemon. The error is of class ErrUntrusted where another user than root can have written the file or put it there,
// or where it cannot be read.
func Organisation(name string) ([]byte, error) { return organisation("/", 0, name) }

// organisation is Organisation for files below root that belong to owner.
func organisation(root string, owner int, name string) ([]byte, error) {
	path := filepath.Join(ConfigDir, name)
	for _, part := range []string{"", filepath.Dir(ConfigDir), ConfigDir, path} {
		if err := owned(filepath.Join(root, part), owner); err != nil {
			return nil, err
		}
	}
	src, err := files.Read(filepath.Join(root, path), strictyaml.MaxSize)
	if err != nil {
		return nil, &Error{Path: path, Reason: "cannot be read: " + err.Error(), Class: ErrUntrusted, Cause: err}
	}
	return src, nil
}
