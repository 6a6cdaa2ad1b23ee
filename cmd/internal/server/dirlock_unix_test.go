//go:build unix

package server

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const lockName = "a.lock"

func take(t *testing.T, dir string) *dirLock {
	t.Helper()
	l, err := takeDirLock(dir, lockName, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Whatever is done to the file, one process has the directory, and its file comes back.
func TestTheLockOutlivesItsFile(t *testing.T) {
	for how, harm := range map[string]func(string) error{
		"removed":  os.Remove,
		"replaced": func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, nil, 0o600)) },
		"renamed":  func(p string) error { return os.Rename(p, p+".old") },
		"nothing":  func(string) error { return nil },
	} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			l := take(t, dir)
			if err := harm(filepath.Join(dir, lockName)); err != nil {
				t.Fatal(err)
			}
			if other, err := takeDirLock(dir, lockName, 30*time.Millisecond); !errors.Is(err, errHeld) {
				t.Fatalf("another process has the directory, too: %v %v", other, err)
			}
			if renewed, err := l.check(); err != nil || renewed != (how != "nothing") {
				t.Errorf("renewed %v, %v", renewed, err)
			}
			if renewed, err := l.check(); err != nil || renewed {
				t.Errorf("again: renewed %v, %v", renewed, err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			take(t, dir)
		})
	}
}

// Where directories have no locks, or to a process of an older version, the file alone
// counts. Who finds another one in its place that is locked has lost.
func TestAnotherHoldsTheFile(t *testing.T) {
	dir := t.TempDir()
	l := take(t, dir)
	path := filepath.Join(dir, lockName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := l.check(); !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
	l.Close()
	if _, err := takeDirLock(dir, lockName, 0); !errors.Is(err, errHeld) {
		t.Errorf("%v", err)
	}
}

// A directory that was moved away, with another in its place, is not the one that is locked.
func TestAnotherDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := take(t, dir)
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.check(); !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
}

// A pipe, socket or device is never waited for, nor taken for the lock.
func TestWhatIsNoFile(t *testing.T) {
	for what, put := range map[string]func(string) error{
		"a pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"a link":      func(p string) error { return os.Symlink("elsewhere", p) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, lockName)); err != nil {
				t.Fatal(err)
			}
			if _, err := takeDirLock(dir, lockName, 0); err == nil || errors.Is(err, errHeld) {
				t.Errorf("%v", err)
			}
		})
	}
}
