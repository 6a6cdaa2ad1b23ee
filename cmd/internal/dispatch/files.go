package dispatch

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

// Bounds of what is read for one event.
const (
	maxEventFiles = 512
	maxEventFile  = 1 << 20 // bytes
	maxEventBytes = 16 << 20
)

var errManyFiles = errors.New("the files are too many or too large")

// readFiles implements adapters.Options.Files for a process that sees the runtime's files.
func readFiles(patterns []string) ([][]byte, error) {
	seen := map[string]bool{}
	var out [][]byte
	size := 0
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if seen[path] {
				continue
			}
			seen[path] = true
			if len(seen) > maxEventFiles {
				return nil, errManyFiles
			}
			text, err := files.Read(path, maxEventFile)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has gone meanwhile
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
