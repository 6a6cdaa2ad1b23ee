//go:build unix

package hookcmd

import (
	"os"
	"path/filepath"
	"syscall"
)

// become replaces the process by the belay that lies beside this program: not by
// one that the environment of an agent names.
func become(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), "belay")
	if err := syscall.Exec(path, append([]string{path, "eval"}, args...), os.Environ()); err != nil {
		return &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return nil
}
