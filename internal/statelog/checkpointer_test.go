package statelog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
)

func checkpointsIn(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(eventlog.Split(b))
}

// A checkpoint is signed after so many events, and the last one at the end.
func TestCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints")
	s := memory.New()
	c := statelog.NewCheckpointer(s, stateKey(t, t.TempDir()),
		config.Events{Checkpoint: config.Checkpoint{File: path, Every: 2, Seconds: 86400}}, discard)
	for i, want := range []int{0, 1} {
		if err := commit(t, c, "event"+string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); checkpointsIn(t, path) < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d checkpoints after event %d", checkpointsIn(t, path), i+1)
			}
		}
	}
	if err := commit(t, c, "event3"); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(); err != nil {
		t.Fatal(err)
	}
	stored, err := s.Checkpoints(t.Context())
	if n := checkpointsIn(t, path); err != nil || n != 2 || len(stored) != 2 {
		t.Errorf("%d checkpoints in the file and %d in the store, %v", n, len(stored), err)
	}
}

// While a required file fails nothing is recorded; one that is not required holds nothing up.
func TestRequiredCheckpointFile(t *testing.T) {
	for _, required := range []bool{true, false} {
		dir := t.TempDir()
		s := memory.New()
		set := config.Events{Checkpoint: config.Checkpoint{File: filepath.Join(dir, "sub", "checkpoints"),
			Required: required}}
		c := statelog.NewCheckpointer(s, stateKey(t, t.TempDir()), set, discard)
		if st := c.State(); len(st) != 1 || st[0].Failed == nil || st[0].Required != required {
			t.Errorf("%+v", st)
		}
		err := commit(t, c, "first")
		size, _ := s.LogSize(t.Context())
		if required != errors.Is(err, kernel.ErrUnavailable) || required != (size == 0) {
			t.Errorf("required %v: %v, %d events", required, err, size)
		}
		if required && !strings.Contains(err.Error(), "the required checkpoint file "+dir) {
			t.Errorf("%v", err)
		}
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := commit(t, c, "second"); err != nil {
			t.Errorf("required %v: %v", required, err)
		}
		if err := c.Finish(); err != nil {
			t.Error(err)
		}
		if st := c.State(); st[0].Failed != nil {
			t.Errorf("%+v", st)
		}
	}
}

// Use takes other files into use at once, and leaves those before alone.
func TestOtherCheckpointFiles(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	c := statelog.NewCheckpointer(memory.New(), stateKey(t, t.TempDir()),
		config.Events{Checkpoint: config.Checkpoint{File: first}}, discard)
	if err := commit(t, c, "first"); err != nil {
		t.Fatal(err)
	}
	c.Use(config.Events{Checkpoint: config.Checkpoint{File: second}})
	if err := c.Finish(); err != nil {
		t.Fatal(err)
	}
	if checkpointsIn(t, first) != 0 || checkpointsIn(t, second) != 1 {
		t.Errorf("%d and %d checkpoints", checkpointsIn(t, first), checkpointsIn(t, second))
	}
}
