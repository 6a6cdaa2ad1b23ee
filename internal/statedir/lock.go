package statedir

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"
)

// patience is how long an edit waits for its turn. An edit takes milliseconds, on a
// slow disk some tenths of a second.
const patience = 20 * time.Second

// Lock makes the caller the only process of belay that edits the file, until unlock
// is called or the process ends. The file need not exist, its directory must. The
// error is ErrBusy after 20 seconds, ErrUnsafe, or one of the file system. A caller
// that holds the lock must not edit the same file.
func Lock(path string) (unlock func(), err error) { return lockFor(path, patience) }

func lockFor(path string, wait time.Duration) (unlock func(), err error) {
	for until := time.Now().Add(wait); ; {
		real, err := resolve(path)
		if err != nil {
			return nil, err
		}
		unlock, holder, err := tryLock(lockName(real))
		if err != nil {
			return nil, err
		}
		if unlock != nil {
			if there, err := resolve(path); err == nil && there == real {
				return unlock, nil
			}
			unlock() // the link leads elsewhere now
		}
		if time.Now().After(until) {
			return nil, busy(path, lockName(real), holder, wait)
		}
		time.Sleep(2*time.Millisecond + rand.N(8*time.Millisecond))
	}
}

// lockName is beside the file itself: processes that come by different links meet.
func lockName(real string) string {
	return filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+".lock")
}

func busy(path, lock, holder string, wait time.Duration) error {
	by := "another process"
	if holder != "" {
		by = "process " + holder
	}
	return &Error{Path: path, Reason: fmt.Sprintf("is being edited by %s, which has held the lock %s for %v; wait until it is through, or end it", by, lock, wait), Err: ErrBusy}
}
