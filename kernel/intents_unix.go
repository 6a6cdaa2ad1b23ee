//go:build unix

package kernel

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockNote marks the note as one of a process that lives: the system takes the
// lock away when the process ends, however it ends.
func lockNote(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// noteLeft reports whether the process that made the note is gone; the note is then locked.
func noteLeft(f *os.File) bool { return lockNote(f) == nil }
