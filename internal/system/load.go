package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/peercred"
)

// Load reads /etc/belay/system.yaml. Errors are of class ErrNone where there is no such file, ErrUntrusted where
// another user than root can have written it or put it there, and ErrConfig; all but ErrNone mean that nothing may
// go on. Safe for concurrent use.
func Load() (*Config, error) { return load("/", 0) }

// load is Load for files below root that belong to owner: a test is not always root.
func load(root string, owner int) (*Config, error) {
	path := filepath.Join(root, ConfigFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Path: ConfigFile, Reason: "does not exist", Class: ErrNone, Cause: err}
	}
	src, err := organisation(root, owner, File)
	if err != nil {
		return nil, err
	}
	return Parse(src)
}

// owned says why a file or directory on the way is not the owner's alone. A link is never followed: where it leads
// would have to be looked at in the same way.
func owned(path string, owner int) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return untrusted(path, "cannot be looked at", err)
	}
	uid, ok := peercred.Owner(fi)
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		return untrusted(path, "is a link: it must be a file or directory of its own", nil)
	case !fi.IsDir() && !fi.Mode().IsRegular():
		return untrusted(path, "is no regular file", nil)
	case !ok || uid != owner:
		return untrusted(path, "does not belong to root: chown root it", nil)
	case fi.Mode().Perm()&0o022 != 0:
		return untrusted(path, "can be written by others than root: chmod go-w it", nil)
	}
	return nil
}

// untrusted makes an error of class ErrUntrusted; its text ends with the cause, where there is one.
func untrusted(path, reason string, cause error) error {
	if cause != nil {
		reason += ": " + cause.Error()
	}
	return &Error{Path: path, Reason: reason, Class: ErrUntrusted, Cause: cause}
}
