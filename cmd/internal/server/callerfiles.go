package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/kernel"
)

// CallerFiles is the files of a daemon that serves a user of another uid: it asks the one who asks, on the connection
// of the question, and never looks by itself. The daemon's own view of a path would be another one. What is not told,
// also where the connection cannot tell, cannot be told.
type CallerFiles struct{}

var (
	_ kernel.FileSystem = CallerFiles{}
	_ filesource.Source = CallerFiles{}
)

// errChanged: the caller told another size of a file that it had open.
var errChanged = errors.New("the size of an open file was told in two ways")

// Readlink implements kernel.FileSystem.
func (CallerFiles) Readlink(ctx context.Context, path string) (string, error) {
	l, ok := ctx.Value(lookerKey{}).(*looker)
	if !ok {
		return "", filesource.ErrUntold
	}
	found := l.look(ctx, path)
	switch found.State {
	case daemonapi.FoundLink:
		return found.Target, nil
	case daemonapi.FoundPlain:
		return "", hostcalls.ErrNotLink
	case daemonapi.FoundAbsent:
		return "", fs.ErrNotExist
	case daemonapi.FoundUnknown:
	}
	return "", filesource.ErrUntold
}

// callerFile is a file that the caller of a question has open.
type callerFile struct {
	looker *looker
	ctx    context.Context //nolint:containedctx // of the question, during which alone the caller tells
	purp   files.Purpose
	path   string
	number int // of the looker's opened: another file that was opened meanwhile has taken its place
	size   int64
	offset int64 // of have
	have   []byte
}

// open has the caller open a file, and tells its first n bytes.
func (CallerFiles) open(ctx context.Context, p files.Purpose, path string, n int) (*callerFile, error) {
	l, ok := ctx.Value(lookerKey{}).(*looker)
	if !ok || !l.contents {
		return nil, filesource.ErrUntold
	}
	f := &callerFile{looker: l, ctx: ctx, purp: p, path: path}
	c, err := f.read(true, 0, n)
	f.size, f.have = c.Size, c.Data
	return f, err
}

// read asks for a part of the file.
func (f *callerFile) read(again bool, offset int64, n int) (c daemonapi.Content, err error) {
	r := daemonapi.Read{For: f.purp, Again: again, Offset: offset, Length: n, Path: f.path}
	if !daemonapi.Lookable(f.path) {
		return c, filesource.ErrUntold
	}
	l := f.looker
	l.mu.Lock()
	defer l.mu.Unlock()
	if again {
		l.opened++
		f.number = l.opened
	} else if f.number != l.opened {
		return c, filesource.ErrUntold
	}
	ok := l.asking(f.ctx, readTime, daemonapi.FrameRead, daemonapi.AppendRead(nil, r),
		func(b [daemonapi.FrameHeader]byte) (daemonapi.Header, error) {
			return daemonapi.DecodeContentHeader(b, r)
		},
		func(b []byte) (_ int, err error) {
			c, err = daemonapi.DecodeContent(b, r)
			if err == nil && !again && c.State == daemonapi.ContentFile && c.Size != f.size {
				err = errChanged
			}
			return len(c.Data), err
		})
	switch {
	case !ok:
	case c.State == daemonapi.ContentFile:
		return c, nil
	case c.State == daemonapi.ContentAbsent && again:
		return c, fs.ErrNotExist
	case c.State == daemonapi.ContentOther && again:
		return c, &files.Error{Path: f.path, Reason: "is not a regular file", Err: files.ErrNotRegular}
	}
	return daemonapi.Content{}, filesource.ErrUntold
}

// ReadAt implements io.ReaderAt.
func (f *callerFile) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := offset + int64(n)
		if at >= f.size {
			return n, io.EOF
		}
		if at < f.offset || at >= f.offset+int64(len(f.have)) {
			c, err := f.read(false, at, daemonapi.MaxRead)
			if err != nil {
				return n, err
			}
			f.offset, f.have = at, c.Data
		}
		n += copy(p[n:], f.have[at-f.offset:])
	}
	return n, nil
}

// firstRead is how much of a file comes with the first look: most scripts and settings are no larger.
const firstRead = 64 << 10

// Start implements filesource.Source.
func (s CallerFiles) Start(ctx context.Context, p files.Purpose, path string, n int64) ([]byte, error) {
	f, err := s.open(ctx, p, path, int(min(n, firstRead)))
	if err != nil {
		return nil, err
	}
	return f.part(0, min(n, f.size))
}

// Read implements filesource.Source.
func (s CallerFiles) Read(ctx context.Context, p files.Purpose, path string, limit int64) ([]byte, error) {
	f, err := s.open(ctx, p, path, int(min(limit, firstRead)))
	if err != nil {
		return nil, err
	}
	if f.size > limit {
		return nil, &files.Error{Path: path, Reason: fmt.Sprintf("is larger than %d bytes", limit), Err: files.ErrTooLarge}
	}
	return f.part(0, f.size)
}

// End implements filesource.Source.
func (s CallerFiles) End(ctx context.Context, p files.Purpose, path string, n int64) ([]byte, error) {
	f, err := s.open(ctx, p, path, 0)
	if err != nil {
		return nil, err
	}
	return f.part(max(0, f.size-n), min(n, f.size))
}

// part returns n bytes of the file.
func (f *callerFile) part(offset, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// Open implements filesource.Source.
func (s CallerFiles) Open(ctx context.Context, p files.Purpose, path string) (*files.File, error) {
	f, err := s.open(ctx, p, path, firstRead)
	if err != nil {
		return nil, err
	}
	return files.NewFile(f, f.size, io.NopCloser(nil)), nil
}

// Glob implements filesource.Source.
func (CallerFiles) Glob(ctx context.Context, p files.Purpose, pattern string) ([]string, error) {
	l, ok := ctx.Value(lookerKey{}).(*looker)
	list := daemonapi.List{For: p, Pattern: pattern}
	if !ok || !l.contents || !daemonapi.Lookable(pattern) {
		return nil, filesource.ErrUntold
	}
	var names daemonapi.Names
	ok = l.ask(ctx, readTime, daemonapi.FrameList, daemonapi.AppendList(nil, list), daemonapi.DecodeNamesHeader,
		func(b []byte) (_ int, err error) {
			names, err = daemonapi.DecodeNames(b, list)
			return 0, err
		})
	if !ok || !names.Told {
		return nil, filesource.ErrUntold
	}
	return names.Paths, nil
}
