//go:build unix

package retention

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// canLock: leftovers can be told from files that are being written.
const canLock = true

// lock takes the file for this process, without waiting; false: another has it.
// Closing the file unlocks, and so does the end of the process.
func lock(f *os.File) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.EINTR):
		default:
			return false, err
		}
	}
}
