package sink

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Trouble says in a word why something cannot be written. It holds no path and no
// text from outside.
type Trouble string

const (
	DiskFull    Trouble = "disk_full"
	IOError     Trouble = "io_error"
	NoAccess    Trouble = "no_access"   // permissions, or a file system that is read-only
	Foreign     Trouble = "foreign"     // the file does not continue this log: a person has to look
	RolledBack  Trouble = "rolled_back" // the database is older than its high-water mark says
	Tampered    Trouble = "tampered"    // rows that restrict are not those that the log records
	Unavailable Trouble = "unavailable" // anything else
)

// TroubleOf sorts an error. Nil is "".
func TroubleOf(err error) Trouble {
	// The database's own errors are known in one package only, and by their text here.
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, kernel.ErrRollback):
		return RolledBack
	case errors.Is(err, kernel.ErrTampered):
		return Tampered
	case errors.Is(err, ErrForeign):
		return Foreign
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		says("database or disk is full"):
		return DiskFull
	case errors.Is(err, syscall.EIO) || says("disk I/O error"):
		return IOError
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || says("readonly database"):
		return NoAccess
	}
	return Unavailable
}

// Explain says in a word and in a sentence why the file of path cannot be written. An empty
// path stands for what lies in no file of this machine. Precondition: err is not nil.
func Explain(err error, path string) (t Trouble, problem string) {
	t = TroubleOf(err)
	// The database calls it an I/O error when there is no space for its shared memory.
	if t == IOError && path != "" && noSpace(filepath.Dir(path)) {
		t = DiskFull
	}
	problem = phases.SafeText(err.Error(), 1<<10)
	switch t {
	case RolledBack:
		problem = phases.SafeText(highwater.Reason(err), 1<<10)
	case DiskFull:
		problem = "the disk is full: " + problem
	}
	return t, problem
}

// Fail says of a place for events that it cannot be written, and why.
func Fail(s *wire.Sink, err error) {
	t, problem := Explain(err, s.Path)
	s.OK, s.Trouble, s.Problem = false, string(t), problem
}
