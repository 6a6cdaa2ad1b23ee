package statedir

import (
	"fmt"
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
	if fi.Mode().Perm()&0o022 != 0 {
		return "", Unusable("permissions", fmt.Errorf("others can write to %s: chmod go-w it", abs))
	}
	return abs, nil
}
