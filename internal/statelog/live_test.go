package statelog_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statelog"
)

// While belay.yaml cannot be used and may register a reviewer, nothing is compacted or
// recovered in a person's name.
func TestReviewersUnknown(t *testing.T) {
	bad := fmt.Errorf("%w: line 3", config.ErrUnusable)
	for _, c := range []struct {
		name, file string
		err        error
		refused    bool
	}{
		{"it can be used", config.Empty, nil, false},
		{"it may register a reviewer", "reviewers: [", bad, true},
		{"it registers none", "hooks: [", bad, false},
		{"there is none", "", config.ErrMissing, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				write(t, filepath.Join(dir, config.FileName), c.file)
			}
			none := &config.File{Version: config.Version}
			l := live(t, dir, storage(t, dir, none, statelog.StorageOptions{}), none)
			l.Use(statelog.Configuration{File: none, Revision: "r", Unusable: c.err})
			_, err := l.Compact(t.Context(), statelog.CompactOptions{Before: time.Now().Add(-24 * 365 * time.Hour)})
			if c.refused != errors.Is(err, config.ErrUnusable) || !c.refused && err != nil {
				t.Errorf("compact: %v", err)
			}
			_, err = l.Recover(t.Context(), statelog.RecoverOptions{})
			if c.refused != errors.Is(err, config.ErrUnusable) || c.refused == errors.Is(err, statelog.ErrNothingToRecover) {
				t.Errorf("recover: %v", err)
			}
		})
	}
}

// A store that is not belay.db has no mark, and nothing that could be recovered.
func TestLogOfAnotherStore(t *testing.T) {
	dir, none := t.TempDir(), &config.File{Version: config.Version}
	s := storage(t, dir, none, statelog.StorageOptions{InMemory: true})
	l := live(t, dir, s, none)
	if err := commit(t, s.Front, "first"); err != nil {
		t.Fatal(err)
	}
	if w := l.HighWater(t.Context()); w != nil {
		t.Errorf("%+v", w)
	}
	if _, err := l.PlanRecovery(t.Context()); !errors.Is(err, statelog.ErrNothingToRecover) {
		t.Error(err)
	}
	if _, err := l.Recover(t.Context(), statelog.RecoverOptions{}); !errors.Is(err, statelog.ErrNothingToRecover) {
		t.Error(err)
	}
	if r, err := l.Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil || r.Events != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The configuration that was taken into use last is the one that the log goes by.
func TestUse(t *testing.T) {
	dir, none := t.TempDir(), &config.File{Version: config.Version}
	outside := filepath.Join(t.TempDir(), "checkpoints")
	l := live(t, dir, storage(t, dir, none, statelog.StorageOptions{InMemory: true}), none)
	write(t, outside, "this is no checkpoint\n\n")
	if r, err := l.Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil {
		t.Errorf("before: %+v, %v", r, err)
	}
	f := &config.File{Version: config.Version, Events: config.Events{Checkpoint: config.Checkpoint{File: outside}}}
	l.Use(statelog.Configuration{File: f, Revision: "r"})
	if r, err := l.Verify(t.Context(), statelog.Evidence{}); err == nil && r.Wrong == nil {
		t.Error("a file that holds no checkpoint was not looked at")
	}
}
