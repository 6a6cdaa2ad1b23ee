//go:build !unix

package statedir

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

const noWait = 0

// staleAfter is the age from which a lock counts as left behind by a process that
// was killed: an edit takes much less.
const staleAfter = time.Minute

// tryLock takes the lock by making its file, where the system has no locks that it
// frees by itself.
func tryLock(name string) (unlock func(), holder string, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if fi, err := os.Lstat(name); err == nil && time.Since(fi.ModTime()) > staleAfter {
			return nil, "", os.Remove(name)
		}
		b, _ := os.ReadFile(name)
		return nil, strings.TrimSpace(string(b)), nil
	} else if err != nil {
		return nil, "", err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, "", errors.Join(err, os.Remove(name))
	}
	return func() { _ = os.Remove(name) }, "", nil
}

// lockOpen locks nothing: these systems have no such locks.
func lockOpen(*os.File) (bool, error) { return true, nil }

func keepOwner(f *os.File, was fs.FileInfo) error { return f.Chmod(was.Mode().Perm()) }
