package sink_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/sink"
)

func events(t *testing.T, sinks string) *config.Events {
	t.Helper()
	f, err := config.Parse([]byte(config.Empty + "events:\n  sinks:\n" + sinks))
	if err != nil {
		t.Fatal(err)
	}
	return &f.Events
}

// Neither events nor checkpoints go into a file that the state directory uses itself.
func TestSettingsRejectStatePaths(t *testing.T) {
	dir := t.TempDir()
	for _, kind := range []string{"jsonl", "checkpoint"} {
		for _, name := range []string{
			"belay.yaml", "trust.yaml", "belay.db", "belay.db-wal", "belay.sock", "belay.lock", "spool.jsonl", "keys/x", "cache/x", "blobs/sha256/x", "a/../keys/x",
		} {
			set, err := sink.Settings(dir, events(t, "    - "+kind+": {path: "+dir+"/"+name+"}\n"))
			if err == nil || set != nil || !strings.Contains(err.Error(), "is a file of the state directory") {
				t.Errorf("%s %s: %+v, %v", kind, name, set, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	dir, beside := t.TempDir(), t.TempDir()
	set, err := sink.Settings(dir, events(t, "    - jsonl: {path: "+beside+"/out, rotate_mib: 2, keep: 3, durable: false}\n    - jsonl: {path: "+dir+"/log}\n    - checkpoint: {path: "+beside+"/marks}\n"))
	want := []sink.Setting{
		{Options: sink.Options{Path: filepath.Join(beside, "out"), Rotate: 2 << 20, Keep: 3}},
		{Options: sink.Options{Path: filepath.Join(dir, "log")}, Durable: true},
	}
	if err != nil || len(set) != 2 || set[0] != want[0] || set[1] != want[1] {
		t.Errorf("got %+v, want %+v, %v", set, want, err)
	}
}
