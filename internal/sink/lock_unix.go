//go:build unix

package sink

import "golang.org/x/sys/unix"

func (f osFile) lock() error   { return flock(f, unix.LOCK_EX) }
func (f osFile) unlock() error { return flock(f, unix.LOCK_UN) }

func flock(f osFile, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
