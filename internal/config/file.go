package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// EditFile replaces belay.yaml in dir by what change makes of it, or leaves it as it
// was. change runs under the file's lock and again when an editor has saved meanwhile:
// it makes every check that depends on the content. When EditFile returns nil, the
// edit is durable. Errors are fs.ErrNotExist, those of change, and those of
// statedir.Edit; it is safe for concurrent use, also by other processes.
func EditFile(dir string, change func(src []byte) ([]byte, error)) error {
	path := filepath.Join(dir, FileName)
	return statedir.Edit(path, strictyaml.MaxSize, func(src []byte) ([]byte, error) {
		if src == nil {
			return nil, fmt.Errorf("there is no %s: %w", path, fs.ErrNotExist)
		}
		return change(src)
	})
}

// ReadFile returns the bytes of belay.yaml in dir. Errors are as of statedir.Read.
func ReadFile(dir string) ([]byte, error) {
	return statedir.Read(filepath.Join(dir, FileName), strictyaml.MaxSize)
}

// Load reads belay.yaml in dir with the files of options that it names, and its revision: that
// of no bytes where there is no file, "" where it cannot be read. Errors are ErrMissing or ErrUnusable;
// beside one stands a configuration that says nothing. Safe for concurrent use.
func Load(dir string) (f *File, revision string, err error) {
	none := &File{Version: Version}
	src, err := ReadFile(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, Revision(nil), fmt.Errorf("%w (looked for %s)", ErrMissing, filepath.Join(dir, FileName))
	case err != nil:
		return none, "", fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if f, err = Parse(src); err != nil {
		return none, Revision(src), fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if err := f.ReadConfigs(dir); err != nil {
		return none, Revision(src), fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return f, f.Revision(src), nil
}
