//go:build unix

package reconcile_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/internal/transcripts"
)

// A file is read only where it lies in the runtime's directory and is a regular one.
func TestRefusedFiles(t *testing.T) {
	r := claude()
	m, dir := r.events(t), r.copied(t)
	at := filepath.Dir(r.file(dir))
	outside := filepath.Join(t.TempDir(), "projects", "p", "s.jsonl")
	write(t, outside, "{}\n")
	if err := errors.Join(os.Symlink(outside, filepath.Join(at, "link.jsonl")),
		os.Mkdir(filepath.Join(at, "dir.jsonl"), 0o700), syscall.Mkfifo(filepath.Join(at, "pipe.jsonl"), 0o600),
		os.Symlink(filepath.Base(r.log), filepath.Join(at, "own.jsonl")),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "projects", "away"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		outside: files.ErrElsewhere, at + "/link.jsonl": files.ErrElsewhere, at + "/dir.jsonl": files.ErrNotRegular,
		at + "/pipe.jsonl": files.ErrNotRegular, dir + "/projects/away/s.jsonl": files.ErrElsewhere,
		at + "/none.jsonl": os.ErrNotExist, dir + "/projects/x": transcripts.ErrName, "relative": files.ErrElsewhere,
		dir + "/projects/../../x.jsonl": files.ErrElsewhere,
	} {
		if path == dir+"/projects/x" {
			write(t, path, "{}\n")
		}
		_, err := reconcile.Compare(t.Context(), m, r.question(dir, path))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := reconcile.Compare(t.Context(), m, r.question(dir, at+"/own.jsonl")); err != nil {
		t.Errorf("a link that stays in the directory: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give a file away
	}
	if err := os.Chown(r.file(dir), 4242, 4242); err != nil {
		t.Fatal(err)
	}
	_, err := reconcile.Compare(t.Context(), m, r.question(dir, r.file(dir)))
	if !errors.Is(err, files.ErrOwner) {
		t.Errorf("another user's file: %v", err)
	}
}
