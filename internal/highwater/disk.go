package highwater

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// Disk is where marks are kept. Tests give one that loses power.
type Disk interface {
	// Open opens a file that exists for reading and writing. The error is
	// fs.ErrNotExist when there is none.
	Open(path string) (File, error)

	// Replace makes b the content of the file, and the directories that are missing
	// above it, durably: after a power cut either all of it is there or nothing is changed.
	Replace(path string, b []byte) error
}

// File is an open mark.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	Size() (int64, error)
	Sync() error

	// Current reports whether the path still names this file.
	Current() (bool, error)

	// Lock keeps other processes and other Files out until Unlock.
	Lock() error
	Unlock() error
}

// osDisk is the file system.
type osDisk struct{}

// Open implements Disk.
func (osDisk) Open(path string) (File, error) {
	unfit := &Error{Class: ErrDamaged, Path: path,
		Reason: "it must be a regular file that only its owner can read (chmod 600)"}
	f, err := files.OpenFlags(path, os.O_RDWR)
	if errors.Is(err, files.ErrNotRegular) {
		return nil, unfit
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && fi.Mode().Perm()&0o077 != 0 {
		err = unfit
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f, fi}, nil
}

// Replace implements Disk.
func (osDisk) Replace(path string, b []byte) error {
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return statedir.SyncDir(dir)
}

// makeDir makes dir with mode 0700 and its missing parents, durably.
func makeDir(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case err == nil && fi.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others can write to %s: chmod go-w it", dir)
	case err == nil && fi.IsDir():
		return nil
	case err == nil || !errors.Is(err, os.ErrNotExist):
		return errors.Join(err, fmt.Errorf("%s is no directory that can be used", dir))
	}
	above := filepath.Dir(dir)
	if _, err := os.Stat(above); err != nil {
		if err := makeDir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return statedir.SyncDir(above)
}

type osFile struct {
	*os.File
	info os.FileInfo // as it was opened: says which file it is
}

// Size implements File. Nothing reads or writes at the file's own offset.
func (f osFile) Size() (int64, error) { return f.Seek(0, io.SeekEnd) }

// Current implements File.
func (f osFile) Current() (bool, error) {
	current, err := files.Names(f.Name(), f.info)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return current, err
}
