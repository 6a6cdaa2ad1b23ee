package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrElsewhere means that a file does not lie in the directory in which it has to, or that a link on its
// path leads out of it.
var ErrElsewhere = errors.New("not a file of the directory")

// ErrOwner means that a file belongs to another user than the one of this process.
var ErrOwner = errors.New("a file of another user")

// StreamWithin is Stream for a path that a caller names: the file has to lie in the directory, be
// regular, and belong to the user of this process. Links are followed as long as they stay in the
// directory. Both paths are absolute. Errors are ErrElsewhere, ErrOwner, ErrNotRegular, or of the file
// system.
func StreamWithin(dir, path string) (*File, error) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsAbs(path) || !filepath.IsLocal(rel) {
		return nil, &Error{Path: path, Reason: "does not lie in " + dir, Err: ErrElsewhere}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // the file is open by then
	// Opening alone makes some devices act: what is no regular file is refused before.
	fi, err := root.Stat(rel)
	if err == nil {
		err = regular(path, fi)
	}
	if err != nil {
		return nil, within(path, err)
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, within(path, err)
	}
	stream, err := streamOwn(path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return stream, nil
}

func streamOwn(path string, f *os.File) (*File, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := regular(path, fi); err != nil {
		return nil, err
	}
	if !own(fi) {
		return nil, &Error{Path: path, Reason: "belongs to another user", Err: ErrOwner}
	}
	return newFile(f, fi.Size()), nil
}

// Own reports whether an open file belongs to the user of this process.
func Own(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && own(fi)
}

// within gives an error of os.Root about a path that leads out its class. The package has no sentinel.
func within(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && p.Err != nil && p.Err.Error() == "path escapes from parent" {
		return &Error{Path: path, Reason: "leads out of its directory", Err: ErrElsewhere}
	}
	return err
}
