package ownfiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// maxTold bounds what is told in one exchange of what files hold, in bytes.
const maxTold = 320 << 20 // a transcript as far as it is compared, and what else a question asks for

// Teller answers what a daemon asks while one question is open. Safe for concurrent use.
type Teller struct {
	question []byte
	getenv   func(string) string

	mu    sync.Mutex
	rule  *rule // of the question; nil: not asked for yet
	told  int   // bytes
	path  string
	file  *os.File // at path, open since the read before; nil: none
	size  int64
	about files.Purpose

	entries int // of directories, that one list looks at
}

var _ daemonapi.Teller = (*Teller)(nil)

// New returns what answers while a question is open, which is a whole frame. Nothing is read of it before the daemon
// asks what a file holds. Close it after the exchange.
func New(question []byte, getenv func(string) string) *Teller {
	return &Teller{question: question, getenv: getenv, entries: maxEntries}
}

// Look implements daemonapi.Teller. Where links lead is told of every path: the user's files are what hooks judge.
func (t *Teller) Look(path string) daemonapi.Found { return daemonapi.LookAt(path) }

// Read implements daemonapi.Teller.
func (t *Teller) Read(r daemonapi.Read) daemonapi.Content {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Again {
		t.close()
		if c := t.open(r); c.State != daemonapi.ContentFile {
			return c
		}
	}
	if t.file == nil || t.path != r.Path || t.about != r.For {
		return daemonapi.Content{}
	}
	c := daemonapi.Content{State: daemonapi.ContentFile, Size: t.size}
	part := make([]byte, min(int64(r.Length), max(0, t.size-r.Offset)))
	if t.told += len(part); t.told > maxTold {
		return daemonapi.Content{}
	}
	if _, err := t.file.ReadAt(part, r.Offset); err != nil && (!errors.Is(err, io.EOF) || len(part) > 0) {
		return daemonapi.Content{} // it has become shorter, or cannot be read
	}
	c.Data = part
	if r.For == files.Script || r.For == files.Skill {
		t.rule.ran(part)
	}
	return c
}

// open opens the file of a read, if the rule tells of it. The content has no part yet.
func (t *Teller) open(r daemonapi.Read) daemonapi.Content {
	real, err := t.ruled().real(r.For, r.Path)
	var f *os.File
	if err == nil {
		f, t.size, err = files.OpenReal(real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return daemonapi.Content{State: daemonapi.ContentAbsent}
	case errors.Is(err, files.ErrNotRegular):
		return daemonapi.Content{State: daemonapi.ContentOther}
	case err != nil:
		return daemonapi.Content{}
	}
	if t.rule.ownOnly(r.For, real) && !files.Own(f) || t.size == 0 && holds(f) {
		_ = f.Close() // nothing of it was told
		return daemonapi.Content{}
	}
	t.file, t.path, t.about = f, r.Path, r.For
	return daemonapi.Content{State: daemonapi.ContentFile}
}

// holds reports whether a file without a size holds something, as files of the kernel's do.
func holds(f *os.File) bool {
	n, err := f.ReadAt(make([]byte, 1), 0)
	return n > 0 || !errors.Is(err, io.EOF)
}

// List implements daemonapi.Teller.
func (t *Teller) List(l daemonapi.List) daemonapi.Names {
	t.mu.Lock()
	defer t.mu.Unlock()
	rule := t.ruled()
	if !rule.mayList(l.For, l.Pattern) {
		return daemonapi.Names{}
	}
	paths, err := glob(l.Pattern, t.entries)
	if err != nil {
		return daemonapi.Names{}
	}
	for _, p := range paths {
		if !rule.tellsName(l.For, p) {
			return daemonapi.Names{}
		}
	}
	return daemonapi.Names{Told: true, Paths: paths}
}

func (t *Teller) ruled() *rule {
	if t.rule == nil {
		t.rule = ruleOf(t.question, t.getenv)
	}
	return t.rule
}

func (t *Teller) close() {
	if t.file != nil {
		_ = t.file.Close() // only read
		t.file = nil
	}
}

// Close lets go of what is open.
func (t *Teller) Close() {
	if t == nil || !t.mu.TryLock() {
		return // a file system hangs, and the answer is there
	}
	defer t.mu.Unlock()
	t.close()
}
