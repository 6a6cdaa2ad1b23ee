package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// settled is how old a file has to be, so that one that is written later has another time, on every file system.
const settled = 2 * time.Second

// WatchedDenials reads the file of denials again when it is another one. What it returns is not to be changed. It is
// safe for concurrent use.
type WatchedDenials struct {
	dir string

	mu      sync.Mutex
	file    fs.FileInfo // as it was before it was read; nil: it is read each time
	denials Denials
}

// WatchDenials returns what reads the file in dir.
func WatchDenials(dir string) *WatchedDenials { return &WatchedDenials{dir: dir} }

// Read is ReadDenials.
func (w *WatchedDenials) Read() (Denials, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	file, err := os.Stat(filepath.Join(w.dir, DenialsFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.file = nil
		return Denials{}, nil
	case err == nil && w.file != nil && sameFile(w.file, file):
		return w.denials, nil
	}
	if w.file = nil; err == nil && time.Since(file.ModTime()) > settled {
		w.file = file
	}
	if w.denials, err = ReadDenials(w.dir); err != nil {
		w.file = nil
	}
	return w.denials, err
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Mode() == b.Mode() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
