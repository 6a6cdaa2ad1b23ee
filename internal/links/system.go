package links

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Readlink looks at a path as the user of this process, and returns the target of a link. Another error than those of
// class ErrNotLink and fs.ErrNotExist leaves the path unknown.
func Readlink(path string) (target string, err error) {
	target, err = os.Readlink(path)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return "", ErrNotLink
	case errors.Is(err, syscall.ENOTDIR):
		return "", fs.ErrNotExist
	}
	return target, err
}
