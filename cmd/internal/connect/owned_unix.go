//go:build unix

package connect

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/jsonedit"
)

// writable are the permissions by which another user could change a file.
const writable = 0o022

// dir is an open directory, whose name no longer matters.
type dir struct{ fd int }

func (d dir) close() { _ = unix.Close(d.fd) }

// walk opens the directory of the path, one component after the other and never through a link, so
// that each can be looked at as it is opened: all belong to the owner, who alone can write there.
// With make it makes what is missing.
func (w Writer) walk(path string, create bool) (dir, error) {
	root := w.Root
	if root == "" {
		root = "/"
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return dir{}, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	d := dir{fd}
	at := filepath.Clean(root)
	rest, err := filepath.Rel(at, filepath.Dir(path))
	if err != nil || rest == ".." || strings.HasPrefix(rest, "../") {
		d.close()
		return dir{}, unsafe(path, "does not lie below "+at)
	}
	parts := strings.Split(rest, "/")
	if w.Root == "" {
		parts = append([]string{"."}, parts...) // the file system's root, too
	}
	for _, name := range parts {
		if name == "." && at != "/" || name == "" {
			continue
		}
		at = filepath.Join(at, name)
		next, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) && create {
			if err = unix.Mkdirat(d.fd, name, 0o755); err == nil {
				next, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			}
		}
		d.close()
		switch {
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EMLINK):
			return dir{}, unsafe(at, "is a link, or no directory: no link is followed here")
		case err != nil:
			return dir{}, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		d = dir{next}
		var st unix.Stat_t
		if err := unix.Fstat(d.fd, &st); err != nil {
			d.close()
			return dir{}, &fs.PathError{Op: "stat", Path: at, Err: err}
		}
		if err := w.owned(at, &st); err != nil {
			d.close()
			return dir{}, err
		}
	}
	return d, nil
}

// owned refuses what another user could change.
func (w Writer) owned(at string, st *unix.Stat_t) error {
	switch {
	case int(st.Uid) != w.Owner:
		return unsafe(at, fmt.Sprintf("belongs to user %d, and has to belong to user %d", st.Uid, w.Owner))
	case st.Mode&writable != 0:
		return unsafe(at, fmt.Sprintf("can be written by others (mode %04o)", st.Mode&0o7777))
	}
	return nil
}

func (w Writer) readOwned(path string) ([]byte, error) {
	d, err := w.walk(path, false)
	if err != nil {
		return nil, err
	}
	defer d.close()
	b, _, err := w.readAt(d, path)
	return b, err
}

func (w Writer) readAt(d dir, path string) ([]byte, *unix.Stat_t, error) {
	fd, err := unix.Openat(d.fd, filepath.Base(path),
		unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) {
		return nil, nil, unsafe(path, "is a link: no link is followed here")
	}
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil, unsafe(path, "is not a regular file")
	}
	if err := w.owned(path, &st); err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, jsonedit.MaxSize+1))
	if err != nil {
		return nil, nil, err
	}
	if len(b) > jsonedit.MaxSize {
		return nil, nil, &Error{Path: path, Reason: fmt.Sprintf("it has more than %d bytes", jsonedit.MaxSize),
			Err: jsonedit.ErrInvalid}
	}
	return b, &st, nil
}

func (w Writer) writeOwned(c Change) (backup string, err error) {
	d, err := w.walk(c.Path, true)
	if err != nil {
		return "", err
	}
	defer d.close()
	if err := unix.Flock(d.fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return "", &Error{Path: filepath.Dir(c.Path), Reason: "another process writes there", Err: ErrChanged}
	}
	now, st, err := w.readAt(d, c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return "", err
	}
	if !unchanged(now, c.Old) {
		return "", changed(c.Path)
	}
	mode := uint32(0o644)
	if st != nil {
		mode = uint32(st.Mode) & 0o755 //nolint:unconvert // of another size on other systems
		for i := range 10 {
			backup = w.backupName(c.Path, i)
			if err = w.createAt(d, filepath.Base(backup), c.Old, mode); !errors.Is(err, fs.ErrExist) {
				break
			}
		}
		if err != nil {
			return "", err
		}
	}
	base := filepath.Base(c.Path)
	if c.New == nil {
		if err := unix.Unlinkat(d.fd, base, 0); err != nil {
			return backup, &fs.PathError{Op: "remove", Path: c.Path, Err: err}
		}
		return backup, unix.Fsync(d.fd)
	}
	tmp := "." + base + ".belay-" + rand.Text()
	if err := w.createAt(d, tmp, c.New, mode); err != nil {
		return backup, err
	}
	if err := unix.Renameat(d.fd, tmp, d.fd, base); err != nil {
		return backup, errors.Join(&fs.PathError{Op: "rename", Path: c.Path, Err: err}, unix.Unlinkat(d.fd, tmp, 0))
	}
	return backup, unix.Fsync(d.fd)
}

// createAt makes a file whole, or not at all.
func (w Writer) createAt(d dir, name string, content []byte, mode uint32) error {
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(content)
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, unix.Unlinkat(d.fd, name, 0))
	}
	return nil
}

// CheckProgram refuses a belay-hook that a user other than the owner could replace: a component of
// its path that is a link, belongs to another user, or can be written by others. Errors are
// ErrUnsafe, or of the file system.
func (w Writer) CheckProgram(path string) error {
	full := filepath.Join("/", w.Root, path)
	d, err := w.walk(full, false)
	if err != nil {
		return err
	}
	defer d.close()
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, filepath.Base(full), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "stat", Path: full, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unsafe(full, "is no regular file: no link is followed here")
	}
	if st.Mode&0o111 == 0 {
		return unsafe(full, "cannot be executed")
	}
	return w.owned(full, &st)
}

func unsafe(path, reason string) error {
	return &Error{Path: path, Reason: "it " + reason, Err: ErrUnsafe,
		Advice: "What every user of this machine starts has to lie where root alone can write."}
}
