package system

import (
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// Organisation reads a file of the organisation, such as belay.yaml. The error is of class ErrUntrusted where another
// user than root can have written the file or put it there, or where it cannot be read; and fs.ErrNotExist, where it
// is not there. In a test's places the owner of the directory stands for root, and the way there is not looked at.
func (p Places) Organisation(name string) ([]byte, error) {
	if p.Config == ConfigDir {
		return organisation("/", 0, name)
	}
	fi, err := os.Lstat(p.Config)
	if err != nil {
		return nil, untrusted(p.Config, "cannot be looked at", err)
	}
	owner, ok := peercred.Owner(fi)
	if !ok {
		return nil, untrusted(p.Config, "belongs to no user", nil)
	}
	return read([]string{p.Config}, filepath.Join(p.Config, name), owner)
}

// organisation reads a file of the organisation below root, where everything belongs to owner.
func organisation(root string, owner int, name string) ([]byte, error) {
	return read([]string{root, filepath.Join(root, filepath.Dir(ConfigDir)), filepath.Join(root, ConfigDir)},
		filepath.Join(root, ConfigDir, name), owner)
}

// read reads a file that is the owner's alone, as each directory on the way to it is.
func read(way []string, path string, owner int) ([]byte, error) {
	for _, part := range append(way, path) {
		if err := owned(part, owner); err != nil {
			return nil, err
		}
	}
	src, err := files.Read(path, strictyaml.MaxSize)
	if err != nil {
		return nil, untrusted(path, "cannot be read", err)
	}
	return src, nil
}
