package sink

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/clockfile"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/spoolfile"
	"github.com/belay-hooks/belay/tiers"
)

// Settings turns what belay.yaml says under events into the files of a Set. It refuses a
// file, also one of checkpoints, that the state directory itself uses.
func Settings(state string, e *config.Events) ([]Setting, error) {
	for _, f := range e.MarkFiles() {
		if err := rejectStatePath(state, f.Path); err != nil {
			return nil, err
		}
	}
	var out []Setting
	for _, s := range e.JSONL() {
		if err := rejectStatePath(state, s.Path); err != nil {
			return nil, err
		}
		out = append(out, Setting{Durable: s.Must(), Options: Options{Path: filepath.Clean(s.Path), Rotate: s.RotateMiB << 20, Keep: s.Keep}})
	}
	return out, nil
}

// rejectStatePath keeps sinks from writing into the files of the state directory.
func rejectStatePath(state, path string) error {
	in, err := filepath.Rel(state, filepath.Clean(path))
	if err != nil || strings.HasPrefix(in, "..") {
		return nil
	}
	first, _, _ := strings.Cut(filepath.ToSlash(in), "/")
	for _, name := range []string{config.FileName, tiers.PolicyFile, "belay.db", "belay.sock", "belay.lock", spoolfile.Name, spoolfile.ReserveName, clockfile.Name, "keys", "cache", "blobs"} {
		if first == name || strings.HasPrefix(first, "belay.db-") || strings.HasPrefix(first, spoolfile.Name+".") {
			return fmt.Errorf("events.sinks: %s is a file of the state directory", path)
		}
	}
	return nil
}
