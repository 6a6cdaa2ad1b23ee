package sandbox

import (
	"os"
	"syscall"
)

// sameChangeTime compares what no owner can set back: the time at which the
// kernel last saw the contents, the times or the name of a file change.
func sameChangeTime(a, b os.FileInfo) bool {
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && x.Ctim == y.Ctim
}
