// Package statedir decides how belay writes the files of its state directory, so
// that an edit that was acknowledged is never lost: processes take turns, each edit
// starts from the bytes that are there, and a file is whole at every moment. It
// decides the names of keys, modules and directories in it, too. It never decides
// what the files say.
package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

// Sentinels, for errors.Is.
var (
	// ErrBusy means that another process held the lock of the file for too long.
	ErrBusy = errors.New("another process is editing the file")
	// ErrChanging means that the file changed under every attempt to edit it.
	ErrChanging = errors.New("the file keeps changing")
	// ErrUnsafe means that the file cannot be edited without a risk: it is no
	// regular file, or a link leads to where others can write, or nowhere.
	ErrUnsafe = errors.New("the file cannot be edited safely")
	// ErrTooLarge means that the file is larger than the limit of its reader.
	ErrTooLarge = errors.New("the file is too large")
)

// Error says which file could not be read or written, and why. It is of the class
// of Err: a sentinel of this package, or an error of the file system.
type Error struct {
	Path   string
	Reason string
	Err    error
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Path + ": " + e.Err.Error()
	}
	return e.Path + " " + e.Reason
}

func (e *Error) Unwrap() error { return e.Err }

func unsafe(path, reason string) error { return &Error{Path: path, Reason: reason, Err: ErrUnsafe} }

// Read returns the bytes of a regular file, at most limit of them. A pipe or a
// device is refused at once; it never waits for one. Errors are ErrUnsafe,
// ErrTooLarge, or of the file system.
func Read(path string, limit int64) ([]byte, error) {
	b, _, err := read(path, limit)
	return b, err
}

func read(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := files.Open(path)
	var refused *files.Error
	if errors.As(err, &refused) {
		return nil, nil, unsafe(path, refused.Reason)
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // only read
	fi, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(b)) > limit {
		return nil, nil, &Error{Path: path, Reason: fmt.Sprintf("is larger than %d bytes", limit), Err: ErrTooLarge}
	}
	return b, fi, nil
}

// resolve returns where a path leads: links of its directory are followed, and one
// link of the file itself. The file need not exist, but a link must lead to one.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Lstat(abs)
	linked := err == nil && fi.Mode()&fs.ModeSymlink != 0
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !linked {
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, filepath.Base(abs)), nil
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", unsafe(path, "is a link that leads nowhere")
	} else if err != nil {
		return "", err
	}
	// The state directory itself is checked when it is opened. Where a link leads is
	// checked here: who can write to that directory can take the file's place.
	dir, err := os.Stat(filepath.Dir(real))
	if err != nil {
		return "", err
	}
	if dir.Mode().Perm()&0o022 != 0 {
		return "", unsafe(path,
			fmt.Sprintf("leads to %s, and others can write to that directory: chmod go-w it, or edit the file by hand", real))
	}
	return real, nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
