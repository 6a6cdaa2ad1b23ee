package sink

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// Settings turns what belay.yaml says under events into the files of a Set. It refuses a
// file, also one of checkpoints, that the state directory itself uses.
func Settings(state string, e *config.Events) ([]Setting, error) {
	for _, f := range e.CheckpointFiles() {
		if err := rejectStatePath(state, f.Path); err != nil {
			return nil, err
		}
	}
	var out []Setting
	for _, s := range e.JSONL() {
		if err := rejectStatePath(state, s.Path); err != nil {
			return nil, err
		}
		out = append(out,
			Setting{Durable: s.Must(), Options: Options{Path: filepath.Clean(s.Path), Rotate: s.RotateMiB << 20, Keep: s.Keep}})
	}
	return out, nil
}

// rejectStatePath keeps sinks from writing into what the state directory keeps for itself,
// by whichever link.
func rejectStatePath(state, path string) error {
	err := files.RejectStatePath(state, filepath.Clean(path), statedir.IsOwn)
	switch {
	case errors.Is(err, files.ErrOwn):
		return fmt.Errorf("events.sinks: %s is a file of the state directory", path)
	case err != nil:
		return fmt.Errorf("events.sinks: %w", err)
	}
	return nil
}
