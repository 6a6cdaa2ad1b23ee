package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Open returns the absolute path of a state directory, and makes the directory (mode
// 0700) when it is missing. One that others can write to is refused. The error is
// ErrUnusable.
func Open(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", Unusable("path", err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", Unusable("create", err)
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return "", Unusable("look at it", err)
	}
	if err := private(abs, fi.Mode(), modesHold); err != nil {
		return "", Unusable("permissions", err)
	}
	return abs, nil
}

// private returns why a directory is not its owner's alone. hold says whether modes mean
// something on this system.
func private(dir string, mode fs.FileMode, hold bool) error {
	switch {
	case !hold:
		return errors.New("this system does not say who else reads keys and writes the configuration in " + dir +
			": belay runs where files have Unix modes, such as Linux and macOS")
	case mode.Perm()&0o022 != 0:
		return fmt.Errorf("others can write to %s: chmod go-w it", dir)
	}
	return nil
}
