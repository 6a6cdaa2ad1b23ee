//go:build unix

package highwater

import "golang.org/x/sys/unix"

// Lock implements File.
func (f osFile) Lock() error { return flock(f, unix.LOCK_EX) }

// Unlock implements File.
func (f osFile) Unlock() error { return flock(f, unix.LOCK_UN) }

func flock(f osFile, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
