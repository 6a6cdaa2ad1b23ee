// Package filesource decides nothing: it is the one way in which the files that a question is about are read. Those of
// the user of this process are read through the operating system. Those of a user of another uid are told by the caller
// itself, on the connection of its question.
package filesource

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/links"
)

// ErrUntold stands for what a caller does not tell of its files.
var ErrUntold = errors.New("the caller does not tell about its files")

// Source tells of files. Each method says what the file is read for; see files.Purpose. Links are followed. Errors are
// fs.ErrNotExist, files.ErrNotRegular, files.ErrTooLarge, ErrUntold, or of the file system. All but ErrUntold say what
// is there. Safe for concurrent use.
type Source interface {
	// Readlink is kernel.FileSystem's.
	Readlink(ctx context.Context, path string) (target string, err error)
	// Start returns the first n bytes of a regular file, or all of a smaller one.
	Start(ctx context.Context, p files.Purpose, path string, n int64) ([]byte, error)
	// Read returns the bytes of a regular file, at most limit of them.
	Read(ctx context.Context, p files.Purpose, path string, limit int64) ([]byte, error)
	// End returns the last n bytes of a regular file, or all of a smaller one.
	End(ctx context.Context, p files.Purpose, path string, n int64) ([]byte, error)
	// Open opens a regular file that may be larger than what fits into memory. The file is read with the ctx of Open,
	// before another one is.
	Open(ctx context.Context, p files.Purpose, path string) (*files.File, error)
	// Glob returns the paths that match a pattern, absolute and in the form of path.Match, sorted.
	Glob(ctx context.Context, p files.Purpose, pattern string) ([]string, error)
}

// System is the operating system, as the user of this process sees it.
type System struct{}

var _ Source = System{}

// Readlink implements Source.
func (System) Readlink(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	target, err := links.Readlink(path)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		return "", fs.ErrNotExist // no call opens a file by it
	}
	return target, err
}

// Start implements Source.
func (System) Start(_ context.Context, _ files.Purpose, path string, n int64) ([]byte, error) {
	return files.Start(path, n)
}

// Read implements Source.
func (System) Read(_ context.Context, _ files.Purpose, path string, limit int64) ([]byte, error) {
	return files.Read(path, limit)
}

// End implements Source.
func (System) End(_ context.Context, _ files.Purpose, path string, n int64) ([]byte, error) {
	return files.End(path, n)
}

// Open implements Source.
func (System) Open(_ context.Context, _ files.Purpose, path string) (*files.File, error) {
	return files.Stream(path)
}

// Glob implements Source.
func (System) Glob(_ context.Context, _ files.Purpose, pattern string) ([]string, error) {
	return filepath.Glob(pattern)
}
