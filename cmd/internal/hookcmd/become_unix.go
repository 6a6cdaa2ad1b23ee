//go:build unix

package hookcmd

import (
	"os"
	"path/filepath"
	"syscall"
)

// become replaces the process by a program that decides without a daemon: for the arguments that all of them
// understand belay-eval, where it is installed, and belay else.
func become(args []string) error {
	if a, plain := parse(args); plain && a.connect == "" {
		_ = becomeBeside("belay-eval", args...) // it need not be there
	}
	return becomeBelay(args)
}

// becomeBelay replaces the process by `belay eval`.
func becomeBelay(args []string) error {
	return becomeBeside("belay", append([]string{"eval"}, args...)...)
}

// becomeBeside replaces the process by a program that lies beside this one: not by
// one that the environment of an agent names.
func becomeBeside(name string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), name)
	if err := syscall.Exec(path, append([]string{path}, args...), os.Environ()); err != nil {
		return &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return nil
}
