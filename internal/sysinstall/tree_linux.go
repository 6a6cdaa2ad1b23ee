package sysinstall

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is the file system of this machine, or that of an image below a directory. Its methods
// take paths as they are on the machine. It is for use by one goroutine.
type Tree struct {
	dir   string // "/" for the machine itself
	top   int
	owner int // whom everything belongs to: root

	// changed is called after each change, and when a plan knows the record, by tests that stop there.
	changed func(what, name string) error
}

func (t *Tree) tellTest(what, name string) error {
	if t.changed == nil {
		return nil
	}
	return t.changed(what, name)
}

// writable are the permissions by which another user could change a file.
const writable = 0o022

const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// OpenTree opens the tree at dir, "/" or an image, as an absolute path. It must be root's, and no other user
// may be able to put something else in its place: other programs find it by its path. The error is ErrUnsafe,
// or of the file system.
func OpenTree(dir string) (*Tree, error) { return openTree(dir, 0) }

func openTree(dir string, owner int) (*Tree, error) {
	dir = path.Clean(dir)
	fd, err := unix.Open("/", openDir, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if err := steady(fd, at, owner); err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
		if part == "" {
			break
		}
		at = path.Join(at, part)
		next, err := unix.Openat(fd, part, openDir, 0)
		_ = unix.Close(fd) // only looked up in
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return nil, unsafe(at, "is a link or no directory", "Give the directory itself.")
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		fd = next
	}
	t := &Tree{dir: dir, top: fd, owner: owner}
	if err := t.own(fd, dir); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// steady refuses a directory in which another user can rename what belongs to root.
func steady(fd int, name string, owner int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Uid != 0 && int(st.Uid) != owner || st.Mode&writable != 0 && st.Mode&unix.S_ISVTX == 0 {
		return unsafe(name, "is another user's to change, and leads to the image", "Put the image where only root can write.")
	}
	return nil
}

// Close lets go of the tree.
func (t *Tree) Close() error { return unix.Close(t.top) }

// Machine reports whether the tree is this machine's own.
func (t *Tree) Machine() bool { return t.dir == "/" }

// Outer returns the path by which other programs find a path of the tree.
func (t *Tree) Outer(name string) string { return path.Join(t.dir, name) }

// own refuses a directory that is not root's alone.
func (t *Tree) own(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return t.alone(&st, name)
}

func (t *Tree) alone(st *unix.Stat_t, name string) error {
	switch {
	case int(st.Uid) != t.owner:
		return unsafe(name, fmt.Sprintf("belongs to uid %d, and must belong to root", st.Uid),
			"Look at it, then: chown root "+name)
	case st.Mode&writable != 0:
		return unsafe(name, "can be written by others than root", "Look at what it holds, then: chmod go-w "+name)
	}
	return nil
}

// walk opens the directory of that path. Each component is looked at as it is opened.
func (t *Tree) walk(name string) (int, error) {
	fd, err := unix.Dup(t.top)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(fd)
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(path.Clean(name), "/"), "/") {
		if part == "" {
			continue
		}
		at = path.Join(at, part)
		next, err := unix.Openat(fd, part, openDir, 0)
		_ = unix.Close(fd) // only looked up in
		switch {
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
			return -1, unsafe(at, "is a link or no directory; belay follows none here", "")
		case err != nil:
			return -1, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		fd = next
		if err := t.own(fd, at); err != nil {
			return -1, errors.Join(err, unix.Close(fd))
		}
	}
	return fd, nil
}

// at calls do with the open directory of a path and the last name of it.
func (t *Tree) at(name string, do func(dir int, base string) error) error {
	dir, err := t.walk(path.Dir(name))
	if err != nil {
		return err
	}
	err = do(dir, path.Base(name))
	return errors.Join(err, unix.Close(dir))
}

// found is what stands at a path.
type found struct {
	mode fs.FileMode // 0 and no kind: nothing
	uid  int
	gid  int
	size int64
	here bool
}

// look says what stands at a path, without following a link. Nothing is no error, also where a directory
// above is missing.
func (t *Tree) look(name string) (found, error) {
	var f found
	err := t.at(name, func(dir int, base string) error {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return &fs.PathError{Op: "stat", Path: name, Err: err}
		}
		f = found{mode: modeOf(st.Mode), uid: int(st.Uid), gid: int(st.Gid), size: st.Size, here: true}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, nil
	}
	return f, err
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	}
	return mode
}

// open opens a regular file of root's for reading.
func (t *Tree) open(name string) (*os.File, error) {
	var f *os.File
	err := t.at(name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: name, Err: err}
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return errors.Join(unsafe(name, "is no regular file", ""), unix.Close(fd))
		}
		if err := t.alone(&st, name); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		f = os.NewFile(uintptr(fd), name)
		return nil
	})
	return f, err
}

// read returns a file of root's of at most limit bytes.
func (t *Tree) read(name string, limit int64) ([]byte, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = unsafe(name, fmt.Sprintf("is larger than %d bytes", limit), "")
	}
	return b, err
}

// mkdir makes a directory, with owner and mode at once. One that is there by now is an error.
func (t *Tree) mkdir(name string, mode fs.FileMode, uid, gid int) error {
	return t.at(name, func(dir int, base string) error {
		temp := tempName(base)
		if err := unix.Mkdirat(dir, temp, 0o700); err != nil {
			return &fs.PathError{Op: "mkdir", Path: name, Err: err}
		}
		err := t.tellTest("mkdir", name)
		if err == nil {
			err = give(dir, temp, mode, uid, gid)
		}
		if err == nil {
			err = t.rename(dir, temp, base, name, false)
		}
		if err != nil {
			return errors.Join(err, ignoreMissing(unix.Unlinkat(dir, temp, unix.AT_REMOVEDIR)))
		}
		return unix.Fsync(dir)
	})
}

func give(dir int, name string, mode fs.FileMode, uid, gid int) error {
	fd, err := unix.Openat(dir, name, openDir, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return errors.Join(unix.Fchown(fd, uid, gid), unix.Fchmod(fd, uint32(mode.Perm())), unix.Close(fd))
}

// chmod gives a file or directory the mode; it must have the owner.
func (t *Tree) chmod(name string, mode fs.FileMode, uid int) error {
	return t.at(name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: name, Err: err}
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		if err == nil && int(st.Uid) != uid {
			err = unsafe(name, fmt.Sprintf("belongs to uid %d by now", st.Uid), "")
		}
		if err == nil {
			err = errors.Join(unix.Fchmod(fd, uint32(mode.Perm())), t.tellTest("chmod", name))
		}
		return errors.Join(err, unix.Close(fd))
	})
}

// write puts a file of root's in its place, whole. Without replace it is an error when something is there.
func (t *Tree) write(name string, content io.Reader, mode fs.FileMode, replace bool) error {
	return t.at(name, func(dir int, base string) error {
		temp := tempName(base)
		fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return &fs.PathError{Op: "create", Path: name, Err: err}
		}
		f := os.NewFile(uintptr(fd), name)
		_, err = io.Copy(f, content)
		if err == nil {
			err = errors.Join(t.tellTest("write", name), unix.Fchown(fd, t.owner, t.group()),
				unix.Fchmod(fd, uint32(mode.Perm())))
		}
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err == nil {
			err = t.rename(dir, temp, base, name, replace)
		}
		if err != nil {
			return errors.Join(err, ignoreMissing(unix.Unlinkat(dir, temp, 0)))
		}
		return unix.Fsync(dir)
	})
}

// group returns the gid of what root owns; -1, which changes nothing, where a test runs as another user.
func (t *Tree) group() int {
	if t.owner == 0 {
		return 0
	}
	return -1
}

// newPrefix begins the names of files that are being written.
const newPrefix = ".belay-new."

func tempName(base string) string { return newPrefix + base + "." + rand.Text() }

// rename puts temp in the place of base, both in dir.
func (t *Tree) rename(dir int, temp, base, name string, replace bool) error {
	var flags uint = unix.RENAME_NOREPLACE
	if replace {
		flags = 0
	}
	if err := unix.Renameat2(dir, temp, dir, base, flags); err != nil {
		return &fs.PathError{Op: "rename", Path: name, Err: err}
	}
	return t.tellTest("rename", name)
}

// symlink makes a link. Something that is there is an error.
func (t *Tree) symlink(name, target string) error {
	return t.at(name, func(dir int, base string) error {
		if err := unix.Symlinkat(target, dir, base); err != nil {
			return &fs.PathError{Op: "symlink", Path: name, Err: err}
		}
		return errors.Join(t.tellTest("symlink", name), unix.Fsync(dir))
	})
}

// readlink returns where a link leads.
func (t *Tree) readlink(name string) (target string, err error) {
	err = t.at(name, func(dir int, base string) error {
		b := make([]byte, 4096)
		n, err := unix.Readlinkat(dir, base, b)
		if err != nil {
			return &fs.PathError{Op: "readlink", Path: name, Err: err}
		}
		target = string(b[:n])
		return nil
	})
	return target, err
}

// move renames a file within its directory, and replaces nothing unless told.
func (t *Tree) move(name, base string, replace bool) error {
	return t.at(name, func(dir int, old string) error {
		if err := t.rename(dir, old, base, name, replace); err != nil {
			return err
		}
		return unix.Fsync(dir)
	})
}

// second gives a file another name in its directory.
func (t *Tree) second(name, base string) error {
	return t.at(name, func(dir int, old string) error {
		if err := unix.Linkat(dir, old, dir, base, 0); err != nil {
			return &fs.PathError{Op: "link", Path: name, Err: err}
		}
		return t.tellTest("link", name)
	})
}

// remove removes a file, a link or, with dir, an empty directory. What is gone is no error.
func (t *Tree) remove(name string, directory bool) error {
	flags := 0
	if directory {
		flags = unix.AT_REMOVEDIR
	}
	err := t.at(name, func(dir int, base string) error {
		if err := unix.Unlinkat(dir, base, flags); err != nil {
			return &fs.PathError{Op: "remove", Path: name, Err: err}
		}
		return errors.Join(t.tellTest("remove", name), unix.Fsync(dir))
	})
	return ignoreMissing(err)
}

// removeAll removes a directory with all that it holds. Links in it are removed, not followed.
func (t *Tree) removeAll(name string) error {
	dir, err := t.walk(path.Dir(name)) // only root can change what leads there
	if err != nil {
		return ignoreMissing(err)
	}
	if err := unix.Close(dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.Outer(path.Dir(name)))
	if err != nil {
		return err
	}
	defer root.Close() // only looked up in
	return root.RemoveAll(path.Base(name))
}

// Lock keeps other commands of belay system out until unlock. The error is ErrBusy while one is at work.
func (t *Tree) Lock() (unlock func(), err error) { return t.lock(lockFile) }

// lock keeps other commands of belay system out until unlock.
func (t *Tree) lock(name string) (unlock func(), err error) {
	file := -1
	err = t.at(name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return &fs.PathError{Op: "open", Path: name, Err: err}
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != t.owner {
			return errors.Join(unsafe(name, "is in the place of a lock", "Look at it, and move it away."), unix.Close(fd))
		}
		file = fd
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && !t.is(name, file) {
		err = unix.EWOULDBLOCK // a removal took this file away meanwhile: another one may be locked by now
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = busy()
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(file))
	}
	return func() { _ = unix.Close(file) }, nil
}

// is reports whether a path names an open file.
func (t *Tree) is(name string, fd int) bool {
	var open, there unix.Stat_t
	err := t.at(name, func(dir int, base string) error {
		return errors.Join(unix.Fstat(fd, &open), unix.Fstatat(dir, base, &there, unix.AT_SYMLINK_NOFOLLOW))
	})
	return err == nil && open.Dev == there.Dev && open.Ino == there.Ino
}

// list returns the names in a directory of root's; none where it is missing.
func (t *Tree) list(name string) ([]string, error) {
	fd, err := t.walk(name)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close() // only read
	return f.Readdirnames(-1)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
