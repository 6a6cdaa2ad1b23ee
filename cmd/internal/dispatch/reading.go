package dispatch

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/internal/runfiles"
)

type filesKey struct{}

// WithFiles returns a context for questions about files of another user: this process reads none of them. It would read
// with rights that the caller has not, and see another /tmp. source tells of them; home is that user's, or "".
func WithFiles(ctx context.Context, source filesource.Source, home string) context.Context {
	return context.WithValue(ctx, filesKey{}, runfiles.From{Source: source, Home: home})
}

// filesOf returns where the files of a question lie: as this process sees them, where the context says nothing else.
func filesOf(ctx context.Context) runfiles.From {
	if from, ok := ctx.Value(filesKey{}).(runfiles.From); ok {
		return from
	}
	home, _ := os.UserHomeDir()
	return runfiles.From{Source: filesource.System{}, Home: home, Temp: os.TempDir()}
}

var errRelative = errors.New("the name of a session's record is not absolute")

// readTail implements adapters.Options.Tail.
func readTail(ctx context.Context) func(path string, most int) ([]byte, error) {
	return func(path string, most int) ([]byte, error) {
		if !filepath.IsAbs(path) {
			return nil, errRelative
		}
		return filesOf(ctx).Source.End(ctx, files.Transcript, path, int64(most))
	}
}

// absent reports whether nothing is at a path, as far as source tells.
func absent(ctx context.Context, source filesource.Source, at string) bool {
	walk := links.Walk{MaxElements: maxEventFiles,
		Read: func(ctx context.Context, p string) links.Found { return links.Look(ctx, source, p) }}
	return path.IsAbs(at) && walk.Follow(ctx, at).State == links.Absent
}
