package dispatch

import (
	"context"
	"errors"
	"io/fs"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
)

// Bounds of what is read for one event.
const (
	maxEventFiles = 512
	maxEventFile  = 1 << 20 // bytes
	maxEventBytes = 16 << 20
)

var errManyFiles = errors.New("the files are too many or too large")

// readFiles implements adapters.Options.Files.
func readFiles(ctx context.Context) func(patterns []string) ([][]byte, error) {
	return func(patterns []string) ([][]byte, error) {
		source := filesOf(ctx).Source
		seen := map[string]bool{}
		var out [][]byte
		size := 0
		for _, pattern := range patterns {
			paths, err := matching(ctx, source, pattern)
			if err != nil {
				return nil, err
			}
			for _, path := range paths {
				if seen[path] {
					continue
				}
				if seen[path] = true; len(seen) > maxEventFiles {
					return nil, errManyFiles
				}
				text, err := source.Read(ctx, files.Skill, path, maxEventFile)
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, filesource.ErrUntold) && absent(ctx, source, path) {
					continue // it is not there, or has gone meanwhile
				}
				if err != nil {
					return nil, err
				}
				if size += len(text); size > maxEventBytes {
					return nil, errManyFiles
				}
				out = append(out, text)
			}
		}
		return out, nil
	}
}

// matching returns the paths that match a pattern. Where a caller does not tell, there are none only if the part of the
// pattern that stands without marks leads to nothing.
func matching(ctx context.Context, source filesource.Source, pattern string) ([]string, error) {
	fixed, whole := files.Unmarked(pattern)
	if _, system := source.(filesource.System); whole && !system {
		return []string{fixed}, nil // reading it says whether it is there
	}
	paths, err := source.Glob(ctx, files.Skill, pattern)
	if errors.Is(err, filesource.ErrUntold) && absent(ctx, source, fixed) {
		return nil, nil
	}
	return paths, err
}
