package statedir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// tries bounds how often an edit starts again because the file has changed.
const tries = 10

// Modes of files that an edit makes.
const (
	privateMode fs.FileMode = 0o600
	publicMode  fs.FileMode = 0o644
)

// Edit replaces the content of a file by what change makes of it. It returns nil
// only when the new content is durable, and writes nothing when change fails.
//
// old is nil when there is no file yet; Edit makes it then, with mode 0600. A file
// larger than limit bytes is refused. change runs under the file's lock, and again on
// the newer bytes when another program has written meanwhile: it makes every check
// that depends on the content, and it may be called up to ten times. When it returns
// the bytes that are there, or nil where there is no file, nothing is written.
//
// The lock excludes other processes of belay. Editors do not take it: the content is
// compared just before it is replaced. Mode and owner stay. A link is followed, and
// the file is replaced where the link leads.
//
// Errors are ErrBusy, ErrChanging, ErrUnsafe, ErrTooLarge, those of change, or of the
// file system. It is safe for concurrent use, also on the same file.
func Edit(path string, limit int64, change func(old []byte) ([]byte, error)) error {
	return editAs(path, limit, privateMode, change)
}

// EditPublic is Edit for files that are no secret: one that it makes has mode 0644,
// lessened by the umask.
func EditPublic(path string, limit int64, change func(old []byte) ([]byte, error)) error {
	return editAs(path, limit, publicMode, change)
}

func editAs(path string, limit int64, mode fs.FileMode, change func([]byte) ([]byte, error)) error {
	for range tries {
		done, err := edit(path, limit, mode, change)
		if done || err != nil {
			return err
		}
	}
	return &Error{Path: path, Reason: "was changed by another program each time it was to be edited; close that program",
		Err: ErrChanging}
}

// edit is one attempt. done is false when it has to be made again on newer bytes.
func edit(path string, limit int64, mode fs.FileMode, change func([]byte) ([]byte, error)) (done bool, err error) {
	unlock, err := Lock(path)
	if err != nil {
		return false, err
	}
	defer unlock()
	real, err := resolve(path)
	if err != nil {
		return false, err
	}
	dropLeftovers(real)
	old, was, err := read(real, limit)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if exists && old == nil {
		old = []byte{}
	}
	fresh, err := change(bytes.Clone(old))
	if err != nil {
		return false, err
	}
	if !exists && fresh == nil {
		return true, nil
	}
	if exists && bytes.Equal(fresh, old) {
		return true, syncFile(real) // the edit that made it so may have died before its own
	}
	tmp, err := writeTemp(real, fresh, was, mode)
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp) // fails once the file has its name
	if there, err := resolve(path); err != nil || there != real {
		return false, err
	}
	if !exists {
		return place(tmp, real)
	}
	if now, _, err := read(real, limit); err != nil || !bytes.Equal(now, old) {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	if err := os.Rename(tmp, real); err != nil {
		return false, err
	}
	return true, SyncDir(filepath.Dir(real))
}

// place gives a written file its name, unless another file has it: an editor may
// have made one meanwhile.
func place(tmp, real string) (bool, error) {
	err := os.Link(tmp, real)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil { // a file system without hard links
		if _, there := os.Lstat(real); there == nil {
			return false, nil
		}
		err = os.Rename(tmp, real)
	}
	if err != nil {
		return false, err
	}
	return true, SyncDir(filepath.Dir(real))
}

// Create writes a file that does not exist yet, whole or not at all; it is durable
// when Create returns nil. The mode is lessened by the umask. The error is of class
// fs.ErrExist when the name is taken, also by a link, ErrBusy, or of the file system.
func Create(path string, content []byte, mode fs.FileMode) error {
	taken := &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	if _, err := os.Lstat(path); err == nil {
		return taken
	}
	unlock, err := Lock(path)
	if err != nil {
		return err
	}
	defer unlock()
	real, err := resolve(path)
	if err != nil {
		return err
	}
	tmp, err := writeTemp(real, content, nil, mode)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	done, err := place(tmp, real)
	if err == nil && !done {
		return taken
	}
	return err
}

// Replace writes a complete file, whatever it held; an existing one keeps its
// mode and owner, and a link is resolved. A new file gets the mode, lessened by
// the umask. For content that depends on the present one, use Edit. Errors are
// as of Edit.
func Replace(path string, content []byte, mode fs.FileMode) error {
	unlock, err := Lock(path)
	if err != nil {
		return err
	}
	defer unlock()
	real, err := resolve(path)
	if err != nil {
		return err
	}
	dropLeftovers(real)
	was, err := os.Lstat(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !was.Mode().IsRegular() {
		return unsafe(path, "is not a regular file")
	}
	if err != nil {
		was = nil
	}
	tmp, err := writeTemp(real, content, was, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, real); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return SyncDir(filepath.Dir(real))
}

// tempMark stands in the names of files that are being written.
const tempMark = ".belay-"

// writeTemp writes content durably beside the file that it is for, and returns the
// name. It gets the mode and owner of the file it is to replace, else mode.
// Preconditions: the file's lock is held.
func writeTemp(real string, content []byte, was fs.FileInfo, mode fs.FileMode) (string, error) {
	name := filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+tempMark+rand.Text())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) // lessened by the umask
	if err != nil {
		return "", err
	}
	fail := func(err error) (string, error) {
		return "", errors.Join(err, f.Close(), os.Remove(name))
	}
	if was != nil {
		err = keepOwner(f, was)
	} else if mode == privateMode {
		err = f.Chmod(mode) // a umask that takes rights from the owner, too, is not for these
	}
	if err != nil {
		return fail(err)
	}
	if _, err := f.Write(content); err != nil {
		return fail(err)
	}
	if err := f.Sync(); err != nil {
		return fail(err)
	}
	if err := f.Close(); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// dropLeftovers removes what writers that were killed have left of the file.
// Preconditions: the file's lock is held, so that no other process writes it.
func dropLeftovers(real string) {
	dir, prefix := filepath.Dir(real), "."+filepath.Base(real)+tempMark
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the write that follows says why
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func syncFile(path string) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), SyncDir(filepath.Dir(path)))
}
