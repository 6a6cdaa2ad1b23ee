package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Options say which permissions a file gets.
type Options struct {
	Perm     fs.FileMode // of a new file, less what the umask takes
	NoUmask  bool        // the umask takes nothing
	Existing bool        // those of the regular file that stands in the place, if one does
}

// Pending is a file that is not in its place yet. Its methods must not be called at the same time.
type Pending struct {
	*os.File
	path string
	done bool
}

// Create begins a file. It is made beside its place, so the directory must be there.
func Create(path string, o Options) (*Pending, error) {
	perm, exact := o.Perm.Perm(), o.NoUmask
	if o.Existing {
		switch fi, err := os.Lstat(path); {
		case err == nil && fi.Mode().IsRegular():
			perm, exact = fi.Mode().Perm(), true
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text())
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	p := &Pending{File: f, path: path}
	if exact {
		if err := f.Chmod(perm); err != nil {
			return nil, errors.Join(err, p.Discard())
		}
	}
	return p, nil
}

// Commit syncs the file and puts it in its place. After an error it is still to be discarded.
func (f *Pending) Commit() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Discard removes a file that was not committed. After Commit it does nothing.
func (f *Pending) Discard() error {
	if f.done {
		return nil
	}
	f.done = true
	err := f.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Write makes a file with that content. One that stands in the place keeps its permissions.
func Write(path string, content []byte, o Options) error {
	o.Existing = true
	f, err := Create(path, o)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Commit()
	}
	return errors.Join(err, f.Discard())
}
