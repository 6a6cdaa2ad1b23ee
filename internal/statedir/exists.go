package statedir

import (
	"errors"
	"io/fs"
	"os"
)

// ErrMissing means that belay keeps nothing in a directory, for errors.Is.
var ErrMissing = errors.New("there is no state directory")

// Exists returns ErrMissing unless the directory is there and belay keeps something in it. It
// makes nothing: commands that only read ask it before they open the directory. A directory that
// cannot be listed counts as one: what opens it says why.
func Exists(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrMissing
	}
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if IsOwn(e.Name()) {
			return nil
		}
	}
	return ErrMissing
}
