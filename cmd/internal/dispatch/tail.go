package dispatch

import (
	"errors"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

var errRelative = errors.New("the name of a session's record is not absolute")

// readTail implements adapters.Options.Tail for a process that sees the runtime's files.
func readTail(path string, most int) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, errRelative
	}
	return files.End(path, int64(most))
}
