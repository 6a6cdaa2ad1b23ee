package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Sentinels, for errors.Is.
var (
	// ErrNotRegular means that the name belongs to a pipe, a socket, a device or a directory.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge means that the file is larger than the limit of its reader.
	ErrTooLarge = errors.New("the file is too large")
	// ErrNotPrivate means that other users can read the file, or that it is a link.
	ErrNotPrivate = errors.New("not a private file")
)

// Error says which file was refused, and why. It is of the class of Err, which is one of
// the sentinels of this package.
type Error struct {
	Path   string
	Reason string // goes on after the path
	Err    error
}

func (e *Error) Error() string { return e.Path + " " + e.Reason }

func (e *Error) Unwrap() error { return e.Err }

// Open opens a regular file for reading, and follows links. It never waits: a
// pipe or a device is refused, also one that another program writes to. The
// error is of class ErrNotRegular, or one of the file system. The caller bounds
// its reads; Read, Start and Stream do so by themselves.
func Open(path string) (*os.File, error) { return OpenFlags(path, os.O_RDONLY) }

// OpenFlags is Open with other flags of os.OpenFile. It makes no file: the flag
// os.O_CREATE is not for it.
func OpenFlags(path string, flags int) (*os.File, error) {
	f, _, err := open(path, flags, os.Stat)
	return f, err
}

func open(path string, flags int, look func(string) (fs.FileInfo, error)) (*os.File, fs.FileInfo, error) {
	// Opening alone makes some devices act. They are refused before, and what took the
	// name meanwhile is refused after.
	if fi, err := look(path); err != nil {
		return nil, nil, asOpen(err)
	} else if err := regular(path, fi); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, flags|noWait, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil {
		err = regular(path, fi)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, fi, nil
}

// asOpen has an error say what the caller wanted: to open.
func asOpen(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // made by this package's own call
		return &fs.PathError{Op: "open", Path: e.Path, Err: e.Err}
	}
	return err
}

// regular refuses a file that is not regular, and names its kind.
func regular(path string, fi fs.FileInfo) error {
	if fi.Mode().IsRegular() {
		return nil
	}
	return &Error{Path: path, Reason: "is not a regular file, but " + kind(fi.Mode()), Err: ErrNotRegular}
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		return "a device"
	}
	return "something else"
}

// OpenDir opens a directory, to list what is in it. What is none is not opened.
func OpenDir(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|noWait|onlyDir, 0) }

// Check refuses what Open would refuse, for a library that opens files by itself.
func Check(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return asOpen(err)
	}
	return regular(path, fi)
}

// Read returns the bytes of a regular file, at most limit of them, and follows links. A
// file that grows while it is read counts as it was read. Errors are ErrNotRegular,
// ErrTooLarge, or of the file system.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return rest(f, path, limit)
}

func rest(r io.Reader, path string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, &Error{Path: path, Reason: fmt.Sprintf("is larger than %d bytes", limit), Err: ErrTooLarge}
	}
	return b, nil
}

// Start returns the first n bytes of a regular file, or all of a smaller one. Errors are
// ErrNotRegular, or of the file system.
func Start(path string, n int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return io.ReadAll(io.LimitReader(f, n))
}

// End returns the last n bytes of a regular file, or all of a smaller one. Errors are ErrNotRegular, or of
// the file system.
func End(path string, n int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(max(0, fi.Size()-n), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, n))
}

// Private is Read for secrets: a link is refused, and a file that others than its owner
// can read. Errors are ErrNotPrivate, ErrTooLarge, or of the file system.
func Private(path string, limit int64) ([]byte, error) {
	f, fi, err := open(path, os.O_RDONLY|noFollow, os.Lstat)
	if errors.Is(err, ErrNotRegular) || err == nil && fi.Mode().Perm()&0o077 != 0 {
		if f != nil {
			_ = f.Close() // nothing was read
		}
		return nil, &Error{Path: path, Reason: "must be a regular file that only its owner can read (chmod 600)",
			Err: ErrNotPrivate}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return rest(f, path, limit)
}

// File is a regular file that is read as far as it went when it was opened:
// bytes added later are not read, so that reading ends. It is for use by one
// goroutine.
type File struct {
	io.SectionReader // Size is the size when it was opened
	f                io.Closer
}

// Stream opens a regular file that may be larger than what fits into memory, and follows
// links. Errors are ErrNotRegular, or of the file system.
func Stream(path string) (*File, error) {
	f, fi, err := open(path, os.O_RDONLY, os.Stat)
	if err != nil {
		return nil, err
	}
	return newFile(f, fi.Size()), nil
}

func newFile(f *os.File, size int64) *File { return NewFile(f, size, f) }

// NewFile is a file of which r tells, that has size bytes. Close closes c.
func NewFile(r io.ReaderAt, size int64, c io.Closer) *File {
	return &File{*io.NewSectionReader(r, 0, size), c}
}

// Close lets go of the file.
func (f *File) Close() error { return f.f.Close() }
