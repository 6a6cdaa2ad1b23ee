//go:build unix

package files

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Names reports whether the path, after every link, names the file that fi is of. Errors are of the file
// system. It is for questions that come with each event: os.Stat makes an object for each answer.
func Names(path string, fi os.FileInfo) (bool, error) {
	mine, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return namesSlowly(path, fi)
	}
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, &os.PathError{Op: "stat", Path: path, Err: err}
		}
		//nolint:unconvert // Dev is an int32 on macOS
		return uint64(st.Dev) == uint64(mine.Dev) && st.Ino == mine.Ino, nil
	}
}
