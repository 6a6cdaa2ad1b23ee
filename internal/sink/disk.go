package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// disk is what a File does to the file system; tests have one that crashes.
type disk interface {
	// open opens a regular file for reading and writing and makes it (0600) when it
	// is missing.
	open(path string) (handle, error)
	rename(from, to string) error
	remove(path string) error
	// after returns the names of the files whose path begins with prefix, sorted.
	after(prefix string) ([]string, error)
	// sync makes the names in the directory of path durable.
	sync(path string) error
}

// handle is an open file.
type handle interface {
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
	size() (int64, error)
	// lock waits until no other process has the file locked; closing it
	// unlocks.
	lock() error
	unlock() error
	// current reports whether path still names this file.
	current(path string) bool
}

type osDisk struct{}

func (osDisk) open(path string) (handle, error) {
	f, err := files.OpenFlags(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		// Not exclusive: who else makes it now makes the same.
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = errors.New("not a regular file")
	case fi.Mode().Perm()&0o022 != 0:
		err = errors.New("others can write to it: chmod go-w it")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f}, nil
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }

func (osDisk) after(prefix string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if path := filepath.Join(filepath.Dir(prefix), e.Name()); strings.HasPrefix(path, prefix) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (osDisk) sync(path string) error {
	return statedir.SyncDir(filepath.Dir(path))
}

type osFile struct{ *os.File }

func (f osFile) size() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

func (f osFile) current(path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}
