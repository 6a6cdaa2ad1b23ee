package dispatch

import (
	"context"
	"errors"
	"path"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/kernel"
)

// errAway stands for the text of a file that this process does not read.
var errAway = errors.New("the files are those of the user who asks, which belay does not read")

type awayKey struct{}

// WithAway returns a context for questions about files of another user, in which this process reads none of them: it
// would read with rights that the caller has not, and see another /tmp. files tells which ones are there.
func WithAway(ctx context.Context, files kernel.FileSystem) context.Context {
	return context.WithValue(ctx, awayKey{}, files)
}

// away returns the files that are not read; without ok this process sees the runtime's files.
func away(ctx context.Context) (files kernel.FileSystem, ok bool) {
	files, ok = ctx.Value(awayKey{}).(kernel.FileSystem)
	return files, ok
}

// noTail implements adapters.Options.Tail where files are away.
func noTail(string, int) ([]byte, error) { return nil, errAway }

// absent reports whether nothing is at a path, as far as files tells.
func absent(ctx context.Context, files kernel.FileSystem, at string) bool {
	walk := links.Walk{MaxElements: maxEventFiles,
		Read: func(ctx context.Context, p string) links.Found { return links.Look(ctx, files, p) }}
	return walk.Follow(ctx, at).State == links.Absent
}

// noFiles implements adapters.Options.Files where files are away. There are none where the part of each pattern that
// stands without marks leads to nothing; else it cannot be told what they hold.
func noFiles(ctx context.Context, files kernel.FileSystem) func(patterns []string) ([][]byte, error) {
	return func(patterns []string) ([][]byte, error) {
		seen := map[string]bool{}
		for _, pattern := range patterns {
			fixed := unmarked(pattern)
			if seen[fixed] {
				continue
			}
			seen[fixed] = true
			if !path.IsAbs(fixed) || !absent(ctx, files, fixed) {
				return nil, errAway
			}
		}
		return nil, nil
	}
}

// unmarked returns the path of a pattern up to the first element with a mark of path.Match.
func unmarked(pattern string) string {
	var out []byte
	end := 0 // of the last whole element
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '?', '[':
			return string(out[:end])
		case '\\':
			if i++; i < len(pattern) {
				out = append(out, pattern[i])
			}
		case '/':
			end = len(out)
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
