package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/jsonedit"
	"github.com/belay-hooks/belay/internal/statedir"
)

// Writer reads and writes the files of a plan. It backs each file up beside it, with the same mode,
// and replaces it whole; it writes nothing over a file that has changed since it was read.
type Writer struct {
	// Managed: for settings that an administrator owns. No link is followed on the way, and every
	// directory and file belongs to Owner and can be written by that user alone.
	Managed bool
	Owner   int    // user id; 0 is root
	Root    string // what stands before the paths, which is not looked at; "" is /
	Now     time.Time
}

// Read is a Reader. A file is at most jsonedit.MaxSize bytes.
func (w Writer) Read(path string) ([]byte, error) {
	if w.Managed {
		return w.readOwned(path)
	}
	b, err := files.Read(path, jsonedit.MaxSize)
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// Write replaces one file, and returns the path of its backup, "" where there was none to back up.
// The change is durable when the error is nil. Errors are ErrChanged, ErrUnsafe, those of statedir,
// or of the file system.
func (w Writer) Write(c Change) (backup string, err error) {
	if !c.Changes() {
		return "", nil
	}
	if w.Managed {
		return w.writeOwned(c)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return "", err
	}
	now, err := w.Read(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return "", err
	}
	if !unchanged(now, c.Old) {
		return "", changed(c.Path)
	}
	if c.Old != nil {
		fi, err := os.Stat(c.Path)
		if err != nil {
			return "", err
		}
		for i := range 10 {
			backup = w.backupName(c.Path, i)
			if err = statedir.Create(backup, c.Old, fi.Mode().Perm()); !errors.Is(err, fs.ErrExist) {
				break
			}
		}
		if err != nil {
			return "", err
		}
	}
	if c.New == nil {
		return backup, w.remove(c)
	}
	return backup, statedir.Edit(c.Path, jsonedit.MaxSize, func(old []byte) ([]byte, error) {
		if !unchanged(old, c.Old) {
			return nil, changed(c.Path)
		}
		return c.New, nil
	})
}

// remove takes the file away that belay had made. A link stays, and so does what it leads to,
// without a member.
func (w Writer) remove(c Change) error {
	if fi, err := os.Lstat(c.Path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		empty := []byte{}
		if filepath.Ext(c.Path) == ".json" {
			empty = []byte("{}\n")
		}
		return statedir.Edit(c.Path, jsonedit.MaxSize, func(old []byte) ([]byte, error) {
			if !unchanged(old, c.Old) {
				return nil, changed(c.Path)
			}
			return empty, nil
		})
	}
	unlock, err := statedir.Lock(c.Path)
	if err != nil {
		return err
	}
	defer unlock()
	if old, err := w.Read(c.Path); err != nil {
		return err
	} else if !unchanged(old, c.Old) {
		return changed(c.Path)
	}
	if err := os.Remove(c.Path); err != nil {
		return err
	}
	return statedir.SyncDir(filepath.Dir(c.Path))
}

// backupName is a name beside the file; n tells several of one second apart.
func (w Writer) backupName(path string, n int) string {
	name := fmt.Sprintf("%s.belay-%s", path, w.Now.UTC().Format("20060102T150405Z"))
	if n > 0 {
		name += fmt.Sprintf("-%d", n+1)
	}
	return name + ".bak"
}

func unchanged(now, shown []byte) bool {
	return bytes.Equal(now, shown) && (now == nil) == (shown == nil)
}

func changed(path string) error {
	return &Error{Path: path, Reason: "it was changed meanwhile", Advice: "Nothing was written; look at it again.",
		Err: ErrChanged}
}
