//go:build !linux

package files

import (
	"errors"
	"os"
)

// OpenReal fails: only system mode needs it, which is for Linux.
func OpenReal(path string) (*os.File, int64, error) {
	return nil, 0, &os.PathError{Op: "open", Path: path, Err: errors.ErrUnsupported}
}
