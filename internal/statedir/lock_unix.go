//go:build unix

package statedir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// noWait keeps a pipe from making its reader wait for a writer.
const noWait = unix.O_NONBLOCK | unix.O_CLOEXEC

// tryLock takes the lock, or returns which process says that it has it. The system
// frees the lock of a process that ends, however it ends.
func tryLock(name string) (unlock func(), holder string, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|noWait, 0o600)
	if err != nil {
		return nil, "", err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = unsafe(name, "is in the place of a lock and is not a regular file; move it away")
	}
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			holder = holderOf(f)
			return nil, holder, f.Close()
		}
	}
	if err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	// The holder before removed the name: a lock on a file without a name excludes
	// no process that comes later.
	if there, err := os.Lstat(name); err != nil || !os.SameFile(fi, there) {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, "", errors.Join(err, f.Close())
	}
	giveToOwner(f, name)
	_ = f.Truncate(0) // for people who look, and for the message of a process that waits
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return func() {
		if there, err := os.Lstat(name); err == nil && os.SameFile(fi, there) { // else it is another process's lock
			_ = os.Remove(name)
		}
		_ = f.Close() // unlocks
	}, "", nil
}

// lockOpen tries to lock an open file until it is closed.
func lockOpen(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return false, nil
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK),
		errors.Is(err, unix.EINVAL):
		return true, nil // a file system without locks
	}
	return err == nil, err
}

func holderOf(f *os.File) string {
	b, _ := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(b))
	if _, err := strconv.Atoi(pid); err != nil {
		return ""
	}
	return pid
}

// giveToOwner lets the owner of the directory open a lock that root has left behind.
func giveToOwner(f *os.File, name string) {
	if os.Geteuid() != 0 {
		return
	}
	if fi, err := os.Stat(filepath.Dir(name)); err == nil {
		if sys, ok := fi.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(sys.Uid), int(sys.Gid))
		}
	}
}

// keepOwner gives a new file the owner and the mode of the one that it replaces.
func keepOwner(f *os.File, was fs.FileInfo) error {
	want, ok := was.Sys().(*syscall.Stat_t)
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	have, also := fi.Sys().(*syscall.Stat_t)
	if ok && also && (have.Uid != want.Uid || have.Gid != want.Gid) {
		err := f.Chown(int(want.Uid), int(want.Gid))
		if err != nil && (have.Uid != want.Uid || was.Mode().Perm()&0o070 != 0) { // a group without rights does not matter
			return &Error{Path: was.Name(), Reason: "belongs to uid " + strconv.Itoa(int(want.Uid)) + ", gid " +
				strconv.Itoa(int(want.Gid)) +
				", and would not if it were replaced: edit it as that user, or chown it", Err: err}
		}
	}
	return f.Chmod(was.Mode().Perm())
}
