package files

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenReal opens a regular file by its real path, which is absolute and clean, and follows no link: where one has come
// into the path since that was found, it fails. So what was opened lies where the path says. It never waits, and is of
// class ErrNotRegular for a pipe, a device or a directory. Others are errors of the file system.
func OpenReal(path string) (f *os.File, size int64, err error) {
	fail := func(err error) (*os.File, int64, error) {
		return nil, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = unix.Close(dir) }() // only a place to begin from
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := len(names) - 1
	for _, name := range names[:last] {
		next, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fail(err)
		}
		_ = unix.Close(dir)
		dir = next
	}
	// Opening alone makes some devices act. They are refused before, and what took the name meanwhile is refused after.
	var st unix.Stat_t
	if err := unix.Fstatat(dir, names[last], &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fail(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, 0, &Error{Path: path, Reason: "is not a regular file", Err: ErrNotRegular}
	}
	fd, err := unix.Openat(dir, names[last], unix.O_RDONLY|noWait|noFollow, 0)
	if err != nil {
		return fail(err)
	}
	f = os.NewFile(uintptr(fd), path)
	fi, err := f.Stat()
	if err == nil {
		err = regular(path, fi)
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, 0, err
	}
	return f, fi.Size(), nil
}
