package statelog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
)

// with is a configuration whose events go into a file of JSON lines and one of checkpoints.
func with(dir string) *config.File {
	return &config.File{Version: config.Version, Events: config.Events{Sinks: []config.Sink{
		{JSONL: &config.JSONLSink{Path: filepath.Join(dir, "events.jsonl")}},
		{Checkpoint: &config.CheckpointSink{Path: filepath.Join(dir, "checkpoints")}},
	}}}
}

// A committed event is in the store and in its files, and the last checkpoint
// is signed at the end, once.
func TestStorage(t *testing.T) {
	dir, beside := t.TempDir(), t.TempDir()
	s := storage(t, dir, with(beside), statelog.StorageOptions{})
	if err := commit(t, s.Front, "first"); err != nil {
		t.Fatal(err)
	}
	for i, st := range s.State(t.Context()) {
		want := []wire.Sink{
			{Kind: "store", Path: filepath.Join(dir, "belay.db"), Durable: true, OK: true, Seq: 1},
			{Kind: "jsonl", Path: filepath.Join(beside, "events.jsonl"), Durable: true, OK: true, Seq: 1},
			{Kind: "checkpoint", Path: filepath.Join(beside, "checkpoints"), Durable: true, OK: true},
		}[i]
		if diff := cmp.Diff(want, st); diff != "" {
			t.Error(diff)
		}
	}
	if err := s.Believed(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		if n := checkpointsIn(t, filepath.Join(beside, "checkpoints")); n != 1 {
			t.Errorf("%d checkpoints", n)
		}
	}
}

// Records in memory go into no file, and neither does a dry run, which leaves the database as it is.
func TestStorageThatLeavesNothing(t *testing.T) {
	dir, beside := t.TempDir(), t.TempDir()
	stateKey(t, dir)
	database(t, dir, 2)
	before := files(t, dir)
	for name, o := range map[string]statelog.StorageOptions{
		"in memory": {InMemory: true}, "a dry run": {InMemory: true, DryRun: true},
		"a dry run of another store": {InMemory: true, DryRun: true, Store: memory.New()},
	} {
		t.Run(name, func(t *testing.T) {
			s := storage(t, dir, with(beside), o)
			if err := commit(t, s.Front, "first"); err != nil {
				t.Error(err)
			}
			if st := s.State(t.Context()); len(st) != 1 || st[0].Path != "" || st[0].Durable {
				t.Errorf("%+v", st)
			}
			if err := s.Finish(); err != nil {
				t.Error(err)
			}
		})
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the directory: %s", diff)
	}
	if entries, err := os.ReadDir(beside); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A store that is given stays open; one that is not durable is refused, since no other sink counts.
func TestStorageOfAGivenStore(t *testing.T) {
	given := memory.New()
	none := &config.File{Version: config.Version}
	_, err := statelog.OpenStorage(t.Context(), t.TempDir(), stateKey(t, t.TempDir()), none,
		statelog.StorageOptions{Store: given, Logger: discard})
	if !errors.Is(err, statedir.ErrUnusable) || !strings.Contains(err.Error(), "no sink is durable") {
		t.Errorf("%v", err)
	}
	s := storage(t, t.TempDir(), none, statelog.StorageOptions{Store: given, InMemory: true})
	if err := errors.Join(s.Finish(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, given, "first"); err != nil {
		t.Errorf("it was closed: %v", err)
	}
}

// Settings that cannot be used change nothing; others are used when they are taken into use, not before.
func TestPrepare(t *testing.T) {
	dir, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	bad := with(statedir.Keys(dir))
	if s, err := statelog.OpenStorage(t.Context(), dir, stateKey(t, dir), bad,
		statelog.StorageOptions{Logger: discard}); s != nil || !errors.Is(err, config.ErrUnusable) {
		t.Errorf("%v, %v", s, err)
	}
	s := storage(t, dir, with(first), statelog.StorageOptions{})
	if use, err := s.Prepare(bad, nil); use != nil || !errors.Is(err, config.ErrUnusable) {
		t.Errorf("%v", err)
	}
	use, err := s.Prepare(with(second), nil)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(second); err != nil || len(entries) != 0 {
		t.Errorf("used before: %v, %v", entries, err)
	}
	use()
	if err := commit(t, s.Front, "first"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(second, "events.jsonl")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(first, "events.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of before: %v", err)
	}
}

// A store that is not what the log records is not believed; one that cannot be written is.
func TestBelieved(t *testing.T) {
	none := &config.File{Version: config.Version}
	for err, want := range map[error]bool{kernel.ErrRollback: false, kernel.ErrTampered: false,
		kernel.ErrUnavailable: true} {
		s := storage(t, t.TempDir(), none, statelog.StorageOptions{Store: failing{memory.New(), err}, InMemory: true})
		if got := s.Believed(t.Context()); (got == nil) != want || got != nil && !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
