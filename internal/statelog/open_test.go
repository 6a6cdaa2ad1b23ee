package statelog_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
)

func openReadOnly(t *testing.T, dir string) *statelog.ReadOnly {
	t.Helper()
	log, err := statelog.OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

func TestReadOnlyOfNothing(t *testing.T) {
	dir := t.TempDir()
	if log, err := statelog.OpenReadOnly(t.Context(), dir); log != nil || !errors.Is(err, statedir.ErrUnusable) ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v, %v", log, err)
	}
	if err := os.MkdirAll(statedir.Keys(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, statedir.Key(statedir.Keys(dir), "checkpoint"), "short")
	if log, err := statelog.OpenReadOnly(t.Context(), dir); log != nil || !errors.Is(err, statedir.ErrUnusable) ||
		errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key that is none: %v, %v", log, err)
	}
}

// A log that is read is left as it is: the directory may be a copy, or belong to another user.
func TestReadOnlyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	key := stateKey(t, dir)
	database(t, dir, 3)
	write(t, filepath.Join(dir, config.FileName), "this is no configuration: [\n")
	before := files(t, dir)
	log := openReadOnly(t, dir)
	r, err := log.Verify(t.Context(), statelog.Evidence{})
	if err != nil || r.Wrong != nil || r.Events != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if log.Key() != key.Verifier() || log.StoreID() != key.StoreID() {
		t.Errorf("%q %q", log.Key(), log.StoreID())
	}
	if es, err := log.Events(t.Context(), wire.Query{}); err != nil || len(es) != 3 {
		t.Errorf("%d events, %v", len(es), err)
	}
	if through, event, err := log.Compacted(t.Context()); through != 0 || event != 0 || err != nil {
		t.Errorf("compacted: %d %d %v", through, event, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("it was written to: %s", diff)
	}
}

// A database that was taken away shows in what lies outside of it: with the key alone the log is empty.
func TestReadOnlyWithoutDatabase(t *testing.T) {
	dir := t.TempDir()
	stateKey(t, dir)
	log := openReadOnly(t, dir)
	if r, err := log.Verify(t.Context(), statelog.Evidence{}); err != nil || r.Events != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "belay.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database was made: %v", err)
	}
}

// Without the key nothing is proven, and nothing verified against the key of the directory.
func TestReadOnlyWithoutKey(t *testing.T) {
	dir := t.TempDir()
	key := stateKey(t, dir)
	database(t, dir, 2)
	if err := os.RemoveAll(statedir.Keys(dir)); err != nil {
		t.Fatal(err)
	}
	log := openReadOnly(t, dir)
	if log.Key() != "" || log.StoreID() != "" {
		t.Errorf("%q %q", log.Key(), log.StoreID())
	}
	if _, err := log.Verify(t.Context(), statelog.Evidence{}); !errors.Is(err, statedir.ErrUnusable) {
		t.Errorf("verified without a key: %v", err)
	}
	if p, err := log.Prove(t.Context(), 1); p != nil || !errors.Is(err, statedir.ErrUnusable) {
		t.Errorf("proven without a key: %v, %v", p, err)
	}
	if r, err := log.Verify(t.Context(), statelog.Evidence{Verifier: key.Verifier()}); err != nil || r.Wrong != nil ||
		r.Events != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
