//go:build unix

package peercred

import (
	"io/fs"
	"syscall"
)

// Owner returns the uid that a file belongs to; ok is false when the system does not say.
func Owner(fi fs.FileInfo) (uid int, ok bool) {
	sys, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(sys.Uid), true
}
