//go:build unix

package hookcmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// discards reports whether the caller opened the null device by itself, as a shell does for > /dev/null: to write
// only. Go's runtime opens it to read and write in place of a closed file.
func discards(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_WRONLY
}
