//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noWait keeps a pipe from making its reader wait for a writer, and a terminal from
// becoming the one that controls this process.
const noWait = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

const noFollow = unix.O_NOFOLLOW

const onlyDir = unix.O_DIRECTORY

// own reports whether the file belongs to the user of this process.
func own(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
